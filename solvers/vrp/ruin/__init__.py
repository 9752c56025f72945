"""Ruin and recreate: slack induction by string removals, in Numba kernels."""

LONG_ROUTE = 25
"""The mean number of clients per route from which routes are long."""
