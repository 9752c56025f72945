"""Networks: their input (tokens), the policies, their heads, and checkpoints."""
