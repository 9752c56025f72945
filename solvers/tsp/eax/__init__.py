"""Edge assembly crossover: the solver, and its kernels from a generation down to an AB-cycle."""
