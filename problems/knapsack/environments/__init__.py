"""Additional environments of the knapsack problem, one folder each."""
