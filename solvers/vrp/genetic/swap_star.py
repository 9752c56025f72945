"""SWAP*: an exchange of two clients of different routes, each of which is inserted where it is cheapest.

Vidal (2022), section 4.2. The best place for a client is one of its three cheapest in the other route, or that of the client
which leaves this route.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.solvers.vrp.genetic.state import BEST, LENGTH, LOAD, TURN
from corl.solvers.vrp.genetic.tours import leg_between, move_after, penalties, refresh

__all__ = ["improve_routes", "sectors_overlap"]


@kernel(inline=True, borrow=True)
def sectors_overlap(routes, a, b):
    """Return whether the polar sectors of two routes overlap."""
    first, last, other_first, other_last = routes.sector[a, 0], routes.sector[a, 1], routes.sector[b, 0], routes.sector[b, 1]
    after = (other_first - first) & (TURN - 1) <= (last - first) & (TURN - 1)
    return after or (first - other_first) & (TURN - 1) <= (other_last - other_first) & (TURN - 1)


@kernel(borrow=True)
def _find_insertions(data, routes, a, b):
    """Compute the cheapest insertions of the clients of route a into route b, and the gains of their removal, in place."""
    n = data.clients
    depot = n + b
    u = routes.next[n + a]
    while u < n:
        p, x = routes.prev[u], routes.next[u]
        routes.removal[u] = leg_between(data, p, x) - routes.leg[p] - routes.leg[u]
        if routes.changed[b] > routes.insert_time[b, u]:
            routes.insert_time[b, u] = routes.moves[0]
            for k in range(BEST):
                routes.insert_cost[b, u, k], routes.insert_after[b, u, k] = math.inf, -1
            node, at_node = depot, data.distance[n, u]
            while True:
                follower = routes.next[node]
                at_follower = data.distance[min(follower, n), u]
                cost = at_node + at_follower - routes.leg[node]
                if cost < routes.insert_cost[b, u, BEST - 1]:
                    k = BEST - 1
                    while k > 0 and routes.insert_cost[b, u, k - 1] > cost:
                        routes.insert_cost[b, u, k] = routes.insert_cost[b, u, k - 1]
                        routes.insert_after[b, u, k] = routes.insert_after[b, u, k - 1]
                        k -= 1
                    routes.insert_cost[b, u, k], routes.insert_after[b, u, k] = cost, node
                node, at_node = follower, at_follower
                if node >= n:
                    break
        u = x


@kernel(inline=True, borrow=True)
def _cheapest(data, routes, u, v, b):
    """Return the least cost of inserting u into route b without its client v, and the node after which u is inserted.

    If u takes the place of v, this node is the predecessor of v.
    """
    o, y = routes.prev[v], routes.next[v]
    cost, after = leg_between(data, o, u) + leg_between(data, u, y) - leg_between(data, o, y), o
    for k in range(BEST):
        at = routes.insert_after[b, u, k]
        if at < 0 or routes.insert_cost[b, u, k] >= cost:
            break
        if at != v and routes.next[at] != v:
            return routes.insert_cost[b, u, k], at
    return cost, after


@kernel(borrow=True)
def improve_routes(data, routes, a, b):
    """Make the best exchange or relocation between the routes of slots a and b, in place, if it is an improvement.

    Returns whether a move was made.
    """
    n = data.clients
    _find_insertions(data, routes, a, b)
    _find_insertions(data, routes, b, a)
    best, best_u, best_v, best_after_u, best_after_v = -data.tolerance, -1, -1, -1, -1
    load_a, load_b, excess = routes.load[a], routes.load[b], routes.excess[a] + routes.excess[b]
    load_penalty, capacity = routes.penalty[LOAD], data.capacity
    u = routes.next[n + a]
    while u < n:
        v = routes.next[n + b]
        while v < n:
            shift = data.demand[v] - data.demand[u]
            change = load_penalty * (max(0.0, load_a + shift - capacity) + max(0.0, load_b - shift - capacity)) - excess
            change += routes.removal[u] + routes.removal[v]
            if change < best:
                cost_u, after_u = _cheapest(data, routes, u, v, b)
                if change + cost_u < best:
                    cost_v, after_v = _cheapest(data, routes, v, u, a)
                    change += cost_u + cost_v
                    if data.limited and change < best:
                        change += _length_penalty(data, routes, u, v, a, b, cost_u, cost_v)
                    if change < best:
                        best, best_u, best_v, best_after_u, best_after_v = change, u, v, after_u, after_v
            v = routes.next[v]
        u = routes.next[u]
    for slot, other in ((a, b), (b, a)):
        u = routes.next[n + slot]
        while u < n:
            change = routes.removal[u] + routes.insert_cost[other, u, 0] - excess
            if change < best:
                gain, cost = routes.removal[u] - data.service[u], routes.insert_cost[other, u, 0] + data.service[u]
                change += penalties(data, routes, routes.load[slot] - data.demand[u], routes.length[slot] + gain)
                change += penalties(data, routes, routes.load[other] + data.demand[u], routes.length[other] + cost)
                if change < best:
                    best, best_u, best_v, best_after_u, best_after_v = change, u, -1, routes.insert_after[other, u, 0], -1
            u = routes.next[u]
    if best_u < 0:
        return False
    move_after(routes, best_u, best_after_u)
    if best_v >= 0:
        move_after(routes, best_v, best_after_v)
    routes.moves[0] += 1
    refresh(data, routes, a)
    refresh(data, routes, b)
    return True


@kernel(borrow=True)
def _length_penalty(data, routes, u, v, a, b, cost_u, cost_v):
    """Return the penalties of excess length of both routes if u moves to route b and v to route a at these costs."""
    moved = data.service[u] - data.service[v]
    length_a = routes.length[a] + routes.removal[u] + cost_v - moved
    length_b = routes.length[b] + routes.removal[v] + cost_u + moved
    return routes.penalty[LENGTH] * (max(0.0, length_a - data.max_length) + max(0.0, length_b - data.max_length))
