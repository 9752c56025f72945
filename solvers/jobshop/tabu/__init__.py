"""Tabu search with path relinking (TS/PR) for job shops, classic and flexible: the default."""
