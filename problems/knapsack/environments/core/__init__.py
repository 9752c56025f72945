"""Knapsacks with one capacity without the items that are certain."""
