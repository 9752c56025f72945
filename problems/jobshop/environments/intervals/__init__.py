"""The job shop with operations as intervals whose bounds are propagated, and waiting as an action."""
