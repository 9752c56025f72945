"""One page about an instance, a solution or a Result: a picture to look into, tables, and how the run went."""
