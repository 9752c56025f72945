"""Construction heuristics: greedy edges and nearest neighbour."""
