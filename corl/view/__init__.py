"""One page about an instance, a solution or a Result: an interactive picture, tables, and the course of the run."""
