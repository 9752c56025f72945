"""The environment "core": knapsacks with one capacity, in which only the items whose choice is not certain are left to choose."""
