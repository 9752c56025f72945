"""Recipes for every problem with an environment, one file per algorithm: its options, its loop and its loss."""
