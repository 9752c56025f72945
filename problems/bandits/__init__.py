"""Restless bandits whose arms are coupled by a combinatorial constraint on what may be pulled together."""
