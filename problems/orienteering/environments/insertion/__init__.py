"""The environment "insertion": each partial path has a plan, that is, a completion that is repaired after every step."""
