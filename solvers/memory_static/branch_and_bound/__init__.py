"""Branch and bound: two tree searches and first fit in turn."""
