"""Split: the cheapest routes of consecutive clients of a giant tour, by dynamic programming.

Prins, A simple and effective evolutionary algorithm for the vehicle routing problem, Computers & Operations Research 31 (2004).
Loads and lengths beyond the limits are penalised, but a route's load is at most one and a half capacities.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.solvers.vrp.genetic.tours import penalties

__all__ = ["split"]

_MAX_LOAD = 1.5  # greatest load of a route, in capacities; a solution with that excess is never good
_MAX_LOAD_LIMITED = 2.0  # the same, in the greater of the capacity and the mean load: with it a solution exists


@kernel(borrow=True)
def split(data, routes, offspring, most):
    """Make the routes of the giant tour `offspring.tour`, in place: those of least cost among at most `most` routes.

    Loads and lengths along the routes are not computed.
    """
    _extend(data, routes, offspring, 0, 0, _MAX_LOAD * data.capacity)
    count, end = 0, data.clients
    while end > 0:
        count, end = count + 1, offspring.split[0, end]
    most = max(min(most, data.slots), data.least_routes)
    if count <= most:
        _link(data, routes, offspring, 0, count)
    else:
        _split_limited(data, routes, offspring, most)


@kernel(borrow=True)
def _extend(data, routes, offspring, row, from_row, max_load):
    """Compute a row of `offspring.potential` and `offspring.split`, in place.

    row: 0 for any number of routes (then `from_row` is 0, too), or the number of routes.
    from_row: The row of the routes before the last one.
    max_load: The greatest load of a route.
    """
    n, tour, distance = data.clients, offspring.tour, data.distance
    potential, start = offspring.potential, offspring.split
    for end in range(n + 1):
        potential[row, end], start[row, end] = math.inf, -1
    if row == from_row:
        potential[row, 0] = 0.0
    for first in range(n):
        base = potential[from_row, first]
        if base == math.inf:
            continue
        load, length, last = 0.0, 0.0, n
        for end in range(first + 1, n + 1):
            client = tour[end - 1]
            load += data.demand[client]
            if load > max_load and end > first + 1:
                break
            length += distance[last, client] + data.service[client]
            last = client
            total = length + distance[client, n]
            cost = base + total + penalties(data, routes, load, total)
            if cost < potential[row, end]:
                potential[row, end], start[row, end] = cost, first


@kernel(borrow=True)
def _split_limited(data, routes, offspring, most):
    """Make the routes of `offspring.tour` of least cost among at most `most` routes, in place."""
    n = data.clients
    max_load = _MAX_LOAD_LIMITED * max(data.capacity, data.total_demand / most)
    for end in range(n + 1):
        offspring.potential[0, end] = math.inf
    offspring.potential[0, 0] = 0.0
    best, count = math.inf, 0
    for row in range(1, most + 1):
        _extend(data, routes, offspring, row, row - 1, max_load)
        if offspring.potential[row, n] < best:
            best, count = offspring.potential[row, n], row
    _link(data, routes, offspring, count, count)


@kernel(borrow=True)
def _link(data, routes, offspring, row, count):
    """Link the clients of the tour to `count` routes that end in this row, and empty the other slots, in place."""
    n, end = data.clients, data.clients
    for slot in range(data.slots):
        depot = n + slot
        routes.next[depot] = routes.prev[depot] = depot
        if slot >= count:
            continue
        first = offspring.split[row, end]
        last = depot
        for at in range(first, end):
            client = offspring.tour[at]
            routes.next[last], routes.prev[client] = client, last
            last = client
        routes.next[last], routes.prev[depot] = depot, last
        end = first
        if row > 0:
            row -= 1
