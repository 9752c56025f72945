"""Recipes for every problem with an environment."""
