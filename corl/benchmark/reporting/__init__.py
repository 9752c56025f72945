"""From a store to what is shown: measures with intervals, tables, figures, the page."""
