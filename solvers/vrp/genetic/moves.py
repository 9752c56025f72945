"""Moves of local search between a client u and a neighbour v: relocations, exchanges, 2-opt and exchanges of tails.

Vidal, Hybrid genetic search for the CVRP: Open-source implementation and SWAP* neighborhood, Computers & Operations Research 140
(2022), section 4; here all moves of a pair share the costs of their new legs, and the best of them is made.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.solvers.vrp.genetic.state import LENGTH, LOAD
from corl.solvers.vrp.genetic.tours import move_after, penalties, refresh, swap_nodes

__all__ = ["improve_pair"]

_RELOCATE, _RELOCATE_TWO, _RELOCATE_REVERSED, _SWAP, _SWAP_TWO_ONE, _SWAP_TWO, _TWO_OPT, _JOIN_HEADS, _TAILS = range(1, 10)


@kernel(inline=True, borrow=True)
def _priced(data, routes, a, b, change_a, change_b, load, service):
    """Return the change in cost and penalties if load and service move from route a to route b.

    change_a, change_b: The changes in the legs of the routes; for a == b their sum is that of the route.
    """
    change = change_a + change_b
    if a == b:
        if data.limited:
            change += penalties(data, routes, routes.load[a], routes.length[a] + change) - routes.excess[a]
        return change
    before = routes.excess[a] + routes.excess[b]
    if change >= before:
        return change
    change -= before
    change += routes.penalty[LOAD] * (
        max(0.0, routes.load[a] - load - data.capacity) + max(0.0, routes.load[b] + load - data.capacity)
    )
    if data.limited:
        change += routes.penalty[LENGTH] * (
            max(0.0, routes.length[a] + change_a - service - data.max_length)
            + max(0.0, routes.length[b] + change_b + service - data.max_length)
        )
    return change


@kernel(borrow=True)
def improve_pair(data, routes, u, v):
    """Make the best move between a client u and a node v (a client or a depot), in place, if it is an improvement.

    Returns whether a move was made.
    """
    n = data.clients
    a, b = routes.route[u], routes.route[v]
    p, x, o, y = routes.prev[u], routes.next[u], routes.prev[v], routes.next[v]
    leg_p, leg_u, leg_v = routes.leg[p], routes.leg[u], routes.leg[v]
    ru, rx, rv, ry, rp = u, min(x, n), min(v, n), min(y, n), min(p, n)
    distance, demand, service = data.distance, data.demand, data.service
    uv, uy, xy, xv = distance[ru, rv], distance[ru, ry], distance[rx, ry], distance[rx, rv]
    best, move = -data.tolerance, 0
    if u != y:
        change = _priced(data, routes, a, b, distance[rp, rx] - leg_p - leg_u, uv + uy - leg_v, demand[ru], service[ru])
        if change < best:
            best, move = change, _RELOCATE
        if x < n and x != v:
            xx = routes.next[x]
            loss = distance[rp, min(xx, n)] - leg_p - routes.leg[x] - leg_u
            load, time = demand[ru] + demand[rx], service[ru] + service[rx]
            change = _priced(data, routes, a, b, loss, uv + leg_u + xy - leg_v, load, time)
            if change < best:
                best, move = change, _RELOCATE_TWO
            change = _priced(data, routes, a, b, loss, xv + leg_u + uy - leg_v, load, time)
            if change < best:
                best, move = change, _RELOCATE_REVERSED
    if v < n:
        leg_o, ro = routes.leg[o], min(o, n)
        if u != o and u != y:
            pv, ou = distance[rp, rv], distance[ro, ru]
            if u < v:
                change = _priced(
                    data, routes, a, b, pv + xv - leg_p - leg_u, ou + uy - leg_o - leg_v,
                    demand[ru] - demand[rv], service[ru] - service[rv],
                )  # fmt: skip
                if change < best:
                    best, move = change, _SWAP
            if x < n and x != o:
                xx, leg_x = routes.next[x], routes.leg[x]
                rxx = min(xx, n)
                load, time = demand[ru] + demand[rx] - demand[rv], service[ru] + service[rx] - service[rv]
                if x != v:
                    change = _priced(
                        data, routes, a, b, pv + distance[rv, rxx] - leg_p - leg_u - leg_x, ou + leg_u + xy - leg_o - leg_v,
                        load, time,
                    )  # fmt: skip
                    if change < best:
                        best, move = change, _SWAP_TWO_ONE
                    if u < v and y < n and y != p and xx != v:
                        yy, leg_y = routes.next[y], routes.leg[y]
                        change = _priced(
                            data, routes, a, b, pv + leg_v + distance[ry, rxx] - leg_p - leg_u - leg_x,
                            ou + leg_u + distance[rx, min(yy, n)] - leg_o - leg_v - leg_y,
                            load - demand[ry], time - service[ry],
                        )  # fmt: skip
                        if change < best:
                            best, move = change, _SWAP_TWO
    change = uv + xy - leg_u - leg_v
    if a == b:
        if v < n and x != v and routes.place[u] < routes.place[v]:
            change = _priced(data, routes, a, a, change, 0.0, 0.0, 0.0)
            if change < best:
                best, move = change, _TWO_OPT
    else:
        before = routes.excess[a] + routes.excess[b]
        if change < before + best:
            change -= before
            load = routes.load_to[u] + routes.load_to[v]
            length = routes.length_to[u] + routes.length_to[v] + uv
            change += penalties(data, routes, load, length)
            change += penalties(
                data, routes, routes.load[a] + routes.load[b] - load,
                routes.length[a] + routes.length[b] - leg_u - leg_v - (length - uv) + xy,
            )  # fmt: skip
            if change < best:
                best, move = change, _JOIN_HEADS
        change = uy + xv - leg_u - leg_v - before
        if change < best:
            load = routes.load_to[u] + routes.load[b] - routes.load_to[v]
            length = routes.length_to[u] + uy + routes.length[b] - routes.length_to[v] - leg_v
            change += penalties(data, routes, load, length)
            change += penalties(
                data, routes, routes.load[a] + routes.load[b] - load,
                routes.length[a] + routes.length[b] - leg_u - leg_v + xv + uy - length,
            )  # fmt: skip
            if change < best:
                best, move = change, _TAILS
    if move == 0:
        return False
    _make(data, routes, u, v, move)
    return True


@kernel(borrow=True)
def _make(data, routes, u, v, move):
    """Make a move between u and v, in place."""
    a, b = routes.route[u], routes.route[v]
    x, y = routes.next[u], routes.next[v]
    if move == _RELOCATE:
        move_after(routes, u, v)
    elif move == _RELOCATE_TWO:
        move_after(routes, u, v)
        move_after(routes, x, u)
    elif move == _RELOCATE_REVERSED:
        move_after(routes, x, v)
        move_after(routes, u, x)
    elif move == _SWAP:
        swap_nodes(routes, u, v)
    elif move == _SWAP_TWO_ONE:
        swap_nodes(routes, u, v)
        move_after(routes, x, u)
    elif move == _SWAP_TWO:
        swap_nodes(routes, u, v)
        swap_nodes(routes, x, y)
    elif move == _TWO_OPT:
        _reverse(routes, u, y)
    elif move == _JOIN_HEADS:
        _join_heads(data, routes, u, v)
    else:
        _exchange_tails(data, routes, u, v)
    routes.moves[0] += 1
    refresh(data, routes, a)
    if b != a:
        refresh(data, routes, b)


@kernel(borrow=True)
def _reverse(routes, u, y):
    """Reverse the part of a route strictly between the nodes u and y, in place."""
    node, follower = routes.next[u], y
    last = node
    while node != y:
        after = routes.next[node]
        routes.next[node], routes.prev[follower] = follower, node
        follower, node = node, after
    routes.next[u], routes.prev[follower] = follower, u
    routes.prev[y] = last


@kernel(borrow=True)
def _join_heads(data, routes, u, v):
    """Join the part of u's route up to u with that of v's up to v, reversed, and the remaining parts likewise, in place."""
    n = data.clients
    depot, other = n + routes.route[u], n + routes.route[v]
    x, y = routes.next[u], routes.next[v]
    last, node = u, v
    while node < n:  # v ... first client of its route
        before = routes.prev[node]
        routes.next[last], routes.prev[node] = node, last
        last, node = node, before
    end = routes.prev[depot]  # before it is overwritten: the last client of u's route, or u
    routes.next[last], routes.prev[depot] = depot, last
    last, node = other, end if x < n else -1
    if node >= 0:
        while True:
            before = routes.prev[node]
            routes.next[last], routes.prev[node] = node, last
            last = node
            if node == x:
                break
            node = before
    routes.next[last], routes.prev[y] = y, last


@kernel(borrow=True)
def _exchange_tails(data, routes, u, v):
    """Exchange the part of u's route after u with that of v's route after v, in place."""
    n = data.clients
    depot, other = n + routes.route[u], n + routes.route[v]
    x, y, end, other_end = routes.next[u], routes.next[v], routes.prev[depot], routes.prev[other]
    if y < n:
        routes.next[u], routes.prev[y] = y, u
        routes.next[other_end], routes.prev[depot] = depot, other_end
    else:
        routes.next[u], routes.prev[depot] = depot, u
    if x < n:
        routes.next[v], routes.prev[x] = x, v
        routes.next[end], routes.prev[other] = other, end
    else:
        routes.next[v], routes.prev[other] = other, v
