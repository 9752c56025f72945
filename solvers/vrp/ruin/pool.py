"""Routes that were seen in good plans, to choose from: a hash table that forgets the oldest.

A route's name is the sum of random numbers of its clients, so that the order of visits does not matter: of two orders the
cheaper one is kept. To keep a heuristic's routes goes back to Rochat & Taillard (1995); see choice.py.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.vrp.ruin.state import DONE, TOUCHED, Plan, RoutingData

__all__ = ["Pool", "gather", "gather_all", "new_pool"]

_WAYS = 4  # places where a route may lie
_KEYS = 0x5EED  # of the random names: part of no result but through collisions


class Pool(NamedTuple):
    """`size` places, a power of two, or none where no routes are kept."""

    key: NDArray[np.uint64]
    """uint64 [n + types]: random numbers of clients and types of vehicle."""
    tag: NDArray[np.uint64]
    """uint64 [size]: the sum of a route's; 0 where there is none."""
    cost: NDArray[np.float64]
    """float64 [size]: distance times cost of a unit, and fixed cost."""
    seen: NDArray[np.int64]
    """int64 [size]: the last iteration that made the route."""
    kind: NDArray[np.int32]
    length: NDArray[np.int32]
    """int32 [size] each: type of vehicle, number of clients."""
    visits: NDArray[np.int32]
    """int32 [size, L]: clients in order; routes of more than L are not kept."""
    stamp: NDArray[np.int64]
    """int64 [slots]: the last iteration at which a slot's route was looked at."""


def new_pool(data: RoutingData, plan: Plan, size: int, longest: int) -> Pool:
    """An empty pool; size 0 or a power of two from 4."""
    types = len(plan.free_size)
    key = np.random.default_rng(_KEYS).integers(1, 2**63, data.clients + types, dtype=np.uint64)
    return Pool(
        key=key,
        tag=np.zeros(size, np.uint64),
        cost=np.zeros(size),
        seen=np.zeros(size, np.int64),
        kind=np.zeros(size, np.int32),
        length=np.zeros(size, np.int32),
        visits=np.zeros((size, longest), np.int32),
        stamp=np.full(len(plan.size), -1, np.int64),
    )


@kernel(borrow=True)
def gather(data, plan, work, pool):
    """Keep the routes that the last iteration changed."""
    now = plan.counts[DONE]
    for k in range(work.counts[TOUCHED]):
        slot = work.touched[k]
        if pool.stamp[slot] != now:
            pool.stamp[slot] = now
            _keep(data, plan, pool, slot, now)


@kernel(borrow=True)
def gather_all(data, plan, pool):
    """Keep all routes of the present plan."""
    for slot in range(len(plan.size)):
        _keep(data, plan, pool, slot, plan.counts[DONE])


@kernel(inline=True, borrow=True)
def _keep(data, plan, pool, slot, now):
    size = plan.size[slot]
    if size == 0 or size > pool.visits.shape[1]:
        return
    depot, kind = data.clients + slot, plan.type[slot]
    tag, distance = pool.key[data.clients + kind], plan.leg[depot]
    node = plan.next[depot]
    while node < data.clients:
        tag += pool.key[node]
        distance += plan.leg[node]
        node = plan.next[node]
    cost = data.unit[kind] * distance + data.fixed[kind]
    first = np.int64(tag & np.uint64(len(pool.tag) - 1)) & ~(_WAYS - 1)
    place: int | np.int64 = first
    for at in range(first, first + _WAYS):
        if pool.tag[at] == tag:
            pool.seen[at] = now
            if pool.cost[at] <= cost:
                return
            place = at
            break
        if pool.tag[at] == 0 or (pool.tag[place] != 0 and pool.seen[at] < pool.seen[place]):
            place = at
    pool.tag[place], pool.cost[place], pool.seen[place] = tag, cost, now
    pool.kind[place], pool.length[place] = kind, size
    node = plan.next[depot]
    for position in range(size):
        pool.visits[place, position] = node
        node = plan.next[node]
