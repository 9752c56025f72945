"""Solvers of the job shop."""
