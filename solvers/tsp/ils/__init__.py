"""Iterated local search with Lin-Kernighan moves."""
