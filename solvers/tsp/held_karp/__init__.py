"""The Held-Karp bound: its ascent on a sparse graph, and the proof on the complete one."""
