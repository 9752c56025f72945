"""Solvers of the orienteering problem."""
