"""Solutions as VRPLIB .sol files and as JSON values: reading and writing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError, UsageError
from corl.files.text import Text, quoted
from corl.problems.vrp.evaluation import Route, objective, routes_of
from corl.problems.vrp.formats.vroom import solutions as vroom
from corl.problems.vrp.instance import VrpInstance

__all__ = ["from_json", "read_solution", "to_json", "write_solution"]

_ROUTE = re.compile(r"route\s*#?\s*\d+\s*:(.*)", re.IGNORECASE)


def read_solution(instance: VrpInstance, path: str | Path) -> list[Route]:
    """Return the routes in a VRPLIB solution file.

    Clients are numbered from 1 in the order of the instance's file; 0 is a reload. Lines other than "Route #k: ..." are ignored.
    Raises InputError, OSError, Infeasible for an unknown client, and UsageError for instances with several vehicle types or
    depots, which such a file cannot distinguish.
    """
    _check_identical_vehicles(instance)
    text, routes = Text.read(path), []
    for number, line in text.lines():
        if match := _ROUTE.fullmatch(line):
            clients = [text.integer(token, "Route", number) for token in match[1].split()]
            if not clients:
                continue  # some programs write empty routes
            for client in clients:
                if not int(not _reloads(instance)) <= client <= instance.clients:
                    raise Infeasible(f"client {client} of the solution is not in the instance; it has 1 to {instance.clients}")
            routes.append(Route(0, np.array(clients, np.int32) + np.int32(instance.depots - 1)))
    if not routes and instance.required.any():
        raise text.error("no route; accepted: lines like Route #1: 5 3 8", line=1)
    return routes


def write_solution(instance: VrpInstance, solution: Any, path: str | Path) -> None:
    """Write a VRPLIB solution file.

    Raises UsageError for instances with several vehicle types or depots, and Infeasible if `solution` is infeasible.
    """
    _check_identical_vehicles(instance)
    cost = objective(instance, solution)
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        for number, route in enumerate(routes_of(instance, solution), 1):
            clients = route.visits - (instance.depots - 1)
            stream.write(f"Route #{number}: {' '.join(map(str, clients.tolist()))}\n")
        stream.write(f"Cost {cost:.12g}\n")


def _reloads(instance: VrpInstance) -> bool:
    """Return whether vehicles may reload."""
    return instance.rules is not None and instance.rules.reloads is not None


def _check_identical_vehicles(instance: VrpInstance) -> None:
    """Raise UsageError if there are several vehicle types or depots."""
    if instance.vehicles.types > 1 or instance.depots > 1:
        raise UsageError("a .sol file cannot tell vehicles or depots apart; use JSON")


def to_json(instance: VrpInstance, solution: Any) -> list[Any]:
    """Return for each route the list of the names or ids of its visits: clients, and depots to reload at.

    If there are several vehicle types or depots, a route is a dict, see formats.md.
    """
    routes, vehicles = routes_of(instance, solution), instance.vehicles
    labels: list[Any] = list(instance.names) or instance.ids.tolist()
    visits = [[labels[node] for node in route.visits.tolist()] for route in routes]
    if vehicles.types == 1 and instance.depots == 1:
        return visits
    result = []
    for route, stops in zip(routes, visits):
        start, end = labels[vehicles.start[route.vehicle]], labels[vehicles.end[route.vehicle]]
        depots = {"depot": start} if start == end else {"depot": start, "end_depot": end}
        kind = instance.vehicle_names[route.vehicle] if instance.vehicle_names else route.vehicle
        result.append({**depots, "vehicle": kind, "visits": stops})
    return result


def from_json(instance: VrpInstance, value: Any) -> list[Route]:
    """Return the inverse of `to_json`; solutions of VROOM are accepted, too.

    Raises InputError if `value` is neither, Infeasible for an unknown client.
    """
    if vroom.is_solution(value):
        return vroom.routes_from(instance, value)
    if not isinstance(value, list):
        raise InputError("accepted: a list of routes, each a list of the file's client ids", field="solution")
    node_of: dict[Any, int] = {label: node for node, label in enumerate(instance.ids.tolist())}
    node_of |= {label: node for node, label in enumerate(instance.names)}
    return [_route(instance, node_of, number, each) for number, each in enumerate(value, 1)]


def _route(instance: VrpInstance, node_of: dict[Any, int], number: int, value: Any) -> Route:
    """Return the route of a JSON value. Raises InputError or Infeasible.

    Args:
        instance: The instance.
        node_of: Name or id -> node.
        number: The number of the route, from 1, for messages.
        value: A list of visits, or a dict.
    """
    field, vehicles = f"route {number}", instance.vehicles
    vehicle: Any
    if isinstance(value, list):
        vehicle, visits, identical = 0, value, vehicles.types == 1 and instance.depots == 1
        if not identical:
            raise InputError('accepted: {"vehicle": 0, "visits": [...]}, as vehicles or depots differ', field=field)
    elif isinstance(value, dict) and {"vehicle", "visits"} <= set(value) <= {"vehicle", "visits", "depot", "end_depot"}:
        vehicle, visits = value["vehicle"], value["visits"]
    else:
        raise InputError("accepted: a list of client ids, or a dict with vehicle and visits", field=field)
    if vehicle in instance.vehicle_names:
        vehicle = instance.vehicle_names.index(vehicle)
    if type(vehicle) is not int or not 0 <= vehicle < vehicles.types:
        raise InputError(f"accepted: an integer from 0 to {vehicles.types - 1}", field=f"{field}: vehicle")
    if isinstance(value, dict):
        for key, depots_by_type in (("depot", vehicles.start), ("end_depot", vehicles.end)):
            depot_node = int(depots_by_type[vehicle])
            given = value.get(key, int(instance.ids[depot_node]))
            if type(given) not in (int, str) or node_of.get(given) != depot_node:
                kind, depot = instance.vehicle_label(vehicle), instance.labels[depot_node]
                raise InputError(f"vehicles of type {kind} have depot {depot}", field=f"{field}: {key}")
    if not isinstance(visits, list) or not all(type(client) in (int, str) for client in visits):
        raise InputError("accepted: a list of the file's client ids, integers, or of names", field=field)
    return Route(vehicle, _nodes(node_of, number, visits))


def _nodes(node_of: dict[Any, int], number: int, visits: list[Any]) -> NDArray[np.int32]:
    """Return the nodes of names or ids. Raises Infeasible for an unknown one."""
    for label in visits:
        if label not in node_of:
            raise Infeasible(f"route {number} visits {quoted(str(label))}, which is not in the instance")
    return np.array([node_of[label] for label in visits], np.int32)
