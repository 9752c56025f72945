"""From a store to a report: measures with intervals, tables, figures, the page."""
