"""Recipes for every problem with an environment, an algorithm a file: its options, its loop and its loss."""
