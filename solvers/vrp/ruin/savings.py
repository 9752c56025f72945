"""A first plan by savings, where there are capacities alone: Clarke & Wright, Scheduling of Vehicles from a Central Depot to a
Number of Delivery Points, Operations Research 12 (1964). Only neighbours' pairs are looked at, so that it takes O(n K log(n K)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.savings import merge_routes
from corl.problems.vrp.instance import VrpInstance
from corl.solvers.vrp.ruin.routes import distance
from corl.solvers.vrp.ruin.state import RoutingData

__all__ = ["applies", "savings_plan"]


def applies(instance: VrpInstance, data: RoutingData) -> bool:
    """Whether there are capacities alone: one depot, one type of vehicle in any number, no windows, lengths or prizes."""
    vehicles = instance.vehicles
    alike = vehicles.types == 1 and int(vehicles.count[0]) < 0
    alike &= data.symmetric and data.rules is None
    return alike and not (data.timed or data.limited or data.prizes) and instance.clients > 1


def savings_plan(instance: VrpInstance, data: RoutingData) -> NDArray[np.int32]:
    """int32 [n]: before each client its client, or n + r for the first of route r (see `construction.restore`)."""
    pairs, gains = _savings(data, data.close)
    kept = np.flatnonzero(gains > 0.0)
    order = kept[np.argsort(-gains[kept], kind="stable")]
    return _merge(data, pairs[order], gains[order], float(instance.vehicles.capacity[0]))


@kernel
def _savings(data: RoutingData, close: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """int32 [m, 2] pairs of neighbours i < j or known to one side only, and float64 [m], what serving them together saves."""
    n = data.clients
    pairs, gains = np.empty((n * close, 2), np.int32), np.empty(n * close)
    home = np.empty(n)
    for i in range(n):
        home[i] = distance(data, n, i)
    fixed, at = data.fixed[0] / data.unit[0], 0
    for i in range(n):
        for a in range(close):
            j = data.near[i, a]
            pairs[at, 0], pairs[at, 1] = i, j
            gains[at] = home[i] + home[j] - data.apart[i, a] + fixed
            at += 1
    return pairs, gains


@kernel
def _merge(data: RoutingData, pairs: NDArray[np.int32], gains: NDArray[np.float64], capacity: float) -> NDArray[np.int32]:
    """Join routes end to end, pair by pair in the given order, as long as the load fits; see `savings_plan`."""
    n = data.clients
    link = np.full((n, 2), -1, np.int32)  # neighbours in the route; an end has a -1
    degree, far = np.zeros(n, np.int32), np.arange(n).astype(np.int32)
    merge_routes(pairs, gains, len(pairs), capacity, link, degree, far, data.demand.copy(), 0.0)
    before, routes = np.full(n, -1, np.int32), 0
    for end in range(n):
        if before[end] < 0 and link[end, 1] < 0:
            before[end] = n + routes
            routes += 1
            last, node = end, link[end, 0]
            while node >= 0:
                before[node] = last
                last, node = node, (link[node, 0] if link[node, 0] != last else link[node, 1])
    return before
