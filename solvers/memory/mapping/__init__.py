"""Solvers of memory mapping."""
