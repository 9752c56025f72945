"""A linear relaxation of the remaining clients of a partial solution whose only limits are capacities.

The rest of the current route, and routes that serve the other clients, are relaxed to q-routes: they may visit a client twice,
but not with exactly one other client between the visits (N. Christofides, A. Mingozzi and P. Toth, Mathematical Programming 20,
1981). A dual ascent of the same paper computes the prices of the clients: each client pays, in proportion to its demand, for the
cheapest route through it, and the penalties follow the subgradient towards one visit of each client. The mean of the routes over
the steps approximates a solution of the linear program (the volume algorithm of Barahona and Anbil, Mathematical Programming 87,
2000). A client's neighbours on a route are among its nearest unvisited clients.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["NEAREST", "NO_ROUTE", "Relaxation", "new_relaxation", "relax"]

NEAREST = 16
"""The number of nearest unvisited clients that can be a client's neighbours on a route."""
NO_ROUTE = 0.5e300
"""A cost above this means that there is no such route."""
_INFINITE = 1e300
_MOMENTUM = 0.3  # weight of the previous subgradient (Volgenant and Jonker, EJOR 9, 1982)
_IGNORED_SHARE = 0.25  # of the steps, at the start, whose routes are not part of the mean


class Relaxation(NamedTuple):
    """Work arrays and results for up to M clients (the first m are used), loads of 0..B units and S slots of an observation."""

    weight: NDArray[np.int64]
    """[M] the demand of a client in units of load, at least 1."""
    home: NDArray[np.float64]
    """[M] the distance to the depot."""
    away: NDArray[np.float64]
    """[M] the distance from the position of the current vehicle."""
    near: NDArray[np.int64]
    """[M, NEAREST] the nearest other clients."""
    near_distance: NDArray[np.float64]
    """[M, NEAREST] the distances to them."""
    near_count: NDArray[np.int64]
    """[M] the number of them."""
    slot: NDArray[np.int64]
    """[M + 2] the slot of each client, of the depot (at m) and of the position of the current vehicle (at m + 1); -1: none."""
    penalty: NDArray[np.float64]
    """[M] the Lagrange multiplier of a client; at first that from which the ascent begins."""
    price: NDArray[np.float64]
    """[M] the final price of a client: no q-route costs less than the sum of its clients' prices."""
    best: NDArray[np.float64]
    """[B + 1, M] the least reduced cost of a way with this load from a client to the depot; above NO_ROUTE if there is none."""
    second: NDArray[np.float64]
    """[B + 1, M] the same for the cheapest way with another next client."""
    following: NDArray[np.int64]
    """[2, B + 1, M] the next client of both ways; -1 is the depot."""
    halves: NDArray[np.int64]
    """[M, 4] the cheapest route through a client, as two ways from it: their loads, and whether each is a `second` one."""
    missing: NDArray[np.float64]
    """[M] 1 minus the number of visits of a client in the previous step."""
    visits: NDArray[np.float64]
    """[M] the number of visits of a client by the routes of a step."""
    current: NDArray[np.float64]
    """[M] the number of visits by the current vehicle; at the end the mean over the steps."""
    current_sum: NDArray[np.float64]
    """[M] the weighted sum of `current` over the steps."""
    route: NDArray[np.int64]
    """[B + 1] the clients of a way."""
    share: NDArray[np.float64]
    """[S, S] how often routes lead from one slot to another, in either direction, in the mean over the steps."""
    onward: NDArray[np.float64]
    """[M, 2] the least reduced cost of the rest of the current route if it continues at a client, and of a new route that begins
    there; above NO_ROUTE if there is none."""


@kernel
def new_relaxation(clients: Any, units: Any, slots: Any) -> Any:
    """Return a Relaxation for `clients` clients, `units` units of load and `slots` slots; its arrays are not initialised."""
    each, loads = np.empty(clients), np.empty((units + 1, clients))
    near, following = np.empty((clients, NEAREST), np.int64), np.empty((2, units + 1, clients), np.int64)
    return Relaxation(
        np.empty(clients, np.int64), each.copy(), each.copy(), near, np.empty((clients, NEAREST)), np.empty(clients, np.int64),
        np.empty(clients + 2, np.int64), each.copy(), each.copy(), loads, loads.copy(), following,
        np.empty((clients, 4), np.int64), each.copy(), each.copy(), each.copy(), each, np.empty(units + 1, np.int64),
        np.empty((slots, slots)), np.empty((clients, 2)),
    )  # fmt: skip


@kernel
def relax(work: Any, m: Any, room: Any, back: Any, steps: Any, first_length: Any) -> Any:
    """Make steps of the dual ascent, in `work`.

    Args:
        work: Relaxation.
        m: The number of clients.
        room: The units of load that the current vehicle can still take; -1 if there is no current vehicle.
        back: The distance of the current vehicle from the depot.
        steps: The number of steps.
        first_length: The length of the first step, a distance; the lengths decrease to 0.

    Returns:
        A lower bound on the cost of the rest (among routes whose neighbours are in `near`), and the reduced cost of the rest of
        the current route at the final prices.
    """
    units, total_weight = 0, 0.0
    for i in range(m):
        units += work.weight[i]
    units = min(units, len(work.best) - 1)
    work.share[:] = 0.0
    work.missing[:m] = 0.0
    work.current_sum[:m] = 0.0
    for step in range(steps):
        _find_ways(work, m, units, work.penalty)
        _set_prices(work, m, units)
        length = first_length * (1.0 - step / steps)
        weight = length if step >= _IGNORED_SHARE * steps else 0.0
        total_weight += weight
        _continue_route(work, m, units, room, back, weight)
        _serve_others(work, m, weight)
        for i in range(m):
            missing = 1.0 - work.visits[i]
            work.penalty[i] += length * ((1.0 - _MOMENTUM) * missing + _MOMENTUM * work.missing[i])
            work.missing[i] = missing
    _find_ways(work, m, units, work.penalty)
    _set_prices(work, m, units)
    _find_ways(work, m, units, work.price)
    _average(work, m, total_weight)
    rest = _find_onward(work, m, units, room, back)
    bound = rest
    for i in range(m):
        bound += work.price[i]
    return bound, rest


@kernel
def _average(work: Any, m: Any, total_weight: Any) -> None:
    """Divide the sums over the steps by the total weight: `current`, and `share`, in which both directions are added."""
    for i in range(m):
        work.current[i] = work.current_sum[i] / max(total_weight, 1e-300)
    for i in range(len(work.share)):
        for j in range(i + 1):
            both = (work.share[i, j] + work.share[j, i]) / max(total_weight, 1e-300)
            work.share[i, j] = work.share[j, i] = both if i != j else 0.0


@kernel
def _find_ways(work: Any, m: Any, units: Any, price: Any) -> None:
    """Write the cheapest ways from each client to the depot by load, at given prices, to `best`, `second` and `following`.

    No way returns to a client after exactly one other client.
    """
    best, second, next_best, next_second = work.best, work.second, work.following[0], work.following[1]
    for load in range(units + 1):
        for i in range(m):
            a = b = _INFINITE
            p = q = -2
            rest = load - work.weight[i]
            if rest == 0:
                a, p = work.home[i], -1
            elif rest > 0:
                for k in range(work.near_count[i]):
                    j = work.near[i, k]
                    cost = (best[rest, j] if next_best[rest, j] != i else second[rest, j]) + work.near_distance[i, k]
                    if cost < a:
                        b, q = a, p
                        a, p = cost, j
                    elif cost < b:
                        b, q = cost, j
            best[load, i] = a - price[i] if a < NO_ROUTE else _INFINITE
            second[load, i] = b - price[i] if b < NO_ROUTE else _INFINITE
            next_best[load, i], next_second[load, i] = p, q


@kernel
def _set_prices(work: Any, m: Any, units: Any) -> None:
    """Find the route through each client that is cheapest for its load, composed of two ways, and set the prices accordingly."""
    best, second, following = np.empty(units + 1), np.empty(units + 1), np.empty(units + 1, np.int64)
    for i in range(m):
        least, weight, penalty, halves = _INFINITE, work.weight[i], work.penalty[i], work.halves[i]
        for load in range(units + 1):
            best[load], second[load], following[load] = work.best[load, i], work.second[load, i], work.following[0, load, i]
        halves[0] = halves[1] = weight
        halves[2] = halves[3] = 0
        for one in range(weight, units + 1):
            if best[one] > NO_ROUTE:
                continue
            for two in range(weight, min(one, units - one + weight) + 1):
                load = one + two - weight
                cost, first, last = best[one] + best[two] + penalty, 0, 0
                if cost >= least * load:
                    continue
                if following[one] == following[two] and following[one] >= 0:
                    if second[one] + best[two] <= best[one] + second[two]:
                        cost, first = second[one] + best[two] + penalty, 1
                    else:
                        cost, last = best[one] + second[two] + penalty, 1
                    if cost >= least * load:
                        continue
                if cost < NO_ROUTE:
                    least = cost / load
                    halves[0], halves[1], halves[2], halves[3] = one, two, first, last
        work.price[i] = penalty + weight * least


@kernel
def _trace(work: Any, load: Any, client: Any, second: Any) -> Any:
    """Write the clients of a way from a client to the depot to `route`; return their number."""
    count = 0
    while True:
        work.route[count] = client
        count += 1
        ahead = work.following[second, load, client]
        if ahead < 0:
            return count
        load -= work.weight[client]
        second = 1 if work.following[0, load, ahead] == client else 0
        client = ahead


@kernel
def _add_edges(work: Any, count: Any, m: Any, weight: Any) -> None:
    """Add the edges of the way in `route`, including that to the depot, to `share`."""
    for k in range(count):
        a = work.slot[work.route[k]]
        b = work.slot[work.route[k + 1] if k + 1 < count else m]
        if a >= 0 and b >= 0:
            work.share[a, b] += weight


@kernel
def _continue_route(work: Any, m: Any, units: Any, room: Any, back: Any, weight: Any) -> None:
    """Find the cheapest rest of the current route and write it to `current`; add it to the sums with a weight."""
    work.current[:m] = 0.0
    if room < 0:
        return
    least, client, load = back, -1, 0
    for each in range(min(room, units) + 1):
        for i in range(m):
            cost = work.away[i] + work.best[each, i]
            if cost < least:
                least, client, load = cost, i, each
    here = work.slot[m + 1]
    if client < 0:
        work.share[here, work.slot[m]] += weight
        return
    count = _trace(work, load, client, 0)
    for k in range(count):
        work.current[work.route[k]] += 1.0
        work.current_sum[work.route[k]] += weight
    if work.slot[client] >= 0:
        work.share[here, work.slot[client]] += weight
    _add_edges(work, count, m, weight)


@kernel
def _serve_others(work: Any, m: Any, weight: Any) -> None:
    """Write to `visits` the visits by the current vehicle and by the cheapest routes through the clients.

    The route through a client that the current vehicle does not visit counts as often as the client pays for it.
    """
    work.visits[:m] = work.current[:m]
    for i in range(m):
        halves = work.halves[i]
        often = (1.0 - work.current[i]) * work.weight[i] / max(1, halves[0] + halves[1] - work.weight[i])
        if often <= 0.0:
            continue
        for side in range(2):
            count = _trace(work, halves[side], i, halves[2 + side])
            for k in range(side, count):  # the client itself counts only once
                work.visits[work.route[k]] += often
            if weight > 0.0:
                _add_edges(work, count, m, often * weight)


@kernel
def _find_onward(work: Any, m: Any, units: Any, room: Any, back: Any) -> Any:
    """Write `onward` from the ways in `work`; return the least cost of the rest of the current route, 0 if there is none."""
    rest = back if room >= 0 else 0.0
    for i in range(m):
        here = new = _INFINITE
        for load in range(units + 1):
            new = min(new, work.best[load, i])
            if load <= room:
                here = min(here, work.best[load, i])
        work.onward[i, 0] = work.away[i] + here if here < NO_ROUTE else _INFINITE
        work.onward[i, 1] = work.home[i] + new if new < NO_ROUTE else _INFINITE
        if room >= 0:
            rest = min(rest, work.onward[i, 0])
    return rest
