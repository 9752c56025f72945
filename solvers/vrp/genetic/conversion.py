"""Conversion of an instance to the arrays of the genetic search, and its first solution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corl.jit import by_reference
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.metric import metric_of
from corl.solvers.vrp.genetic.state import TURN, GeneticData
from corl.solvers.vrp.ruin.neighbours import nearest
from corl.tolerance import LIMIT

__all__ = ["genetic_data", "sweep"]

_EASE = 0.25 * LIMIT  # relative tolerance of limits: a quarter of the judge's
_SLOT_FACTOR, _MORE_SLOTS = 1.3, 3  # slots per route that is needed, and slots beyond that (Vidal 2022)
_MIN_GAIN = 1e-9  # least gain of a move, relative to the longest leg


def genetic_data(instance: VrpInstance, neighbours: int, used: int) -> GeneticData:
    """Return the arrays of an instance. They take O(n^2) memory.

    Args:
        instance: The instance.
        neighbours: The number of nearest clients that are a client's neighbours.
        used: The number of routes of a feasible solution.
    """
    n, vehicles = instance.clients, instance.vehicles
    rate, fixed = float(vehicles.unit_cost[0]), float(vehicles.fixed_cost[0]) + instance.route_weight
    near, start = _neighbours(instance, neighbours)
    offset = np.zeros((n, 2)) if instance.points is None else np.asarray(instance.points[1:, :2] - instance.points[0, :2], float)
    angle = np.floor(np.arctan2(offset[:, 1], offset[:, 0]) / (2.0 * math.pi) * TURN).astype(np.int64) & (TURN - 1)
    legs, demand, capacity = _legs(instance), np.append(instance.demand[1:], 0.0).astype(float), float(vehicles.capacity[0])
    limit, service = _length_limit(instance)
    longest, largest = float(legs.max()) or 1.0, float(demand.max())
    least = max(1, math.ceil(demand.sum() / capacity)) if capacity > 0.0 else 1
    data = GeneticData(
        clients=n,
        slots=min(n, max(used, math.ceil(_SLOT_FACTOR * (used if math.isfinite(limit) else least)) + _MORE_SLOTS)),
        least_routes=min(n, least),
        capacity=capacity * (1.0 + _EASE),
        total_demand=float(demand.sum()),
        limited=math.isfinite(limit),
        max_length=(limit * rate + fixed) * (1.0 + _EASE) if math.isfinite(limit) else math.inf,
        distance=legs,
        near=near,
        near_start=start,
        demand=demand,
        service=service * rate,
        angle=angle,
        offset=offset,
        first_penalty=np.array([longest / (largest if largest > 0.0 else 1.0), 1.0]),
        tolerance=_MIN_GAIN * longest,
    )
    return by_reference(data)


def sweep(instance: VrpInstance) -> list[list[int]]:
    """Return the routes, lists of clients 0..n-1, of a solution by the sweep method (Gillett & Miller 1974).

    The clients are taken in the order of their polar angles around the depot, or of their numbers if there are no coordinates. A
    route ends where the next client would violate a limit.
    """
    limit, service = _length_limit(instance)
    ease, capacity = 1.0 + _EASE, float(instance.vehicles.capacity[0])
    order, home = np.arange(instance.clients), instance.distances_from(0)
    if instance.points is not None:
        offset = instance.points[1:, :2] - instance.points[0, :2]
        order = np.argsort(np.arctan2(offset[:, 1], offset[:, 0]), kind="stable")
    routes: list[list[int]] = []
    load = length = 0.0
    for client in order.tolist():
        demand, stop = float(instance.demand[client + 1]), float(service[client])
        leg = float(instance.distances_from(routes[-1][-1] + 1)[client + 1]) if routes and math.isfinite(limit) else 0.0
        back = float(home[client + 1])
        if not routes or load + demand > capacity * ease or length + leg + stop + back > limit * ease:
            routes.append([])
            load, length, leg = 0.0, 0.0, back
        routes[-1].append(client)
        load, length = load + demand, length + leg + stop
    return routes


def _legs(instance: VrpInstance) -> NDArray[np.float64]:
    """Return float64 [n + 1, n + 1]: the costs of legs; the depot comes last, and has half of a vehicle's cost in its legs."""
    n, vehicles = instance.clients, instance.vehicles
    order = np.append(np.arange(1, n + 1), 0)
    legs = np.stack([instance.distances_from(int(node))[order] for node in order]).astype(float) * float(vehicles.unit_cost[0])
    half = 0.5 * (float(vehicles.fixed_cost[0]) + instance.route_weight)
    legs[n] += half
    legs[:, n] += half
    legs[np.arange(n + 1), np.arange(n + 1)] = 0.0
    return legs


def _length_limit(instance: VrpInstance) -> tuple[float, NDArray[np.float64]]:
    """Return the limit of a route's length, inf for none, and what each client (and the depot) adds to it besides distance."""
    vehicles, n = instance.vehicles, instance.clients
    distance, duration = float(vehicles.max_distance[0]), float(vehicles.max_duration[0])
    service = np.zeros(n + 1)
    if math.isfinite(duration) and instance.service is not None:
        service[:n] = instance.service[1:]
    return min(distance, duration), service


def _neighbours(instance: VrpInstance, count: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the neighbours of all clients, and where those of each client begin. The relation is made symmetric."""
    n = instance.clients
    found, _ = nearest(instance, metric_of(instance), min(count, n - 1))
    one, other = np.repeat(np.arange(n), found.shape[1]), found.ravel().astype(np.int64)
    pairs = np.unique(np.concatenate([one * n + other, other * n + one]))
    start = np.searchsorted(pairs, np.arange(n + 1) * n)
    return (pairs % n).astype(np.int32), start.astype(np.int64)
