"""A learned priority: a small network, trained by evolution strategies, that orders what a greedy places in fast memory."""
