"""Networks: what they see of a state (tokens), the policies, their heads, and checkpoints."""
