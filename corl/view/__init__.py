"""HTML pages about an instance, a solution or a Result: an interactive picture, tables, objective and bound over time."""
