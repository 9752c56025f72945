"""An initial solution by savings, for instances with capacities alone.

Clarke & Wright, Scheduling of Vehicles from a Central Depot to a Number of Delivery Points, Operations Research 12 (1964). Only
pairs of neighbours are considered, so that it takes O(n K log(n K)) time.
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
    """Return whether there are capacities alone: one depot, one unlimited vehicle type, no windows, maximum lengths or prizes."""
    vehicles = instance.vehicles
    equal = vehicles.types == 1 and int(vehicles.count[0]) < 0
    equal &= data.symmetric and data.rules is None
    return equal and not (data.timed or data.limited or data.has_optional) and instance.clients > 1


def savings_plan(instance: VrpInstance, data: RoutingData) -> NDArray[np.int32]:
    """Return int32 [n]: the predecessor of each client, n + r for the first client of route r (see `construction.restore`)."""
    pairs, gains = _savings(data, data.near_count)
    kept = np.flatnonzero(gains > 0.0)
    order = kept[np.argsort(-gains[kept], kind="stable")]
    return _merge(data, pairs[order], gains[order], float(instance.vehicles.capacity[0]))


@kernel
def _savings(data: RoutingData, close: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return int32 [m, 2], pairs of a client and a neighbour, and float64 [m], the savings of serving them in one route."""
    n = data.clients
    pairs, gains = np.empty((n * close, 2), np.int32), np.empty(n * close)
    home = np.empty(n)
    for i in range(n):
        home[i] = distance(data, n, i)
    fixed, at = data.fixed_cost[0] / data.unit_cost[0], 0
    for i in range(n):
        for a in range(close):
            j = data.near[i, a]
            pairs[at, 0], pairs[at, 1] = i, j
            gains[at] = home[i] + home[j] - data.near_distance[i, a] + fixed
            at += 1
    return pairs, gains


@kernel
def _merge(data: RoutingData, pairs: NDArray[np.int32], gains: NDArray[np.float64], capacity: float) -> NDArray[np.int32]:
    """Join routes end to end, pair by pair in the given order, if the load fits; return the array of `savings_plan`."""
    n = data.clients
    link = np.full((n, 2), -1, np.int32)  # neighbours in the route; -1 at its ends
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
