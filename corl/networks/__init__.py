"""Networks: their input (tokens), policies, heads for values, and checkpoints."""
