"""The Held-Karp bound: subgradient ascent on a sparse graph, and the proof on the complete graph."""
