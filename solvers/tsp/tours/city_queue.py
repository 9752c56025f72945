"""A queue, without duplicates, of the cities that a local search still has to examine. It has the cities whose don't-look bits
are cleared (Bentley, Fast algorithms for geometric traveling salesman problems, ORSA J. Computing 4, 1992), in the order in which
these bits were cleared."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["CityQueue", "city_queue", "clear", "enqueue", "next_in_queue"]


class CityQueue(NamedTuple):
    """A first-in, first-out queue over n cities."""

    cities: NDArray[np.int32]
    """[n] the queued cities, in a ring buffer."""
    queued: NDArray[np.bool_]
    """[n] whether each city is in the queue."""
    ring: NDArray[np.int64]
    """[2] the index of the first queued city in `cities`, and the number of queued cities."""


def city_queue(n: int) -> CityQueue:
    """Return an empty queue for n cities."""
    return CityQueue(np.empty(n, np.int32), np.zeros(n, np.bool_), np.zeros(2, np.int64))


@kernel(inline=True, borrow=True)
def enqueue(queue: CityQueue, city: int) -> None:
    """Append a city to the queue, unless it is queued already."""
    if not queue.queued[city]:
        queue.queued[city] = True
        n = len(queue.cities)
        at = queue.ring[0] + queue.ring[1]
        queue.cities[at - n if at >= n else at] = city
        queue.ring[1] += 1


@kernel(inline=True, borrow=True)
def next_in_queue(queue: CityQueue) -> Any:
    """Remove and return the first city of the queue, which must not be empty."""
    head = queue.ring[0]
    city = queue.cities[head]
    queue.queued[city] = False
    queue.ring[0] = head + 1 if head + 1 < len(queue.cities) else 0
    queue.ring[1] -= 1
    return city


@kernel(borrow=True)
def clear(queue: CityQueue) -> None:
    """Remove every city from the queue."""
    while queue.ring[1] > 0:
        next_in_queue(queue)
