"""Explanations of why a solution leaves clients unserved: the cost of serving each of them, or the limit that prevents it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.vrp.evaluation import Route, objective, routes_of
from corl.problems.vrp.feasibility import blocking_limits
from corl.problems.vrp.instance import VrpInstance
from corl.routing.edge_weights import edge_lengths

__all__ = ["reasons", "unserved_reasons"]


def unserved_reasons(instance: VrpInstance, solution: Any) -> dict[str, str]:
    """Return a dict from each unserved client, named as in messages ("client 7"), to the reason why it is unserved."""
    return {f"client {instance.labels[node]}": why for node, why in reasons(instance, solution).items()}


def reasons(instance: VrpInstance, solution: Any) -> dict[int, str]:
    """Return node -> reason, for each unserved client.

    The reason is the limit that prevents all vehicles from serving the client; or the cost of its cheapest insertion into the
    routes, which are otherwise unchanged; or why no insertion is feasible. The judge evaluates insertions. Raises Infeasible.
    """
    routes = routes_of(instance, solution)
    current = objective(instance, routes)
    served = np.zeros(instance.n, bool)
    for route in routes:
        served[route.visits] = True
    legs = [_legs(instance, route) for route in routes]
    blocked = blocking_limits(instance, ~served)
    clients = [node for node in range(instance.depots, instance.n) if not served[node]]
    return {
        node: blocked.get(node)
        or _depends_on_other(instance, served, node)
        or _cheapest_insertion(instance, routes, legs, current, node)
        for node in clients
    }


def _depends_on_other(instance: VrpInstance, served: NDArray[np.bool_], node: int) -> str:
    """Return why another client, of the same group or shipment, prevents serving `node`; "" if none does."""
    rules = instance.rules
    if rules is None:
        return ""
    if rules.groups is not None and rules.groups[node] >= 0:
        others = np.flatnonzero((rules.groups == rules.groups[node]) & served)
        if len(others):
            return f"client {instance.labels[others[0]]} of its group is served"
    if rules.shipments is not None:
        for start, end in rules.shipments.tolist():
            if node in (start, end):
                other = end if node == start else start
                return f"it is served only together with client {instance.labels[other]}, with which it shares a shipment"
    return ""


def _legs(instance: VrpInstance, route: Route) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nodes of a route, from depot to depot, int64 [k], and the distances between them, float64 [k - 1]."""
    vehicles = instance.vehicles
    path = np.concatenate([[vehicles.start[route.vehicle]], route.visits, [vehicles.end[route.vehicle]]]).astype(np.int64)
    return path, edge_lengths(instance.edge_weight_type, instance.points, instance.matrix, path[:-1], path[1:])


def _cheapest_insertion(
    instance: VrpInstance,
    routes: list[Route],
    legs: list[tuple[NDArray[np.int64], NDArray[np.float64]]],
    current: float,
    client: int,
) -> str:
    """Return the cost of the cheapest feasible insertion of a client, in words, or why no insertion is feasible.

    Args:
        instance: The instance.
        routes: The routes.
        legs: `_legs` of each route.
        current: The objective value.
        client: The node.
    """
    rules, scale, prize = instance.rules, instance.scale, float(instance.prize[client]) / instance.scale
    cost_by_distance = rules is None or not (
        rules.prices_times or rules.stays_out is not None or rules.distances is not None or rules.balance is not None
    )
    best, best_place, reason = np.inf, "", ""
    for change, number, position in _positions(instance, routes, legs, client):
        if cost_by_distance and change / scale - prize >= best:
            break  # the remaining positions cost more
        changed = list(routes)
        if number < len(routes):
            visits = np.insert(routes[number].visits, position, client)
            changed[number], place = Route(routes[number].vehicle, visits), f"in route {number + 1}"
        else:
            changed.append(Route(position, np.array([client], np.int32)))
            place = "on a separate route"
        try:
            cost = objective(instance, changed) - current
        except Infeasible as error:
            reason = reason or f"{place}: {error}"
            continue
        if cost < best:
            best, best_place = cost, place
    if best_place:
        return f"serving it costs {best + prize:.10g}, {best_place}; its prize is {prize:.10g}"
    return f"it fits nowhere; {reason}" if reason else "there is no vehicle left for it"


def _positions(
    instance: VrpInstance, routes: list[Route], legs: list[tuple[NDArray[np.int64], NDArray[np.float64]]], client: int
) -> list[tuple[float, int, int]]:
    """Return (change of cost, times `scale`; route; position) of all insertions of a client, the cheapest first.

    The change of cost includes distance and the cost of a new route. For a new route, the position is the vehicle type.
    """
    vehicles, insertions = instance.vehicles, []
    from_client = instance.distances_from(client)
    to_client = from_client if instance.matrix is None else instance.matrix[:, client]
    for number, (route, (path, lengths)) in enumerate(zip(routes, legs)):
        detours = (to_client[path[:-1]] + from_client[path[1:]] - lengths) * vehicles.unit_cost[route.vehicle]
        insertions += [(detour, number, k) for k, detour in enumerate(detours.tolist())]
    for kind in np.flatnonzero(vehicles.count).tolist():
        round_trip = (to_client[vehicles.start[kind]] + from_client[vehicles.end[kind]]) * vehicles.unit_cost[kind]
        insertions.append((float(round_trip + vehicles.fixed_cost[kind]) + instance.route_weight, len(routes), kind))
    return sorted(insertions)
