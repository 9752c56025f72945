"""A population of tours for EAX, the frequency of each edge in it, and the evaluation of children by entropy.

Nagata & Kobayashi, INFORMS J. Computing 25 (2013), section 3.3: selection by the entropy of edges. The edges of directed tours
are arcs (Nagata & Soler, A new genetic algorithm for the asymmetric TSP, Expert Systems with Applications 39, 2012).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["Population", "count_changes", "count_edges", "gain_per_entropy", "population_of", "put_tour"]

_SLOTS = 24  # different neighbours of one city that are counted; a population of local optima has far fewer
_DENSE = 1000  # cities up to which arcs are counted in an n x n table, of 4 MB at most
_FLAT = 1e9  # 1 / the least loss of entropy: a smaller loss counts as this


class Population(NamedTuple):
    """P tours of n cities."""

    links: NDArray[np.int32]
    """[P, n, 2] the two neighbours of every city; [P, n, 1] its successor in directed tours."""
    lengths: NDArray[np.float64]
    """[P] the lengths of the tours."""
    turn: NDArray[np.int32]
    """[P] the order in which the tours are mated in this generation: parent A is turn[i], parent B turn[i + 1]."""
    edges: NDArray[np.int32]
    """[n, slots, 2] per city (neighbour, count): the number of tours with the edge; neighbour -1 in slots never used.
    For directed tours of few cities [n, n, 1]: the number of tours with the arc."""
    entropy: NDArray[np.float64]
    """[P + 1] -F/P log(F/P): what an edge that occurs in F tours adds to the population's edge entropy."""


def population_of(size: int, n: int, directed: bool = False) -> Population:
    """Return an empty population of `size` tours of n cities."""
    share = np.arange(1, size + 1) / size
    shape = (n, n, 1) if directed and n <= _DENSE else (n, _SLOTS, 2)
    return Population(
        links=np.empty((size, n, 1 if directed else 2), np.int32),
        lengths=np.full(size, np.inf),
        turn=np.arange(size, dtype=np.int32),
        edges=np.full(shape, -1, np.int32),
        entropy=np.concatenate(([0.0], -share * np.log(share))),
    )


@kernel
def put_tour(links, tour):
    """Write a tour's neighbours to `links` int32 [n, 2]."""
    n = len(tour)
    for i in range(n):
        links[tour[i], 0] = tour[i - 1]
        links[tour[i], 1] = tour[i + 1 if i + 1 < n else 0]


@kernel(nogil=True)
def count_edges(population):
    """Count the edges of all tours from scratch."""
    population.edges[:] = 0 if population.edges.shape[2] == 1 else -1
    for p in range(len(population.links)):
        for city in range(population.links.shape[1]):
            for h in range(population.links.shape[2]):
                _change(population.edges, city, population.links[p, city, h], 1)


@kernel
def count_changes(population, changes, count):
    """Update the counts for a child that replaces its parent; a row of `changes` is (city, old neighbour, new neighbour)."""
    for i in range(count):
        _change(population.edges, changes[i, 0], changes[i, 1], -1)
        _change(population.edges, changes[i, 0], changes[i, 2], 1)


@kernel
def gain_per_entropy(population, changes, count, gain):
    """Return a child's gain per edge entropy that the population loses if the child replaces its parent (section 3.3)."""
    edges, entropy, size = population.edges, population.entropy, len(population.lengths)
    loss = 0.0
    for i in range(count):
        f = _frequency(edges, changes[i, 0], changes[i, 1])
        if f > 0:
            loss += entropy[f] - entropy[f - 1]
        f = _frequency(edges, changes[i, 0], changes[i, 2])
        if f < size:
            loss += entropy[f] - entropy[f + 1]
    return gain / loss if loss > 1.0 / _FLAT else gain * _FLAT


@kernel
def _frequency(edges, city, other):
    """Return the number of tours with an edge; 0 for an edge without a slot."""
    if edges.shape[2] == 1:
        return edges[city, other, 0]
    for s in range(edges.shape[1]):
        if edges[city, s, 0] == other:
            return edges[city, s, 1]
        if edges[city, s, 0] < 0:
            break
    return 0


@kernel
def _change(edges, city, other, by):
    """Add `by` (1 or -1) to the count of an edge at one of its cities. With no slot left the edge stays uncounted."""
    if edges.shape[2] == 1:
        edges[city, other, 0] += by
        return
    free = -1
    for s in range(edges.shape[1]):
        if edges[city, s, 0] == other:
            edges[city, s, 1] += by
            return
        if edges[city, s, 0] < 0:
            free = s if free < 0 else free
            break
        if edges[city, s, 1] == 0 and free < 0:
            free = s
    if by > 0 and free >= 0:
        edges[city, free, 0], edges[city, free, 1] = other, by
