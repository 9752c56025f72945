"""A pool of routes of good solutions, for route selection: a hash table that drops the oldest.

The hash of a route is the sum of random numbers of its clients and its vehicle type, so that the order of visits does not
matter: of two orders the cheaper one is kept. Keeping a heuristic's routes goes back to Rochat & Taillard (1995); see
route_selection.py.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.vrp.ruin.state import DONE, TOUCHED, Plan, RoutingData

__all__ = ["Pool", "new_pool", "store_all", "store_touched"]

_WAYS = 4  # entries that may hold a given route
_KEYS = 0x5EED  # seed of the random numbers; it affects results only through collisions


class Pool(NamedTuple):
    """A pool of `size` entries, a power of two; 0 if no routes are stored."""

    key: NDArray[np.uint64]
    """uint64 [n + types]: random numbers of the clients and the vehicle types."""
    tag: NDArray[np.uint64]
    """uint64 [size]: the hash of the route; 0 for an empty entry."""
    cost: NDArray[np.float64]
    """float64 [size]: cost of distance and fixed cost."""
    last_iteration: NDArray[np.int64]
    """int64 [size]: the last iteration that made the route."""
    kind: NDArray[np.int32]
    length: NDArray[np.int32]
    """int32 [size] each: vehicle type, number of clients."""
    visits: NDArray[np.int32]
    """int32 [size, L]: the clients in order; routes of more than L clients are not stored."""
    stamp: NDArray[np.int64]
    """int64 [slots]: the last iteration at which the slot's route was stored."""


def new_pool(data: RoutingData, plan: Plan, size: int, longest: int) -> Pool:
    """Return an empty pool of `size` entries, 0 or a power of two from 4, for routes of at most `longest` clients."""
    types = len(plan.free_size)
    key = np.random.default_rng(_KEYS).integers(1, 2**63, data.clients + types, dtype=np.uint64)
    return Pool(
        key=key,
        tag=np.zeros(size, np.uint64),
        cost=np.zeros(size),
        last_iteration=np.zeros(size, np.int64),
        kind=np.zeros(size, np.int32),
        length=np.zeros(size, np.int32),
        visits=np.zeros((size, longest), np.int32),
        stamp=np.full(len(plan.size), -1, np.int64),
    )


@kernel(borrow=True)
def store_touched(data, plan, work, pool):
    """Store the routes that the last iteration changed."""
    now = plan.counts[DONE]
    for k in range(work.counts[TOUCHED]):
        slot = work.touched[k]
        if pool.stamp[slot] != now:
            pool.stamp[slot] = now
            _store(data, plan, pool, slot, now)


@kernel(borrow=True)
def store_all(data, plan, pool):
    """Store all routes of the current solution."""
    for slot in range(len(plan.size)):
        _store(data, plan, pool, slot, plan.counts[DONE])


@kernel(inline=True, borrow=True)
def _store(data, plan, pool, slot, now):
    """Store a slot's route in place of the same route, an empty entry, or the oldest of its entries."""
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
    cost = data.unit_cost[kind] * distance + data.fixed_cost[kind]
    first = np.int64(tag & np.uint64(len(pool.tag) - 1)) & ~(_WAYS - 1)
    place: int | np.int64 = first
    for at in range(first, first + _WAYS):
        if pool.tag[at] == tag:
            pool.last_iteration[at] = now
            if pool.cost[at] <= cost:
                return
            place = at
            break
        if pool.tag[at] == 0 or (pool.tag[place] != 0 and pool.last_iteration[at] < pool.last_iteration[place]):
            place = at
    pool.tag[place], pool.cost[place], pool.last_iteration[place] = tag, cost, now
    pool.kind[place], pool.length[place] = kind, size
    node = plan.next[depot]
    for position in range(size):
        pool.visits[place, position] = node
        node = plan.next[node]
