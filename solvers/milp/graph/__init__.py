"""Branching policies that see the LP as a graph of columns and rows: at the root only, or at every node."""
