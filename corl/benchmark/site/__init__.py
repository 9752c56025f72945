"""The site of a benchmark's store: an overview, a page for each problem and for each suite, and all runs as CSV."""
