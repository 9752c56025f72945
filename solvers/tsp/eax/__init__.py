"""Edge assembly crossover: the solver, then its kernels from a generation down to a cycle."""
