"""Solvers of the memory problems."""
