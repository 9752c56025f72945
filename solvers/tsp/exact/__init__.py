"""Proven optima: dynamic programming for few cities, branch and cut for more."""
