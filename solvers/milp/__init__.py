"""Solvers of mixed-integer linear programs."""
