"""Branch and bound by two searches and first fit in turn."""
