"""Sequential 3-opt over candidate neighbours, with a queue of the cities still to be examined.

The search for a move does not change the tour, and is pruned by the gain criterion of Lin & Kernighan, Oper. Res. 21 (1973). An
improving move is carried out by reversals of paths. The names t1..t6 are Lin & Kernighan's: edges (t1 t2), (t3 t4), (t5 t6) are
removed, and (t2 t3), (t4 t5), (t6 t1) are added.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.metric import distance
from corl.solvers.tsp.tours.array_tour import ArrayTour, array_tour, city_after, forget, reverse_path, set_order
from corl.solvers.tsp.tours.city_queue import CityQueue, city_queue, enqueue, next_in_queue

__all__ = ["ThreeOpt", "begin", "improve", "three_opt"]


class ThreeOpt(NamedTuple):
    """A tour under local search; the search can stop after any number of cities and be resumed."""

    tour: ArrayTour
    queue: CityQueue
    """The cities from which moves are still to be searched."""
    touched: NDArray[np.int32]
    """[6] the ends of the edges of the last move."""


def three_opt(n: int) -> ThreeOpt:
    """Return the memory for tours of n cities; `begin` fills it."""
    return ThreeOpt(array_tour(n), city_queue(n), np.empty(6, np.int32))


@kernel
def begin(search, order):
    """Make a copy of int32 `order` [n] the tour under search, and queue every city in tour order."""
    set_order(search.tour, order)
    for city in order:
        enqueue(search.queue, city)


@kernel(borrow=True, nogil=True)
def improve(metric, neighbours, lengths, search, tolerance, cities):
    """Improve the tour in place until the queue is empty or `cities` cities were examined; return the total gain.

    Gains up to `tolerance` are treated as rounding errors. Requires n >= 5.
    """
    total = 0.0
    while search.queue.ring[1] > 0 and cities > 0:
        cities -= 1
        city = next_in_queue(search.queue)
        while True:
            gain, count = _improve(metric, neighbours, lengths, search, city, tolerance)
            if count == 0:
                break
            forget(search.tour)
            total += gain
            for i in range(count):
                enqueue(search.queue, search.touched[i])
    return total


@kernel(inline=True, borrow=True)
def _steps(tour, a, b, forward):
    """Return the number of steps from a to b in the given direction."""
    d = tour.position[b] - tour.position[a]
    if not forward:
        d = -d
    return d if d >= 0 else d + len(tour.order)


@kernel(borrow=True)
def _touch(search, t1, t2, t3, t4, t5, t6):
    """Write the ends of the edges of a move to `touched`."""
    search.touched[0], search.touched[1], search.touched[2] = t1, t2, t3
    search.touched[3], search.touched[4], search.touched[5] = t4, t5, t6


@kernel(borrow=True)
def _improve(metric, neighbours, lengths, search, t1, tolerance):
    """Carry out the first improving 2-opt or sequential 3-opt move from t1.

    Returns (gain, number of cities in `touched`); (0, 0) if there is no improving move.
    """
    k = neighbours.shape[1]
    for turn in range(2):
        forward = turn == 0
        t2 = city_after(search.tour, t1, forward)
        removed = distance(metric, t1, t2)
        for c in range(k):
            t3 = neighbours[t2, c]
            gain1 = removed - lengths[t2, c]
            if gain1 <= tolerance:
                break
            if t3 == t1:
                continue
            # t4 before t3: adding (t4 t1) closes a tour (2-opt)
            t4 = city_after(search.tour, t3, not forward)
            if t4 != t2:
                gain2 = gain1 + distance(metric, t3, t4)
                gain = gain2 - distance(metric, t4, t1)
                if gain > tolerance:
                    reverse_path(search.tour, t2, t4, forward)
                    _touch(search, t1, t2, t3, t4, t1, t1)
                    return gain, 4
                gain = _third_after_two_opt(metric, neighbours, lengths, search, t1, t2, t3, t4, gain2, forward, tolerance)
                if gain > 0.0:
                    return gain, 6
            # t4 after t3: adding (t4 t1) would give two cycles, which the third exchange joins
            t4 = city_after(search.tour, t3, forward)
            if t4 != t1 and t3 != t1:
                gain2 = gain1 + distance(metric, t3, t4)
                gain = _third_between(metric, neighbours, lengths, search, t1, t2, t3, t4, gain2, forward, tolerance)
                if gain > 0.0:
                    return gain, 6
    return 0.0, 0


@kernel(borrow=True)
def _third_after_two_opt(metric, neighbours, lengths, search, t1, t2, t3, t4, gain2, forward, tolerance):
    """Make the first improving 3-opt move that consists of two 2-opt moves; return the gain, 0 if there is none.

    The tour is t1 | t2 .. t4 | t3 ..; the first move reverses t2 .. t4, the second one begins at t4. `gain2` is
    |t1 t2| - |t2 t3| + |t3 t4|.
    """
    span = _steps(search.tour, t2, t4, forward)
    for c in range(neighbours.shape[1]):
        t5 = neighbours[t4, c]
        gain3 = gain2 - lengths[t4, c]
        if gain3 <= tolerance:
            break
        if t5 == t3:
            continue
        inside = _steps(search.tour, t2, t5, forward) <= span  # t5's predecessor after the reversal is its old successor
        t6 = city_after(search.tour, t5, forward == inside)
        if t6 == t4:
            continue
        gain = gain3 + distance(metric, t5, t6) - distance(metric, t6, t1)
        if gain > tolerance:
            turned = reverse_path(search.tour, t2, t4, forward)
            reverse_path(search.tour, t4, t6, turned)
            _touch(search, t1, t2, t3, t4, t5, t6)
            return gain
    return 0.0


@kernel(borrow=True)
def _third_between(metric, neighbours, lengths, search, t1, t2, t3, t4, gain2, forward, tolerance):
    """Make the first improving 3-opt move whose first exchange leaves two cycles; return the gain, 0 if there is none.

    The tour is t1 | t2 .. t3 | t4 ..; the third edge removed, (t5 t6), is between t2 and t3. `gain2` is |t1 t2| - |t2 t3| +
    |t3 t4|.
    """
    span = _steps(search.tour, t2, t3, forward)
    for c in range(neighbours.shape[1]):
        t5 = neighbours[t4, c]
        gain3 = gain2 - lengths[t4, c]
        if gain3 <= tolerance:
            break
        if t5 == t3 or _steps(search.tour, t2, t5, forward) > span:
            continue
        t6 = city_after(search.tour, t5, forward)  # t2 .. t5 and t6 .. t3 change places
        gain = gain3 + distance(metric, t5, t6) - distance(metric, t6, t1)
        if gain > tolerance:
            turned = reverse_path(search.tour, t2, t3, forward)
            turned = reverse_path(search.tour, t3, t6, turned)
            reverse_path(search.tour, t5, t2, turned)
            _touch(search, t1, t2, t3, t4, t5, t6)
            return gain
        if t5 == t2:
            continue
        t6 = city_after(search.tour, t5, not forward)  # t2 .. t6 and t5 .. t3 are reversed
        gain = gain3 + distance(metric, t5, t6) - distance(metric, t6, t1)
        if gain > tolerance:
            turned = reverse_path(search.tour, t2, t6, forward)
            reverse_path(search.tour, t5, t3, turned)
            _touch(search, t1, t2, t3, t4, t5, t6)
            return gain
    return 0.0
