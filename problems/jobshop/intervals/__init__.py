"""The second environment of the job shop: operations as intervals whose bounds are propagated, and waiting as an action."""
