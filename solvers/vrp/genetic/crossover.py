"""Order crossover of two giant tours (Oliver, Smith & Holland 1987): a part of one parent, and the order of the other.

Prins (2004) applies it to vehicle routing.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.rng import below

__all__ = ["cross", "shuffle_tour"]


@kernel(borrow=True)
def cross(population, offspring, mother, father):
    """Write a child's giant tour to `offspring.tour`: a random part of the mother's, then the missing clients as the father's.

    mother, father: Places of the population.
    """
    n = len(offspring.tour)
    first, last = below(offspring.random, n), below(offspring.random, n)
    while n > 1 and last == first:
        last = below(offspring.random, n)
    for client in range(n):
        offspring.taken[client] = False
    at = first
    while True:
        client = population.tour[mother, at]
        offspring.tour[at] = client
        offspring.taken[client] = True
        if at == last:
            break
        at = at + 1 if at + 1 < n else 0
    at = last
    for k in range(1, n + 1):
        client = population.tour[father, (last + k) % n]
        if not offspring.taken[client]:
            at = at + 1 if at + 1 < n else 0
            offspring.tour[at] = client


@kernel(borrow=True)
def shuffle_tour(offspring):
    """Write a random giant tour to `offspring.tour`."""
    n = len(offspring.tour)
    for client in range(n):
        offspring.tour[client] = client
    for i in range(n - 1, 0, -1):
        j = below(offspring.random, i + 1)
        offspring.tour[i], offspring.tour[j] = offspring.tour[j], offspring.tour[i]
