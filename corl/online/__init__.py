"""Decisions over time: an instance is revealed event by event, and a policy decides with what is known."""
