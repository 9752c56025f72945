"""Solvers for restless bandits."""
