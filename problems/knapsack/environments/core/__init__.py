"""The environment "core": knapsacks with one capacity, in which only the items are open whose choice is not certain."""
