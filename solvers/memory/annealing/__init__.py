"""Simulated annealing over layouts."""
