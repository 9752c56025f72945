"""Solvers for every problem with an environment: decoding of a policy, tree search with a policy, and MuZero."""
