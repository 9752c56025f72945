"""Candidate neighbours of every city, and the search and order in space that finds them."""
