"""A population of tours for edge assembly crossover, the frequency of each edge in it, and the evaluation of children by entropy.

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

_SLOTS = 24  # how many different neighbours of one city can be counted; a population of local optima has far fewer
_DENSE_CITIES = 1000  # up to this size arcs are counted in an n x n table, of 4 MB at most
_MOST_PER_GAIN = 1e9  # the greatest value of a child divided by its gain, reached if the population loses at most 1e-9 of entropy


class Population(NamedTuple):
    """P tours of n cities."""

    links: NDArray[np.int32]
    """[P, n, 2] the two neighbours of every city; in directed tours [P, n, 1], its successor."""
    lengths: NDArray[np.float64]
    """[P] the lengths of the tours."""
    turn: NDArray[np.int32]
    """[P] the order in which the tours are mated in this generation: parent A is turn[i], parent B turn[i + 1]."""
    edges: NDArray[np.int32]
    """[n, slots, 2] for each city a list of (neighbour, number of tours with the edge); neighbour -1 in slots never used.
    For directed tours of up to 1000 cities [n, n, 1]: the number of tours with the arc."""
    entropy: NDArray[np.float64]
    """[P + 1] -F/P log(F/P) for F = 0..P: what an edge that F tours contain adds to the population's edge entropy."""


def population_of(size: int, n: int, directed: bool = False) -> Population:
    """Return an empty population of `size` tours of n cities."""
    share = np.arange(1, size + 1) / size
    shape = (n, n, 1) if directed and n <= _DENSE_CITIES else (n, _SLOTS, 2)
    return Population(
        links=np.empty((size, n, 1 if directed else 2), np.int32),
        lengths=np.full(size, np.inf),
        turn=np.arange(size, dtype=np.int32),
        edges=np.full(shape, -1, np.int32),
        entropy=np.concatenate(([0.0], -share * np.log(share))),
    )


@kernel
def put_tour(links, tour):
    """Write the two neighbours of each city in int32 `tour` [n] to `links`, int32 [n, 2]."""
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
    """Update the edge counts for a child that replaces its parent.

    The first `count` rows of `changes`, int32 [., 3], are (city, old neighbour, new neighbour).
    """
    for i in range(count):
        _change(population.edges, changes[i, 0], changes[i, 1], -1)
        _change(population.edges, changes[i, 0], changes[i, 2], 1)


@kernel
def gain_per_entropy(population, changes, count, gain):
    """Return the `gain` of a child divided by the edge entropy that the population loses if the child replaces its parent.

    See section 3.3 of the paper; `changes` and `count` are those of `count_changes`.
    """
    edges, entropy, size = population.edges, population.entropy, len(population.lengths)
    loss = 0.0
    for i in range(count):
        f = _frequency(edges, changes[i, 0], changes[i, 1])
        if f > 0:
            loss += entropy[f] - entropy[f - 1]
        f = _frequency(edges, changes[i, 0], changes[i, 2])
        if f < size:
            loss += entropy[f] - entropy[f + 1]
    return gain / loss if loss > 1.0 / _MOST_PER_GAIN else gain * _MOST_PER_GAIN


@kernel
def _frequency(edges, city, other):
    """Return the number of tours with the edge between `city` and `other`; 0 if it has no slot."""
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
    """Add `by` (1 or -1) to the count of the edge between `city` and `other` in the list of `city`.

    If the list has no free slot, the edge is not counted.
    """
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
