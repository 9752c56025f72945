"""A learned priority: a network, trained by evolution strategies, orders what a greedy construction places in fast memory."""
