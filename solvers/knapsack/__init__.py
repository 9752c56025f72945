"""Solvers of the knapsack problem."""
