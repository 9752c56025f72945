"""Or-3opt for the ATSP, with candidate lists. An or-3opt move is the only exchange of three arcs that reverses no path:

    a --> b ... c --> d ... e --> f ... a     becomes     a --> d ... e --> b ... c --> f ... a

The search follows Kanellakis & Papadimitriou (Operations Research 28, 1980); the local double bridges of `iterate` are those of
Martin, Otto & Felten (1991). The kernels take any matrix of costs; the gain criterion (partial sums of the gain stay positive)
prunes best with reduced costs (arcs.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.rng import below, uniform
from corl.solvers.tsp.construction.kernels import length_of
from corl.solvers.tsp.tours.array_tour import ArrayTour, array_tour, forget, log_is_full, rearrange, set_order, undo
from corl.solvers.tsp.tours.city_queue import CityQueue, city_queue, clear, enqueue, next_in_queue
from corl.solvers.tsp.tours.double_bridge import bridge_cost, bridge_ends, draw_sizes, exchange

__all__ = ["OrThreeOpt", "improve", "iterate", "kick", "nearest_unvisited", "or_three_opt", "start_tours"]

_NEAREST_CHANCE = 0.9  # probability with which a start tour continues to the nearest unvisited candidate


class OrThreeOpt(NamedTuple):
    """A directed tour, and the memory of its local search."""

    tour: ArrayTour
    queue: CityQueue
    """The cities from which moves are still to be searched."""
    ends: NDArray[np.int32]
    """[8] the cities at the arcs that the last move or kick changed."""


def or_three_opt(n: int) -> OrThreeOpt:
    """Return the memory for tours of n cities."""
    return OrThreeOpt(array_tour(n, 3), city_queue(n), np.empty(8, np.int32))


@kernel(inline=True, borrow=True)
def _exchange(tour, start, s1, s2):
    """Change the tour S1 S2 S3, where S1 begins at position `start`, to S2 S1 S3, in place; s1 and s2 are numbers of cities.

    The result is a cycle, so the longest of the three segments can stay where it is in the array.
    """
    n = len(tour.order)
    s3 = n - s1 - s2
    if s1 >= s2 and s1 >= s3:
        start += s1
        s1 = s2
        s2 = s3
    elif s2 >= s1 and s2 >= s3:
        start += s1 + s2
        s2 = s1
        s1 = s3
    pieces = tour.pieces
    pieces[0, 0], pieces[0, 1], pieces[0, 2] = s1, s2, 0
    pieces[1, 0], pieces[1, 1], pieces[1, 2] = 0, s1, 0
    rearrange(tour, start - n if start >= n else start, 2)


@kernel(borrow=True)
def _improve(cost, near, near_cost, search, a, tolerance):
    """Make the first improving move that removes a's arc: (a, b), (c, d), (e, f) become (a, d), (c, f), (e, b); return the gain.

    Partial sums of the gain are kept positive. This misses no improving move: it can begin at any of its three removed arcs, and
    from one of them all partial sums are positive.
    """
    order, position, ends = search.tour.order, search.tour.position, search.ends
    n = len(order)
    pa = position[a]
    b = order[pa + 1] if pa + 1 < n else order[0]
    ab = cost[a, b]
    degree = near.shape[1]
    for k in range(degree):
        g1 = ab - near_cost[a, k]
        if g1 <= tolerance:
            break
        d = near[a, k]
        pd = position[d]
        c = order[pd - 1] if pd > 0 else order[n - 1]
        if d == b:
            continue
        od = pd - pa
        if od < 0:
            od += n
        g2 = g1 + cost[c, d]
        for q in range(degree):
            g3 = g2 - near_cost[c, q]
            if g3 <= tolerance:
                break
            f = near[c, q]
            of = position[f] - pa
            if of <= 0:
                of += n
            if of <= od:  # f must come after d on the way from a back to a
                continue
            pf = position[f]
            e = order[pf - 1] if pf > 0 else order[n - 1]
            gain = g3 + cost[e, f] - cost[e, b]
            if gain > tolerance:
                _exchange(search.tour, pa + 1 if pa + 1 < n else 0, od - 1, of - od)
                ends[0], ends[1], ends[2], ends[3], ends[4], ends[5] = a, b, c, d, e, f
                return gain
    return 0.0


@kernel(borrow=True)
def improve(cost, near, near_cost, search, tolerance, logged):
    """Improve the tour in place until no queued city has an improving move; return the gain.

    If `logged`, the changes remain in the tour's log, from which they can be undone, and a full log ends the search early.
    """
    tour, queue = search.tour, search.queue
    total = 0.0
    while queue.ring[1] > 0 and not log_is_full(tour, 0):
        city = next_in_queue(queue)
        while not log_is_full(tour, 0):
            gain = _improve(cost, near, near_cost, search, city, tolerance)
            if gain == 0.0:
                break
            total += gain
            if not logged:
                forget(tour)
            for k in range(6):
                enqueue(queue, search.ends[k])
    clear(queue)
    return total


@kernel
def _randomised_greedy(cost, near, state, tour, unvisited, place):
    """Write a random tour, which mostly continues to the nearest unvisited candidate and sometimes to a later one, to `tour`.

    If all candidates are visited, it continues to the nearest unvisited city.

    Args:
        cost: float64 [n, n], arc costs.
        near: int32 [n, K], heads of the cheapest arcs out of each city.
        state: uint64 [1], the state of the random numbers.
        tour: int32 [n], receives the tour.
        unvisited: int32 [n], work array, overwritten: the unvisited cities.
        place: int32 [n], work array, overwritten: the index of each city in `unvisited`, -1 if it is visited.
    """
    n = len(tour)
    for i in range(n):
        unvisited[i] = i
        place[i] = i
    unvisited_count = n
    c = below(state, n)
    for step in range(n):
        tour[step] = c
        unvisited_count -= 1
        moved = unvisited[unvisited_count]
        unvisited[place[c]] = moved
        place[moved] = place[c]
        place[c] = -1
        if unvisited_count == 0:
            return
        following = -1
        for k in range(near.shape[1]):
            j = near[c, k]
            if place[j] >= 0:
                following = j
                if uniform(state) < _NEAREST_CHANCE:
                    break
        if following < 0:
            following = unvisited[0]
            for k in range(1, unvisited_count):
                if cost[c, unvisited[k]] < cost[c, following]:
                    following = unvisited[k]
        c = following


@kernel
def nearest_unvisited(cost, first):
    """Return the nearest-neighbour tour from `first`, int32 [n], in O(n^2) time."""
    n = len(cost)
    tour = np.empty(n, np.int32)
    unvisited = np.arange(n)
    c = first
    unvisited[c] = n - 1
    for step in range(n - 1):
        tour[step] = c
        best = 0
        for k in range(n - 1 - step):
            if cost[c, unvisited[k]] < cost[c, unvisited[best]]:
                best = k
        c = unvisited[best]
        unvisited[best] = unvisited[n - 2 - step]
    tour[n - 1] = c
    return tour


@kernel
def start_tours(metric, near, near_cost, search, tours, lengths, tolerance, state):
    """Write m random tours, improved by or-3opt, to int32 `tours` [m, n], and their lengths to float64 `lengths` [m]."""
    for k in range(len(tours)):
        _randomised_greedy(metric.matrix, near, state, tours[k], search.tour.buffer, search.tour.position)
        set_order(search.tour, tours[k])
        for city in tours[k]:
            enqueue(search.queue, city)
        improve(metric.matrix, near, near_cost, search, tolerance, False)
        tours[k] = search.tour.order
        lengths[k] = length_of(metric, tours[k])


@kernel(borrow=True)
def kick(metric, search, state, stretch):
    """Apply a double bridge at a random place, queue the cities at the changed arcs, and return the added cost. For n >= 8.

    At most `stretch` cities are in each of the three stretches that change places. The double bridge makes A D C B of A B C D;
    A C B D would be a 3-exchange, which the local search would undo.
    """
    tour, ends = search.tour, search.ends
    n = len(tour.order)
    start = below(state, n)
    b, c, d = draw_sizes(state, min(stretch, (n - 2) // 3))
    bridge_ends(tour.order, start, b, c, d, ends)
    exchange(tour, start, b, c, d)
    for k in range(8):
        enqueue(search.queue, ends[k])
    return bridge_cost(metric, ends)


@kernel
def iterate(metric, near, near_cost, search, best, state, stretch, tolerance, kicks):
    """Do `kicks` double bridges, each followed by a local search from the cities at the changed arcs; return the total gain.

    If the tour is longer after kick and repair, it is restored. `best`, int32 [n], receives the tour only when it became
    shorter: among tours of equal length it keeps the first, so that the result does not depend on where a call ends.
    """
    total = 0.0
    for _ in range(kicks):
        change = kick(metric, search, state, stretch)
        gain = improve(metric.matrix, near, near_cost, search, tolerance, True) - change
        if gain >= 0.0:
            total += gain
            if gain > tolerance:
                best[:] = search.tour.order
        else:
            undo(search.tour, 0)
        forget(search.tour)
    return total
