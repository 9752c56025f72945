"""Iterated greedy for the permutation flow shop, after Ruiz and Stützle."""
