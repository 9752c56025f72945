"""Local search: moves between near clients, and SWAP* between routes whose polar sectors overlap, until none is an improvement.

Vidal (2022), section 4.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.genetic.moves import improve_pair
from corl.solvers.vrp.genetic.swap_star import improve_routes, sectors_overlap
from corl.solvers.vrp.genetic.tours import refresh

__all__ = ["improve"]


@kernel(borrow=True)
def improve(data, routes, population, mother, random):
    """Improve routes, in place, until no move is an improvement at the penalties `routes.penalty`.

    Args:
        data: GeneticData.
        routes: Routes.
        population: Population.
        mother: The place of a parent, -1 for none. Moves within and between routes that are equal to the parent's, which was
            improved already, are not tried.
        random: uint64 [1], the state of the random number generator.
    """
    _start(data, routes, random)
    if mother >= 0:
        _mark_intact(data, routes, population, mother)
    _try_moves(data, routes, True)
    improved = True
    while improved:
        while _try_moves(data, routes, False):
            pass
        improved = _try_swaps(data, routes)


@kernel(borrow=True)
def _start(data, routes, random):
    """Shuffle the order of clients, and compute the data of all routes."""
    routes.moves[0] = 1
    for i in range(len(routes.order) - 1, 0, -1):
        j = below(random, i + 1)
        routes.order[i], routes.order[j] = routes.order[j], routes.order[i]
    routes.free[0] = -1
    for slot in range(data.slots):
        refresh(data, routes, slot)
        routes.swaps_tested[slot] = 0
        for client in range(data.clients):
            routes.insert_time[slot, client] = -1
    for client in range(data.clients):
        routes.tested[client] = 0


@kernel(borrow=True)
def _mark_intact(data, routes, population, mother):
    """Mark the routes that are equal to a parent's as not changed, in place."""
    n = data.clients
    for slot in range(data.slots):
        node, intact = n + slot, True
        while intact:
            follower = routes.next[node]
            if follower >= n:
                intact = node >= n or population.next[mother, node] < 0
                break
            before = population.prev[mother, follower]
            intact = before < 0 if node >= n else before == node
            node = follower
        if intact:
            routes.changed[slot] = 0


@kernel(borrow=True)
def _try_moves(data, routes, first):
    """Try the moves of all clients whose routes, or their neighbours' routes, changed since the last time, in place.

    first: Whether all are tried, and no empty route is opened.

    Returns whether a move was made.
    """
    n, before = data.clients, routes.moves[0]
    for u in routes.order:
        last = routes.tested[u]
        routes.tested[u] = routes.moves[0]
        for k in range(data.near_start[u], data.near_start[u + 1]):
            v = data.near[k]
            if max(routes.changed[routes.route[u]], routes.changed[routes.route[v]]) <= last:
                continue
            if improve_pair(data, routes, u, v):
                continue
            depot = routes.prev[v]
            if depot >= n:
                improve_pair(data, routes, u, depot)
        if not first and routes.free[0] >= 0:
            improve_pair(data, routes, u, n + routes.free[0])
    return routes.moves[0] > before


@kernel(borrow=True)
def _try_swaps(data, routes):
    """Try SWAP* between all routes with overlapping sectors of which one changed since the last time, in place.

    Returns whether a move was made.
    """
    before = routes.moves[0]
    for a in range(data.slots):
        last = routes.swaps_tested[a]
        routes.swaps_tested[a] = routes.moves[0]
        if routes.size[a] == 0:
            continue
        for b in range(a + 1, data.slots):
            if routes.size[b] == 0 or max(routes.changed[a], routes.changed[b]) <= last:
                continue
            if routes.size[a] > 0 and sectors_overlap(routes, a, b):
                improve_routes(data, routes, a, b)
    return routes.moves[0] > before
