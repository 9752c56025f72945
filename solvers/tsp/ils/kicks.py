"""Iterated local search: kick a short stretch of the tour, repair it with Lin-Kernighan moves, keep it or take it back.

The kick is the double bridge of Martin, Otto & Felten (Complex Systems 5, 1991): four consecutive stretches A B C D
become A D C B, where B, C and D are short (Applegate, Cook & Rohe, INFORMS J. Comput. 15, 2003, on local kicks), so that
kick, repair and undoing cost the same on a tour of any size.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.metric import distance
from corl.rng import below, uniform
from corl.solvers.tsp.ils.lin_kernighan import Search, enqueue, new_search, settle
from corl.solvers.tsp.ils.rearrange import forget, rearrange, set_order, undo

__all__ = ["Climb", "begin", "iterate", "new_climb"]

_DESCENT = 100  # cities of the first descent that count as one unit: about the time of a kick


class Climb(NamedTuple):
    """The state of an iterated local search; `iterate` goes on from it."""

    search: Search
    random: NDArray[np.uint64]
    """[1]"""
    length: NDArray[np.float64]
    """[1] of the tour."""
    done: NDArray[np.int64]
    """[2] units of work done, kicks among them."""
    plan: NDArray[np.float64]
    """[2] the first temperature (in units of length) and the units of work that cool it to 0."""


def new_climb(n: int, breadth: tuple[int, ...], random: NDArray[np.uint64]) -> Climb:
    """Memory for a search over n cities; `begin` fills it."""
    return Climb(new_search(n, breadth), random, np.zeros(1), np.zeros(2, np.int64), np.zeros(2))


@kernel
def begin(climb, order, length):
    """Start from a tour of the given length; every city is queued, in tour order."""
    set_order(climb.search.tour, order)
    for city in order:
        enqueue(climb.search, city)
    climb.length[0] = length


@kernel
def iterate(metric, neighbours, lengths, climb, least, most, stretch, units):
    """Do `units` units of work: one is 100 queued cities or, once the first descent is over, a kick with its repair.

    Gains up to `least` are rounding errors. Moves that shift more than `most` cities are passed over. B, C and D of a kick
    have 1 to `stretch` cities each. For n >= 5.
    """
    search, n = climb.search, len(climb.search.queue)
    for _ in range(units):
        climb.done[0] += 1
        if search.ring[1] > 0:
            climb.length[0] -= settle(metric, neighbours, lengths, search, least, most, _DESCENT)
            forget(search.tour)
            continue
        cost = _kick(metric, climb, stretch)
        cost -= settle(metric, neighbours, lengths, search, least, most, n * n)
        if cost <= _allowance(climb):
            climb.length[0] += cost
            forget(search.tour)
        else:
            undo(search.tour)
        climb.done[1] += 1


@kernel(inline=True)
def _allowance(climb):
    """How much longer a tour may get: exponential with the temperature's mean, as in simulated annealing."""
    warmth = climb.plan[0] * (1.0 - climb.done[0] / climb.plan[1])
    return -warmth * math.log(1.0 - uniform(climb.random)) if warmth > 0.0 else 0.0


@kernel
def _kick(metric, climb, stretch):
    """A D C B at a random place; queues the eight cities at the changed edges and returns what it cost."""
    search, random = climb.search, climb.random
    tour = search.tour
    order = tour.order
    n = len(order)
    widest = min(stretch, (n - 1) // 3)
    b, c, d = 1 + below(random, widest), 1 + below(random, widest), 1 + below(random, widest)
    start = below(random, n)
    before, after = order[start - 1 if start else n - 1], order[(start + b + c + d) % n]
    b1, b2 = order[start], order[(start + b - 1) % n]
    c1, c2 = order[(start + b) % n], order[(start + b + c - 1) % n]
    d1, d2 = order[(start + b + c) % n], order[(start + b + c + d - 1) % n]
    cost = distance(metric, before, d1) + distance(metric, d2, c1) + distance(metric, c2, b1) + distance(metric, b2, after)
    cost -= distance(metric, before, b1) + distance(metric, b2, c1) + distance(metric, c2, d1) + distance(metric, d2, after)
    tour.offset[0], tour.size[0], tour.reverse[0] = b + c, d, False
    tour.offset[1], tour.size[1], tour.reverse[1] = b, c, False
    tour.offset[2], tour.size[2], tour.reverse[2] = 0, b, False
    rearrange(tour, start, 3)
    for city in (before, d1, d2, c1, c2, b1, b2, after):
        enqueue(search, city)
    return cost
