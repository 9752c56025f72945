"""An environment in which every partial path has a plan for its rest, and observations show its change by each listed node."""
