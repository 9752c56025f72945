"""Paths with a plan for the rest, and what becomes of it by each listed node."""
