"""Dynamic programming over the core."""
