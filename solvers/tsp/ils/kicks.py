"""Chained Lin-Kernighan (Applegate, Cook & Rohe, INFORMS J. Computing 15, 2003).

A kick changes the current tour by a local double bridge at a random place; Lin-Kernighan moves from the cities at the changed
edges repair it. The result becomes the current tour if its length is accepted; otherwise all changes are undone. Before the kicks
there is a descent: Lin-Kernighan moves from all cities of the first tour.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.annealing import allowance
from corl.problems.tsp.metric import Metric
from corl.rng import below
from corl.solvers.tsp.ils.lin_kernighan import LinKernighan, lin_kernighan, settle
from corl.solvers.tsp.tours.array_tour import forget, set_order, undo
from corl.solvers.tsp.tours.city_queue import enqueue
from corl.solvers.tsp.tours.double_bridge import bridge_cost, bridge_ends, draw_sizes, exchange

__all__ = ["ChainedSearch", "begin", "chained_search", "iterate"]

_CITIES_PER_UNIT = 100  # cities of the first descent that count as one unit of work: about the time of a kick


class ChainedSearch(NamedTuple):
    """The state of an iterated local search; `iterate` continues from it."""

    local: LinKernighan
    """The current tour, and the memory of its local search."""
    random: NDArray[np.uint64]
    """[1] the state of the random numbers."""
    length: NDArray[np.float64]
    """[1] the length of the current tour."""
    done: NDArray[np.int64]
    """[2] the number of units of work done, and how many of them were kicks."""
    cooling: NDArray[np.float64]
    """[2] the initial temperature, as a length, and the number of units of work after which the temperature is 0."""
    ends: NDArray[np.int32]
    """[8] the cities at the edges that the last kick changed."""


def chained_search(n: int, breadth: tuple[int, ...], random: NDArray[np.uint64]) -> ChainedSearch:
    """Return the memory of a search over n cities; `begin` fills it."""
    local = lin_kernighan(n, breadth)
    return ChainedSearch(local, random, np.zeros(1), np.zeros(2, np.int64), np.zeros(2), np.empty(8, np.int32))


@kernel
def begin(search: ChainedSearch, order: NDArray[np.int32], length: float) -> None:
    """Make `order`, a tour of the given length, the current tour, and queue every city in tour order."""
    set_order(search.local.tour, order)
    for city in order:
        enqueue(search.local.queue, city)
    search.length[0] = length


@kernel
def iterate(
    metric: Metric,
    neighbours: NDArray[np.int32],
    lengths: NDArray[np.float64],
    search: ChainedSearch,
    tolerance: float,
    most_shifted: int,
    stretch: int,
    units: int,
) -> None:
    """Do `units` units of work on the current tour, in place; requires n >= 5.

    A unit is 100 queued cities during the first descent, and a kick with its repair afterwards.

    Args:
        metric: Metric of n cities.
        neighbours: int32 [n, K], candidate neighbours, nearest first.
        lengths: float64 [n, K], their distances.
        search: The state, which changes in place.
        tolerance: Gains up to this are treated as rounding errors.
        most_shifted: Moves that would shift more cities than this in the array are skipped.
        stretch: The greatest number of cities in each of the three consecutive stretches that a kick exchanges.
        units: Units of work.
    """
    local, n = search.local, len(search.local.tour.order)
    for _ in range(units):
        search.done[0] += 1
        if local.queue.ring[1] > 0:
            search.length[0] -= settle(metric, neighbours, lengths, local, tolerance, most_shifted, _CITIES_PER_UNIT)
            forget(local.tour)
            continue
        cost = _kick(metric, search, stretch)
        cost -= settle(metric, neighbours, lengths, local, tolerance, most_shifted, n * n)
        if cost <= _tolerated(search):
            search.length[0] += cost
            forget(local.tour)
        else:
            undo(local.tour, 0)
        search.done[1] += 1


@kernel(inline=True)
def _tolerated(search: ChainedSearch) -> Any:
    """Draw by how much the new tour may be longer than the current one: exponential, with the temperature as mean."""
    temperature = search.cooling[0] * (1.0 - search.done[0] / search.cooling[1])
    return allowance(temperature, search.random) if temperature > 0.0 else 0.0


@kernel(borrow=True)
def _kick(metric: Metric, search: ChainedSearch, stretch: int) -> float:
    """Apply a double bridge at a random place, queue the cities at the changed edges, and return the added length."""
    tour, ends, random = search.local.tour, search.ends, search.random
    n = len(tour.order)
    b, c, d = draw_sizes(random, min(stretch, (n - 1) // 3))
    start = below(random, n)
    bridge_ends(tour.order, start, b, c, d, ends)
    exchange(tour, start, b, c, d)
    for k in (0, 5, 6, 3, 4, 1, 2, 7):  # along the new tour
        enqueue(search.local.queue, ends[k])
    return bridge_cost(metric, ends)
