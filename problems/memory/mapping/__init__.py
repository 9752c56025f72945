"""Memory mapping: which tensors live in the small fast memory, when, and at what offset."""
