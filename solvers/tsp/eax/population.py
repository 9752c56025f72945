"""A population of tours for EAX, and how often each edge occurs in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["Population", "change_frequency", "count_edges", "frequency", "population_of", "put_tour"]

_SLOTS = 24  # different neighbours of one city that are counted; a population of local optima has far fewer


class Population(NamedTuple):
    """P tours of n cities."""

    links: NDArray[np.int32]
    """[P, n, 2] the two neighbours of every city."""
    lengths: NDArray[np.float64]
    """[P]"""
    turn: NDArray[np.int32]
    """[P] the order in which the tours are mated in this generation: parent A is turn[i], parent B turn[i + 1]."""
    edges: NDArray[np.int32]
    """[n, slots, 2] per city (neighbour, count): in how many tours the edge occurs; neighbour -1 in slots never used."""
    entropy: NDArray[np.float64]
    """[P + 1] -F/P log(F/P): what an edge that occurs in F tours adds to the population's edge entropy."""


def population_of(size: int, n: int) -> Population:
    """An empty population of `size` tours of n cities."""
    share = np.arange(1, size + 1) / size
    return Population(
        links=np.empty((size, n, 2), np.int32),
        lengths=np.full(size, np.inf),
        turn=np.arange(size, dtype=np.int32),
        edges=np.full((n, _SLOTS, 2), -1, np.int32),
        entropy=np.concatenate(([0.0], -share * np.log(share))),
    )


@kernel
def put_tour(links, tour):
    """Write a tour's neighbours to `links` int32 [n, 2]."""
    n = len(tour)
    for i in range(n):
        links[tour[i], 0] = tour[i - 1]
        links[tour[i], 1] = tour[i + 1 if i + 1 < n else 0]


@kernel
def count_edges(population):
    """Count the edges of all tours anew."""
    population.edges[:] = -1
    for p in range(len(population.links)):
        for city in range(population.links.shape[1]):
            change_frequency(population.edges, city, population.links[p, city, 0], 1)
            change_frequency(population.edges, city, population.links[p, city, 1], 1)


@kernel
def frequency(edges, city, other):
    """In how many tours the edge occurs; 0 for an edge that found no slot."""
    for s in range(edges.shape[1]):
        if edges[city, s, 0] == other:
            return edges[city, s, 1]
        if edges[city, s, 0] < 0:
            break
    return 0


@kernel
def change_frequency(edges, city, other, by):
    """Add `by` (1 or -1) to the count of an edge at one of its cities. With no slot left the edge stays uncounted."""
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
