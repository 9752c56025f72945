"""Split: the cheapest routes of consecutive clients of a giant tour, by dynamic programming.

Prins, A simple and effective evolutionary algorithm for the vehicle routing problem, Computers & Operations Research 31 (2004).
Loads and lengths beyond the limits are penalised, but a route's load is at most one and a half capacities.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.solvers.vrp.genetic.state import LENGTH, LOAD

__all__ = ["split"]

_MAX_LOAD = 1.5  # greatest load of a route, in capacities; a solution with that excess is never good
_STEPS = 4  # halvings of the interval of the cost of a route
_DOUBLINGS = 20  # doublings of the cost of a route before the number of routes is limited strictly


@kernel(borrow=True)
def split(data, routes, offspring, most):
    """Make the routes of the giant tour `offspring.tour`, in place: cheap ones, at most `most` (or the least possible number).

    If the cheapest routes are too many, a cost is added for each route: about the least that makes them few enough (a Lagrangian
    relaxation). Loads and lengths along the routes are not computed.
    """
    most = max(min(most, data.slots), data.least_routes)
    max_load = _MAX_LOAD * max(data.capacity, data.total_demand / most)
    if _count_routes(data, routes, offspring, 0.0, max_load) > most:
        low, high, doublings = 0.0, offspring.route_cost[0], 0
        while _count_routes(data, routes, offspring, high, max_load) > most:
            low, high, doublings = high, 2.0 * high, doublings + 1
            if doublings == _DOUBLINGS:
                max_load = math.inf
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            if _count_routes(data, routes, offspring, middle, max_load) > most:
                low = middle
            else:
                high = middle
        _count_routes(data, routes, offspring, high, max_load)
        offspring.route_cost[0] = max(high, data.tolerance)
    _link(data, routes, offspring)


@kernel(borrow=True)
def _count_routes(data, routes, offspring, route_cost, max_load):
    """Compute the cheapest routes if each costs `route_cost` more, in place, and return their number.

    max_load: The greatest load of a route with several clients.
    """
    n, tour, distance, demand, service = data.clients, offspring.tour, data.distance, data.demand, data.service
    potential, start, capacity, penalty = offspring.potential, offspring.split, data.capacity, routes.penalty[LOAD]
    limited, max_length, length_penalty = data.limited, data.max_length, routes.penalty[LENGTH]
    potential[0] = 0.0
    for end in range(1, n + 1):
        potential[end] = math.inf
    for first in range(n):
        base = potential[first] + route_cost
        load, length, last = 0.0, 0.0, n
        for end in range(first + 1, n + 1):
            client = tour[end - 1]
            load += demand[client]
            if load > max_load and end > first + 1:
                break
            length += distance[last, client] + service[client]
            last = client
            total = length + distance[client, n]
            cost = base + total + penalty * max(0.0, load - capacity)
            if limited:
                cost += length_penalty * max(0.0, total - max_length)
            if cost < potential[end]:
                potential[end], start[end] = cost, first
    count, end = 0, n
    while end > 0:
        count, end = count + 1, start[end]
    return count


@kernel(borrow=True)
def _link(data, routes, offspring):
    """Link the clients of the tour to the computed routes, and empty the other slots, in place."""
    n, end = data.clients, data.clients
    for slot in range(data.slots):
        depot = n + slot
        last = depot
        first = offspring.split[end] if end > 0 else 0
        for at in range(first, end):
            client = offspring.tour[at]
            routes.next[last], routes.prev[client] = client, last
            routes.route[client] = slot
            last = client
        routes.next[last], routes.prev[depot] = depot, last
        end = first
