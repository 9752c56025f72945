"""A branching policy whose input is the LP of each node as a graph of columns and rows."""
