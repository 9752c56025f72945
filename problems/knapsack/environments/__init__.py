"""Further environments of the knapsack, a folder each."""
