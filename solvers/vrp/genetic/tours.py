"""Kernels on the routes of local search: links, loads and lengths along a route, penalties.

A slot is a place for one route (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.solvers.vrp.genetic.state import LENGTH, LOAD, TURN

__all__ = ["leg_between", "move_after", "penalties", "refresh", "swap_nodes"]


@kernel(inline=True, borrow=True)
def leg_between(data, i, j):
    """Return the cost of the leg from node i to node j."""
    return data.distance[min(i, data.clients), min(j, data.clients)]


@kernel(inline=True, borrow=True)
def penalties(data, routes, load, length):
    """Return the penalties of a route with this load and length."""
    cost = routes.penalty[LOAD] * max(0.0, load - data.capacity)
    if data.limited:
        cost += routes.penalty[LENGTH] * max(0.0, length - data.max_length)
    return cost


@kernel(inline=True, borrow=True)
def move_after(routes, node, after):
    """Move a client behind another node, in place; loads and lengths are not updated."""
    before, follower = routes.prev[node], routes.next[node]
    routes.next[before], routes.prev[follower] = follower, before
    follower = routes.next[after]
    routes.next[after], routes.prev[node] = node, after
    routes.next[node], routes.prev[follower] = follower, node


@kernel(inline=True, borrow=True)
def swap_nodes(routes, u, v):
    """Exchange two clients that are not adjacent, in place; loads and lengths are not updated."""
    before, follower, other_before, other_follower = routes.prev[u], routes.next[u], routes.prev[v], routes.next[v]
    routes.next[before], routes.prev[follower] = v, v
    routes.next[other_before], routes.prev[other_follower] = u, u
    routes.prev[u], routes.next[u] = other_before, other_follower
    routes.prev[v], routes.next[v] = before, follower


@kernel(borrow=True)
def refresh(data, routes, slot):
    """Compute what depends on the order of visits of a route, in place."""
    n = data.clients
    depot = n + slot
    load, length, count, node, row = 0.0, 0.0, 0, depot, n
    first, last = 0, 0
    while True:
        follower = routes.next[node]
        column = min(follower, n)
        leg = data.distance[row, column]
        routes.leg[node] = leg
        length += leg
        node, row = follower, column
        if node >= n:
            break
        count += 1
        load += data.demand[node]
        length += data.service[node]
        routes.route[node], routes.place[node] = slot, count
        routes.load_to[node], routes.length_to[node] = load, length
        angle = data.angle[node]
        if count == 1:
            first, last = angle, angle
        elif (angle - first) & (TURN - 1) > (last - first) & (TURN - 1):
            if (angle - last) & (TURN - 1) <= (first - angle) & (TURN - 1):
                last = angle
            else:
                first = angle
    routes.load[slot], routes.length[slot], routes.size[slot] = load, length, count
    routes.excess[slot] = penalties(data, routes, load, length)
    routes.sector[slot, 0], routes.sector[slot, 1] = first, last
    routes.changed[slot] = routes.moves[0]
    if count == 0:
        routes.free[0] = slot
    elif routes.free[0] == slot:
        routes.free[0] = -1
        for other in range(data.slots):
            if routes.size[other] == 0:
                routes.free[0] = other
                break
