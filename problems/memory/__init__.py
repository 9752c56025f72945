"""Memory allocation on accelerators: mapping tensors to memories, and static allocation."""
