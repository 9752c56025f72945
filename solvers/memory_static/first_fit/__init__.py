"""First fit: each buffer at the lowest offset where it fits, in many orders."""
