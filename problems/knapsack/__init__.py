"""The 0-1 knapsack problem, with one or several capacities."""
