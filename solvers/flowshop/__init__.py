"""Solvers of the permutation flow shop."""
