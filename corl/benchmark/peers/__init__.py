"""Peers: solvers of others that are run as programs, held against their published figures, and judged as all solvers are."""
