"""A learned priority: what a compiler-like greedy puts into fast memory first, by a small network trained by evolution."""
