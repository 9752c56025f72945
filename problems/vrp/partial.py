"""Incomplete solutions: the part of given routes that an instance can use, such as a plan made before new requests came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corl.errors import Infeasible
from corl.problems.vrp.evaluation import check_route
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route

__all__ = ["partial_routes"]

_Visits = tuple[int, list[int]]  # vehicle type, nodes


def partial_routes(instance: VrpInstance, value: Any, as_json: bool) -> tuple[list[Route], str]:
    """Return feasible routes that follow given routes, and a note on what they leave out.

    Visits that the instance does not have and second visits are left out, and so are clients with which a route violates a
    limit: in the order of the route, a client is kept if the route remains feasible with it. Fixed beginnings are kept, or added.
    Clients may be missing, even required ones.

    Args:
        instance: The instance.
        value: A list of routes, see `corl.problems.vrp.evaluation.routes_of`, or its JSON form.
        as_json: Whether `value` is in the JSON form, with names or ids.

    Returns:
        routes: The routes; only fixed beginnings may violate a limit.
        note: What is left out, in words; "" if nothing is.

    Raises:
        Infeasible: `value` is no list of routes, or none of its clients can be kept.
    """
    given = _json_routes(instance, value) if as_json else _own_routes(value)
    routes = _usable_routes(instance, given)
    unusable = sum(len(nodes) for _, nodes in given) - sum(len(nodes) for _, nodes in routes)
    visited = {node for _, nodes in routes for node in nodes if node >= instance.depots}
    kept = [_feasible_part(instance, kind, nodes) for kind, nodes in _with_beginnings(instance, routes)]
    served = {node for route in kept for node in route.visits.tolist()} & visited
    if not served:
        raise Infeasible("none of its clients can be kept")
    infeasible, notes = len(visited - served), []
    if unusable:
        notes.append(f"{_counted(unusable)} to clients that are unknown or served before")
    if infeasible:
        notes.append(f"{_counted(infeasible)} that would violate a limit")
    return [route for route in kept if len(route.visits)], f"left out: {', '.join(notes)}" if notes else ""


def _counted(visits: int) -> str:
    return "1 visit" if visits == 1 else f"{visits} visits"


def _own_routes(value: Any) -> list[_Visits]:
    """Return the routes of a solution in the problem's own form. Raises Infeasible for another form."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise Infeasible("a solution is a list of routes")
    routes = []
    for each in value:
        kind, given = each if isinstance(each, Route) else (0, each)
        try:
            visits = np.asarray(given)
        except ValueError:  # ragged
            raise Infeasible("a route is a list of clients") from None
        if visits.ndim != 1 or (len(visits) and visits.dtype.kind not in "iu") or not isinstance(kind, (int, np.integer)):
            raise Infeasible("a route is a list of integers")
        routes.append((int(kind), visits.tolist()))
    return routes


def _json_routes(instance: VrpInstance, value: Any) -> list[_Visits]:
    """Return the routes of a JSON solution; -1 stands for an unknown type or node. Raises Infeasible for another form."""
    node_of: dict[Any, int] = {label: node for node, label in enumerate(instance.ids.tolist())}
    node_of |= {label: node for node, label in enumerate(instance.names)}
    kind_of: dict[Any, int] = {kind: kind for kind in range(instance.vehicles.types)}
    kind_of |= {name: kind for kind, name in enumerate(instance.vehicle_names)}
    routes = []
    for each in value if isinstance(value, list) else [None]:
        kind, visits = (each.get("vehicle"), each.get("visits")) if isinstance(each, dict) else (0, each)
        if not isinstance(visits, list) or not all(type(label) in (int, str) for label in [kind, *visits]):
            raise Infeasible("a solution is a list of routes, each a list of ids or names, or a dict with vehicle and visits")
        routes.append((kind_of.get(kind, -1), [node_of.get(label, -1) for label in visits]))
    return routes


def _usable_routes(instance: VrpInstance, given: list[_Visits]) -> list[_Visits]:
    """Return the routes of known types with the visits to depots and the first visit to each client and group of clients.

    Of a cluster, the clients on its first route are kept.
    """
    groups = np.full(instance.n, -1) if instance.rules is None or instance.rules.groups is None else instance.rules.groups
    clusters = np.full(instance.n, -1) if instance.rules is None or instance.rules.clusters is None else instance.rules.clusters
    visited, served_groups, routes, route_of = set[int](), {-1}, [], dict[int, int]()
    for number, (kind, nodes) in enumerate(given):
        routes.append((kind, list[int]()))
        for node in nodes if 0 <= kind < instance.vehicles.types else []:
            if not 0 <= node < instance.n or node in visited or (group := int(groups[node])) in served_groups - {-1}:
                continue
            if clusters[node] >= 0 and route_of.setdefault(int(clusters[node]), number) != number:
                continue
            if node >= instance.depots:
                visited.add(node)
                served_groups.add(group)
            routes[-1][1].append(node)
    return routes


def _with_beginnings(instance: VrpInstance, routes: list[_Visits]) -> list[_Visits]:
    """Return at most as many routes of each type as there are vehicles, with the fixed beginnings of the vehicles."""
    beginnings = {kind: _begun(instance, kind) for kind in range(instance.vehicles.types) if _begun(instance, kind)}
    fixed, used, found = {node for nodes in beginnings.values() for node in nodes}, [0] * instance.vehicles.types, []
    for kind, nodes in routes:
        rest = [node for node in nodes if node not in fixed]
        if any(node >= instance.depots for node in rest) and used[kind] != instance.vehicles.count[kind]:
            used[kind] += 1
            found.append((kind, beginnings.pop(kind, []) + rest))
    return found + list(beginnings.items())


def _begun(instance: VrpInstance, kind: int) -> list[int]:
    """Return the fixed beginning of the routes of a vehicle type."""
    begun = instance.rules and instance.rules.begun
    return begun[kind].tolist() if begun else []


def _feasible_part(instance: VrpInstance, kind: int, nodes: list[int]) -> Route:
    """Return the route without the clients that make it infeasible, and without reloads if they do."""
    if _is_feasible(instance, kind, found := _tidy(instance, nodes, set(nodes))):
        return Route(kind, np.array(found, np.int32))
    reloads = instance.rules is not None and instance.rules.reloads is not None and instance.rules.reloads[kind] > 0
    nodes = nodes if reloads else [node for node in nodes if node >= instance.depots]
    partner, kept = _partners(instance), set(_begun(instance, kind))
    kept |= {partner[node] for node in kept & partner.keys()} & set(nodes)
    for node in nodes:
        unit = {node, partner.get(node, node)}
        is_candidate = node >= instance.depots and not unit <= kept and unit <= set(nodes)
        if is_candidate and _is_feasible(instance, kind, _tidy(instance, nodes, kept | unit)):
            kept |= unit
    return Route(kind, np.array(_tidy(instance, nodes, kept), np.int32))


def _tidy(instance: VrpInstance, nodes: list[int], kept: set[int]) -> list[int]:
    """Return the kept clients in the order of `nodes`, with the depots that are between two of them, one at most."""
    found: list[int] = []
    for node in nodes:
        if node in kept if node >= instance.depots else bool(found) and found[-1] >= instance.depots:
            found.append(node)
    return found[:-1] if found and found[-1] < instance.depots else found


def _partners(instance: VrpInstance) -> dict[int, int]:
    """Return each end of a shipment -> the other end."""
    shipments = [] if instance.rules is None or instance.rules.shipments is None else instance.rules.shipments.tolist()
    return {one: other for start, end in shipments for one, other in ((start, end), (end, start))}


def _is_feasible(instance: VrpInstance, kind: int, nodes: list[int]) -> bool:
    """Return whether a route without regard to the other routes is feasible; an empty route is."""
    try:
        if nodes:
            check_route(instance, Route(kind, np.array(nodes, np.int32)))
    except Infeasible:
        return False
    return True
