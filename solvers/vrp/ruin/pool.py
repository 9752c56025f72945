"""A pool of routes of good solutions, for route selection (route_selection.py): a hash table that replaces the oldest routes.

Each client and each vehicle type has a random number; the hash of a route is the sum of these numbers. It does not depend on the
order of visits: of two routes with the same clients, the cheaper one is kept. Keeping the routes that a heuristic makes goes back
to Rochat & Taillard (1995). A slot is a place for a current route (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import by_reference, kernel
from corl.solvers.vrp.ruin.state import DONE, TOUCHED, Plan, RoutingData

__all__ = ["Pool", "new_pool", "store_all", "store_touched"]

_BUCKET = 4  # number of entries in which a given route may be stored
_KEY_SEED = 0x5EED  # seed of the random numbers in hashes; it affects results only if hashes collide


class Pool(NamedTuple):
    """A pool of `size` entries. `size` is a power of two, or 0 if routes are not to be stored."""

    key: NDArray[np.uint64]
    """uint64 [n + types]: the random numbers of the clients, then of the vehicle types."""
    tag: NDArray[np.uint64]
    """uint64 [size]: the hash of the route; 0 for an empty entry."""
    cost: NDArray[np.float64]
    """float64 [size]: the route's cost of distance plus its fixed cost."""
    last_iteration: NDArray[np.int64]
    """int64 [size]: the last iteration that made the route."""
    kind: NDArray[np.int32]
    """int32 [size]: the vehicle type."""
    length: NDArray[np.int32]
    """int32 [size]: the number of clients."""
    visits: NDArray[np.int32]
    """int32 [size, L]: the clients in the order of visits; routes with more than L clients are not stored."""
    stamp: NDArray[np.int64]
    """int64 [slots]: the last iteration at which the slot's route was stored."""


def new_pool(data: RoutingData, plan: Plan, size: int, max_clients: int) -> Pool:
    """Return an empty pool for routes of at most `max_clients` clients; `size` is 0, or a power of two that is at least 4."""
    types = len(plan.free_size)
    key = np.random.default_rng(_KEY_SEED).integers(1, 2**63, data.clients + types, dtype=np.uint64)
    pool = Pool(
        key=key,
        tag=np.zeros(size, np.uint64),
        cost=np.zeros(size),
        last_iteration=np.zeros(size, np.int64),
        kind=np.zeros(size, np.int32),
        length=np.zeros(size, np.int32),
        visits=np.zeros((size, max_clients), np.int32),
        stamp=np.full(len(plan.size), -1, np.int64),
    )
    return by_reference(pool)


@kernel(borrow=True, shared=True)
def store_touched(data, plan, work, pool):
    """Store the routes that the last iteration changed, in place."""
    iteration = plan.counts[DONE]
    for k in range(work.counts[TOUCHED]):
        slot = work.touched[k]
        if pool.stamp[slot] != iteration:
            pool.stamp[slot] = iteration
            _store(data, plan, pool, slot, iteration)


@kernel(borrow=True)
def store_all(data, plan, pool):
    """Store all routes of the current solution, in place."""
    for slot in range(len(plan.size)):
        _store(data, plan, pool, slot, plan.counts[DONE])


@kernel(inline=True, borrow=True)
def _store(data, plan, pool, slot, iteration):
    """Store a slot's route in one of the `_BUCKET` entries of its hash: that of the same clients, else an empty or the oldest."""
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
    first = np.int64(tag & np.uint64(len(pool.tag) - 1)) & ~(_BUCKET - 1)
    place: int | np.int64 = first
    for at in range(first, first + _BUCKET):
        if pool.tag[at] == tag:
            pool.last_iteration[at] = iteration
            if pool.cost[at] <= cost:
                return
            place = at
            break
        if pool.tag[at] == 0 or (pool.tag[place] != 0 and pool.last_iteration[at] < pool.last_iteration[place]):
            place = at
    pool.tag[place], pool.cost[place], pool.last_iteration[place] = tag, cost, iteration
    pool.kind[place], pool.length[place] = kind, size
    node = plan.next[depot]
    for position in range(size):
        pool.visits[place, position] = node
        node = plan.next[node]
