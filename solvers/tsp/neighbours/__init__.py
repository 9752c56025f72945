"""Candidate neighbours of every city, spatial search, and a space-filling curve."""
