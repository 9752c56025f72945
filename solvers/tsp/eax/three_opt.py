"""Sequential 3-opt over candidate neighbours, on a tour kept as an array, with a queue of cities still worth a look.

Moves are looked for without touching the tour (gain criterion of Lin & Kernighan, Oper. Res. 21 (1973)); only an improving
one is carried out, by reversals of the shorter side. Names t1..t6 are Lin & Kernighan's: edges (t1 t2), (t3 t4), (t5 t6)
leave, (t2 t3), (t4 t5), (t6 t1) enter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.metric import distance

__all__ = ["LocalSearch", "local_search", "set_tour", "three_opt"]


class LocalSearch(NamedTuple):
    """A tour under local search; the search can stop after any number of cities and go on later."""

    tour: NDArray[np.int32]
    """[n] the cities in order."""
    position: NDArray[np.int32]
    """[n] where each city is in `tour`."""
    queue: NDArray[np.int32]
    """[n] ring buffer of cities to look at."""
    queued: NDArray[np.bool_]
    """[n] whether a city is in the queue."""
    ring: NDArray[np.int64]
    """[2] the queue's head and its length."""
    touched: NDArray[np.int32]
    """[6] the ends of the edges of the last move."""


def local_search(n: int) -> LocalSearch:
    """Memory for tours of n cities; `set_tour` fills it."""
    tour, position, queue = (np.empty(n, np.int32) for _ in range(3))
    return LocalSearch(tour, position, queue, np.empty(n, np.bool_), np.zeros(2, np.int64), np.empty(6, np.int32))


@kernel
def set_tour(search, tour):
    """Begin with a copy of `tour`, every city queued in its order."""
    for i in range(len(tour)):
        search.tour[i] = search.queue[i] = tour[i]
        search.position[tour[i]] = i
    search.queued[:] = True
    search.ring[0], search.ring[1] = 0, len(tour)


@kernel
def three_opt(metric, neighbours, lengths, search, least, looks):
    """Improve until the queue is empty or `looks` cities were looked at; returns the total gain.

    `least`: gains up to it count as rounding errors. For n >= 5; the queue's length, search.ring[1], is 0 at the end.
    """
    n = len(search.tour)
    head, waiting = search.ring[0], search.ring[1]
    total = 0.0
    while waiting > 0 and looks > 0:
        looks -= 1
        city = search.queue[head]
        head = head + 1 if head + 1 < n else 0
        waiting -= 1
        search.queued[city] = False
        while True:
            gain, count = _improve(metric, neighbours, lengths, search, city, least)
            if count == 0:
                break
            total += gain
            for i in range(count):
                end = search.touched[i]
                if not search.queued[end]:
                    search.queued[end] = True
                    tail = head + waiting
                    search.queue[tail if tail < n else tail - n] = end
                    waiting += 1
    search.ring[0], search.ring[1] = head, waiting
    return total


@kernel(inline=True)
def _after(search, city, backwards):
    """The next city in the direction given."""
    i = search.position[city]
    n = len(search.tour)
    if backwards:
        return search.tour[i - 1 if i > 0 else n - 1]
    return search.tour[i + 1 if i + 1 < n else 0]


@kernel(inline=True)
def _steps(search, a, b, backwards):
    """How many steps from a to b in the direction given."""
    d = search.position[b] - search.position[a]
    if backwards:
        d = -d
    return d if d >= 0 else d + len(search.tour)


@kernel
def _reverse(search, a, b, backwards):
    """Reverse the path a..b of the direction; returns the direction in which the rest of the tour then runs as before.

    Where the path is over half of the tour, the rest is reversed instead: the same cycle, with the direction turned round.
    """
    tour, position, n = search.tour, search.position, len(search.tour)
    i, j = (position[b], position[a]) if backwards else (position[a], position[b])
    size = j - i + 1 if j >= i else j - i + 1 + n
    if 2 * size > n:
        i, j = j + 1 if j + 1 < n else 0, i - 1 if i > 0 else n - 1
        size = n - size
        backwards = not backwards
    for _ in range(size >> 1):
        x, y = tour[i], tour[j]
        tour[i], tour[j] = y, x
        position[y], position[x] = i, j
        i = i + 1 if i + 1 < n else 0
        j = j - 1 if j > 0 else n - 1
    return backwards


@kernel
def _touch(search, t1, t2, t3, t4, t5, t6):
    search.touched[0], search.touched[1], search.touched[2] = t1, t2, t3
    search.touched[3], search.touched[4], search.touched[5] = t4, t5, t6


@kernel
def _improve(metric, neighbours, lengths, search, t1, least):
    """Carry out the first improving 2-opt or sequential 3-opt move from t1; returns (gain, cities touched), (0, 0) if none."""
    k = neighbours.shape[1]
    for turn in range(2):
        backwards = turn == 1
        t2 = _after(search, t1, backwards)
        removed = distance(metric, t1, t2)
        for c in range(k):
            t3 = neighbours[t2, c]
            gain1 = removed - lengths[t2, c]
            if gain1 <= least:
                break
            if t3 == t1:
                continue
            # t4 before t3: closing up gives a tour (2-opt)
            t4 = _after(search, t3, not backwards)
            if t4 != t2:
                gain2 = gain1 + distance(metric, t3, t4)
                gain = gain2 - distance(metric, t4, t1)
                if gain > least:
                    _reverse(search, t2, t4, backwards)
                    _touch(search, t1, t2, t3, t4, t1, t1)
                    return gain, 4
                gain = _third_after_two_opt(metric, neighbours, lengths, search, t1, t2, t3, t4, gain2, backwards, least)
                if gain > 0.0:
                    return gain, 6
            # t4 after t3: closing up would leave two cycles, which the third exchange joins
            t4 = _after(search, t3, backwards)
            if t4 != t1 and t3 != t1:
                gain2 = gain1 + distance(metric, t3, t4)
                gain = _third_between(metric, neighbours, lengths, search, t1, t2, t3, t4, gain2, backwards, least)
                if gain > 0.0:
                    return gain, 6
    return 0.0, 0


@kernel
def _third_after_two_opt(metric, neighbours, lengths, search, t1, t2, t3, t4, gain2, backwards, least):
    """The path is t1 | t2 .. t4 | t3 ..: with t2 .. t4 reversed, a second 2-opt move from t4. Returns the gain or 0."""
    span = _steps(search, t2, t4, backwards)
    for c in range(neighbours.shape[1]):
        t5 = neighbours[t4, c]
        gain3 = gain2 - lengths[t4, c]
        if gain3 <= least:
            break
        if t5 == t3:
            continue
        inside = _steps(search, t2, t5, backwards) <= span  # then its predecessor after the reversal was its successor
        t6 = _after(search, t5, backwards if inside else not backwards)
        if t6 == t4:
            continue
        gain = gain3 + distance(metric, t5, t6) - distance(metric, t6, t1)
        if gain > least:
            turned = _reverse(search, t2, t4, backwards)
            _reverse(search, t4, t6, turned)
            _touch(search, t1, t2, t3, t4, t5, t6)
            return gain
    return 0.0


@kernel
def _third_between(metric, neighbours, lengths, search, t1, t2, t3, t4, gain2, backwards, least):
    """The path is t1 | t2 .. t3 | t4 ..: an edge (t5 t6) within t2 .. t3 is cut. Returns the gain or 0."""
    span = _steps(search, t2, t3, backwards)
    for c in range(neighbours.shape[1]):
        t5 = neighbours[t4, c]
        gain3 = gain2 - lengths[t4, c]
        if gain3 <= least:
            break
        if t5 == t3 or _steps(search, t2, t5, backwards) > span:
            continue
        t6 = _after(search, t5, backwards)  # t2 .. t5 and t6 .. t3 change places
        gain = gain3 + distance(metric, t5, t6) - distance(metric, t6, t1)
        if gain > least:
            turned = _reverse(search, t2, t3, backwards)
            turned = _reverse(search, t3, t6, turned)
            _reverse(search, t5, t2, turned)
            _touch(search, t1, t2, t3, t4, t5, t6)
            return gain
        if t5 == t2:
            continue
        t6 = _after(search, t5, not backwards)  # t2 .. t6 and t5 .. t3 are reversed
        gain = gain3 + distance(metric, t5, t6) - distance(metric, t6, t1)
        if gain > least:
            turned = _reverse(search, t2, t6, backwards)
            _reverse(search, t5, t3, turned)
            _touch(search, t1, t2, t3, t4, t5, t6)
            return gain
    return 0.0
