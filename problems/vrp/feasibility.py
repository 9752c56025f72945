"""Proofs that an instance has no solution, where they are cheap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.tolerance import keeps

__all__ = ["unservable"]


def unservable(instance: VrpInstance) -> str:
    """Why nothing fits, one line; "" where that is not proven (then there may still be no solution).

    Looked at: the demand of all required clients against the whole fleet, and whether any vehicle could bring each of them
    what it needs in time, by the shortest way over whatever other nodes (rounded distances need not obey the triangle
    inequality).
    """
    vehicles = instance.vehicles
    there = vehicles.count != 0
    if not instance.required.any() or instance.rules is not None:
        return ""
    if (vehicles.count >= 0).all():
        most, demand = float(vehicles.capacity[there] @ vehicles.count[there]), float(instance.demand[instance.required].sum())
        if not keeps(demand, most) or not there.any():
            return f"the required clients' demand {demand:.10g} is above what all vehicles carry, {most:.10g}"
    fits = np.zeros(instance.n, bool)
    for direct in (True, False):
        for kind in np.flatnonzero(there):
            fits |= _servable(instance, int(kind), direct)
        open_clients = instance.required & ~fits
        if not open_clients.any():
            return ""
    node = int(open_clients.argmax())
    limits = "window, the depot's hours and the longest routes" if instance.windows else "demand and the longest routes"
    return f"no vehicle can serve client {instance.ids[node]} within its {limits} ({int(open_clients.sum())} such)"


def _servable(instance: VrpInstance, kind: int, direct: bool) -> NDArray[np.bool_]:
    """bool [n]: the nodes that a vehicle of this type could serve, on a route of their own or over the shortest ways."""
    vehicles = instance.vehicles
    start, end = int(vehicles.start[kind]), int(vehicles.end[kind])
    to = instance.distances_from(start) if direct else _shortest(instance, start, False)
    back = _distances_to(instance, end) if direct else _shortest(instance, end, True)
    service = np.zeros(instance.n) if instance.service is None else instance.service
    good = keeps(instance.demand, vehicles.capacity[kind]) & keeps(to + back, vehicles.max_distance[kind])
    ready = to + service
    if instance.earliest is not None and instance.latest is not None:
        begin = np.maximum(instance.earliest, instance.earliest[start] + to)
        ready = begin + service
        good &= keeps(begin, instance.latest) & keeps(ready + back, instance.latest[end])
    good &= keeps(to + service + back, vehicles.max_duration[kind], ready + back)
    return np.asarray(good)


def _distances_to(instance: VrpInstance, node: int) -> NDArray[np.float64]:
    return instance.distances_from(node) if instance.matrix is None else instance.matrix[:, node]


def _shortest(instance: VrpInstance, node: int, towards: bool) -> NDArray[np.float64]:
    """Shortest ways from a node to all, or from all to it (Dijkstra on the complete graph, n rows of distances)."""
    row = _distances_to if towards else VrpInstance.distances_from
    length = row(instance, node).copy()
    done = np.zeros(instance.n, bool)
    done[node] = True
    while not done.all():
        nearest = int(np.where(done, np.inf, length).argmin())
        done[nearest] = True
        length = np.minimum(length, length[nearest] + row(instance, nearest))
    return length
