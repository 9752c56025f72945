"""Solvers of static memory allocation."""
