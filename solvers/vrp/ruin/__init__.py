"""Ruin and recreate: slack induction by string removals, in Numba kernels."""
