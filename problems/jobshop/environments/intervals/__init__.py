"""The job shop as a constraint model: operations are intervals whose lower bounds are propagated, and waiting is an action."""
