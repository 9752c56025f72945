"""Iterated local search with Lin-Kernighan steps."""
