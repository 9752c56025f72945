"""Recipes that train networks for the travelling salesman problem."""
