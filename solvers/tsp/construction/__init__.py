"""Tours made once: space-filling curve, greedy edges, nearest neighbour."""
