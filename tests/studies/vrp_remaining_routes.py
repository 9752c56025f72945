"""A linear relaxation of what remains of a routing problem with capacities alone, as features for networks.

What remains is the rest of the route under way and routes that serve the other clients. Routes are relaxed to q-routes, which may
visit a client twice but not with one other client between the visits, as N. Christofides, A. Mingozzi and P. Toth have them
(Mathematical Programming 20, 1981). Prices of clients come from their dual ascent: each client pays, in proportion to its demand,
for the cheapest of all routes through it, and penalties are moved by the subgradient until every client is visited once. The mean
of the routes on the way is nearly a solution of the linear program behind it (Barahona & Anbil's volume algorithm, Mathematical
Programming 87, 2000). In the search for routes a client comes next to one of its nearest remaining clients.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["NEAREST", "Relaxation", "new_relaxation", "relax"]

NEAREST = 16
"""How many of the nearest remaining clients a client may come next to."""
_FAR = 1e300
_NONE = 0.5e300  # costs above this are those of no route
_MOMENTUM = 0.3  # of the subgradient before (Volgenant & Jonker, EJOR 9, 1982)


class Relaxation(NamedTuple):
    """Work space and result for M clients (the first m are taken), loads of 0..B units, and S slots that a network sees."""

    weight: NDArray[np.int64]
    """[M] the demand of a client in units of load, at least 1."""
    home: NDArray[np.float64]
    """[M] the distance to the depot."""
    away: NDArray[np.float64]
    """[M] the distance from where the vehicle under way is."""
    near: NDArray[np.int64]
    """[M, NEAREST] the nearest other clients."""
    apart: NDArray[np.float64]
    """[M, NEAREST] the distances to them."""
    count: NDArray[np.int64]
    """[M] how many they are."""
    slot: NDArray[np.int64]
    """[M + 2] the slot of a client, then of the depot and of the place of the vehicle; -1 without one."""
    penalty: NDArray[np.float64]
    """[M] the Lagrange multiplier of a client; in: where the ascent begins."""
    price: NDArray[np.float64]
    """[M] what a client pays at the end: no q-route costs less than its clients pay."""
    best: NDArray[np.float64]
    """[B + 1, M] the reduced cost of the cheapest way with a load from a client to the depot; above 1e299 if there is none."""
    second: NDArray[np.float64]
    """[B + 1, M] the same with another next client than the cheapest has."""
    after: NDArray[np.int64]
    """[2, B + 1, M] the next client on both; -1 for the depot."""
    halves: NDArray[np.int64]
    """[M, 4] the cheapest route through a client: loads of both halves, and whether each is by `second`."""
    over: NDArray[np.float64]
    """[M] how often a client was not visited, less 1 if it was visited twice, in the step before."""
    visits: NDArray[np.float64]
    """[M] how often the routes of a step visit a client."""
    under_way: NDArray[np.float64]
    """[M] how often the vehicle under way does; at the end the mean of the steps."""
    mean: NDArray[np.float64]
    """[M] the sum of `under_way` meanwhile."""
    route: NDArray[np.int64]
    """[B + 1] the clients of half a route."""
    share: NDArray[np.float64]
    """[S, S] how often the mean of the steps goes from slot to slot, in either direction."""
    onward: NDArray[np.float64]
    """[M, 2] the least reduced cost of the rest of the route under way by each client next, and of a new route that begins
    (or ends) there; above 1e299 if there is none."""


@kernel
def new_relaxation(clients: Any, units: Any, slots: Any) -> Any:
    """Memory for so many clients, units of load and slots."""
    each, loads, after = np.empty(clients), np.empty((units + 1, clients)), np.empty((2, units + 1, clients), np.int64)
    near = np.empty((clients, NEAREST), np.int64)
    return Relaxation(
        np.empty(clients, np.int64), each.copy(), each.copy(), near, np.empty((clients, NEAREST)), np.empty(clients, np.int64),
        np.empty(clients + 2, np.int64), each.copy(), each.copy(), loads, loads.copy(), after,
        np.empty((clients, 4), np.int64), each.copy(), each.copy(), each.copy(), each, np.empty(units + 1, np.int64),
        np.empty((slots, slots)), np.empty((clients, 2)),
    )  # fmt: skip


@kernel
def relax(work: Any, m: Any, room: Any, back: Any, steps: Any, first: Any) -> Any:
    """`steps` steps of the ascent; returns a lower bound on the cost of what remains (of routes that keep to `near`), and that of
    the route under way at these prices.

    room: the units of load that the vehicle under way may still take, -1 if there is none. back: its distance to the depot.
    first: the length of the first step, in units of distance; it falls to 0.
    """
    units, total = 0, 0.0
    for i in range(m):
        units += work.weight[i]
    units = min(units, len(work.best) - 1)
    work.share[:] = 0.0
    work.over[:m] = 0.0
    work.mean[:m] = 0.0
    for step in range(steps):
        _ways(work, m, units, work.penalty)
        _pay(work, m, units)
        length = first * (1.0 - step / steps)
        weight = length if 4 * step >= steps else 0.0  # the first steps know little
        total += weight
        _go_on(work, m, units, room, back, weight)
        _serve(work, m, weight)
        for i in range(m):
            missing = 1.0 - work.visits[i]
            work.penalty[i] += length * ((1.0 - _MOMENTUM) * missing + _MOMENTUM * work.over[i])
            work.over[i] = missing
    _ways(work, m, units, work.penalty)
    _pay(work, m, units)
    _ways(work, m, units, work.price)
    for i in range(m):
        work.under_way[i] = work.mean[i] / max(total, 1e-300)
    for i in range(len(work.share)):
        for j in range(i + 1):
            both = (work.share[i, j] + work.share[j, i]) / max(total, 1e-300)
            work.share[i, j] = work.share[j, i] = both if i != j else 0.0
    rest = _onward(work, m, units, room, back)
    bound = rest
    for i in range(m):
        bound += work.price[i]
    return bound, rest


@kernel
def _ways(work: Any, m: Any, units: Any, price: Any) -> None:
    """The cheapest ways from clients to the depot, by load: best, second, after. A way never turns back at once."""
    best, second, after, other = work.best, work.second, work.after[0], work.after[1]
    for load in range(units + 1):
        for i in range(m):
            a = b = _FAR
            p = q = -2
            rest = load - work.weight[i]
            if rest == 0:
                a, p = work.home[i], -1
            elif rest > 0:
                for k in range(work.count[i]):
                    j = work.near[i, k]
                    cost = (best[rest, j] if after[rest, j] != i else second[rest, j]) + work.apart[i, k]
                    if cost < a:
                        b, q = a, p
                        a, p = cost, j
                    elif cost < b:
                        b, q = cost, j
            best[load, i] = a - price[i] if a < _NONE else _FAR
            second[load, i] = b - price[i] if b < _NONE else _FAR
            after[load, i], other[load, i] = p, q


@kernel
def _pay(work: Any, m: Any, units: Any) -> None:
    """The cheapest route through each client, of two ways from it, for the load that it serves; and the prices that follow."""
    best, second, after = np.empty(units + 1), np.empty(units + 1), np.empty(units + 1, np.int64)
    for i in range(m):
        least, weight, penalty, halves = _FAR, work.weight[i], work.penalty[i], work.halves[i]
        for load in range(units + 1):
            best[load], second[load], after[load] = work.best[load, i], work.second[load, i], work.after[0, load, i]
        halves[0] = halves[1] = weight
        halves[2] = halves[3] = 0
        for one in range(weight, units + 1):
            if best[one] > _NONE:
                continue
            for two in range(weight, min(one, units - one + weight) + 1):
                load = one + two - weight
                cost, first, last = best[one] + best[two] + penalty, 0, 0
                if cost >= least * load:
                    continue
                if after[one] == after[two] and after[one] >= 0:
                    if second[one] + best[two] <= best[one] + second[two]:
                        cost, first = second[one] + best[two] + penalty, 1
                    else:
                        cost, last = best[one] + second[two] + penalty, 1
                    if cost >= least * load:
                        continue
                if cost < _NONE:
                    least = cost / load
                    halves[0], halves[1], halves[2], halves[3] = one, two, first, last
        work.price[i] = penalty + weight * least


@kernel
def _walk(work: Any, load: Any, client: Any, second: Any) -> Any:
    """Fill `route` with the clients of a way from a client to the depot; how many they are."""
    count = 0
    while True:
        work.route[count] = client
        count += 1
        ahead = work.after[second, load, client]
        if ahead < 0:
            return count
        load -= work.weight[client]
        second = 1 if work.after[0, load, ahead] == client else 0
        client = ahead


@kernel
def _mark(work: Any, count: Any, m: Any, weight: Any) -> None:
    """Add the edges of a way, the one to the depot among them, to the shares."""
    for k in range(count):
        a = work.slot[work.route[k]]
        b = work.slot[work.route[k + 1] if k + 1 < count else m]
        if a >= 0 and b >= 0:
            work.share[a, b] += weight


@kernel
def _go_on(work: Any, m: Any, most: Any, room: Any, back: Any, weight: Any) -> None:
    """The cheapest rest of the route under way, into `under_way`."""
    work.under_way[:m] = 0.0
    if room < 0:
        return
    least, client, load = back, -1, 0
    for units in range(min(room, most) + 1):
        for i in range(m):
            cost = work.away[i] + work.best[units, i]
            if cost < least:
                least, client, load = cost, i, units
    here = work.slot[m + 1]
    if client < 0:
        work.share[here, work.slot[m]] += weight
        return
    count = _walk(work, load, client, 0)
    for k in range(count):
        work.under_way[work.route[k]] += 1.0
        work.mean[work.route[k]] += weight
    if work.slot[client] >= 0:
        work.share[here, work.slot[client]] += weight
    _mark(work, count, m, weight)


@kernel
def _serve(work: Any, m: Any, weight: Any) -> None:
    """The cheapest routes through the clients that the vehicle under way leaves, as often as they pay for one, into `visits`."""
    work.visits[:m] = work.under_way[:m]
    for i in range(m):
        halves = work.halves[i]
        often = (1.0 - work.under_way[i]) * work.weight[i] / max(1, halves[0] + halves[1] - work.weight[i])
        if often <= 0.0:
            continue
        for side in range(2):
            count = _walk(work, halves[side], i, halves[2 + side])
            for k in range(side, count):  # the client itself once
                work.visits[work.route[k]] += often
            if weight > 0.0:
                _mark(work, count, m, often * weight)


@kernel
def _onward(work: Any, m: Any, units: Any, room: Any, back: Any) -> Any:
    """Fill `onward` at the present ways; the least cost of the rest of the route under way, 0 if there is none."""
    rest = back if room >= 0 else 0.0
    for i in range(m):
        here = new = _FAR
        for load in range(units + 1):
            new = min(new, work.best[load, i])
            if load <= room:
                here = min(here, work.best[load, i])
        work.onward[i, 0] = work.away[i] + here if here < _NONE else _FAR
        work.onward[i, 1] = work.home[i] + new if new < _NONE else _FAR
        if room >= 0:
            rest = min(rest, work.onward[i, 0])
    return rest
