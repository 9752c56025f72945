"""A learned priority: the order in which a compiler-like greedy fills fast memory, by a small network trained by evolution."""
