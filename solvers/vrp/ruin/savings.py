"""An initial solution by the savings method, for instances whose only limits are capacities.

Clarke & Wright, Scheduling of Vehicles from a Central Depot to a Number of Delivery Points, Operations Research 12 (1964). Only
the pairs of a client and one of its K nearest neighbours are considered: O(n K log(n K)) time.
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
    """Return whether the savings method applies.

    It needs one vehicle type without a limit of its number, symmetric distances, and no time windows, maximum lengths, optional
    clients or side constraints.
    """
    vehicles = instance.vehicles
    one_type = vehicles.types == 1 and int(vehicles.count[0]) < 0
    one_type &= data.symmetric and data.rules is None
    return one_type and not (data.timed or data.limited or data.has_optional) and instance.clients > 1


def savings_plan(instance: VrpInstance, data: RoutingData) -> NDArray[np.int32]:
    """Return int32 [n]: the predecessor of each client in the solution, n + r for the first client of route r.

    `construction.restore` makes this solution the current one.
    """
    pairs, gains = _savings(data, data.near_count)
    positive = np.flatnonzero(gains > 0.0)
    order = positive[np.argsort(-gains[positive], kind="stable")]
    return _merge(data, pairs[order], gains[order], float(instance.vehicles.capacity[0]))


@kernel
def _savings(data: RoutingData, neighbours: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return all pairs of a client and one of its `neighbours` nearest neighbours, and their savings.

    Returns:
        pairs: int32 [m, 2], two clients.
        gains: float64 [m], the distance saved if one route serves both, including the fixed cost of a route as a distance.
    """
    n = data.clients
    pairs, gains = np.empty((n * neighbours, 2), np.int32), np.empty(n * neighbours)
    depot_distance = np.empty(n)
    for i in range(n):
        depot_distance[i] = distance(data, n, i)
    fixed, at = data.fixed_cost[0] / data.unit_cost[0], 0
    for i in range(n):
        for a in range(neighbours):
            j = data.near[i, a]
            pairs[at, 0], pairs[at, 1] = i, j
            gains[at] = depot_distance[i] + depot_distance[j] - data.near_distance[i, a] + fixed
            at += 1
    return pairs, gains


@kernel
def _merge(data: RoutingData, pairs: NDArray[np.int32], gains: NDArray[np.float64], capacity: float) -> NDArray[np.int32]:
    """Join routes at their ends, pair by pair in the given order, if the load fits; return the array of `savings_plan`."""
    n = data.clients
    adjacent = np.full((n, 2), -1, np.int32)  # the two clients next to each client in its route; -1: none
    degree, other_end = np.zeros(n, np.int32), np.arange(n).astype(np.int32)
    merge_routes(pairs, gains, len(pairs), capacity, adjacent, degree, other_end, data.demand.copy(), 0.0)
    before, routes = np.full(n, -1, np.int32), 0
    for end in range(n):
        if before[end] < 0 and adjacent[end, 1] < 0:
            before[end] = n + routes
            routes += 1
            last, node = end, adjacent[end, 0]
            while node >= 0:
                before[node] = last
                last, node = node, (adjacent[node, 0] if adjacent[node, 0] != last else adjacent[node, 1])
    return before
