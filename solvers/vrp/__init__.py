"""Solvers for vehicle routing."""
