"""Policies for bandits whose transition probabilities are unknown: they learn while they act."""
