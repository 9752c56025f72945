"""The environment `core`: knapsacks with one capacity, reduced to the items that are not certain."""
