"""Solvers of every problem with an environment: a policy decoded, tree search with it, MuZero."""
