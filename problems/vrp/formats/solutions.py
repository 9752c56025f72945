"""Solutions in files: VRPLIB's .sol, both ways, and JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError, UsageError
from corl.files.text import Text, quoted
from corl.problems.vrp.evaluation import Route, objective, routes_of
from corl.problems.vrp.instance import VrpInstance

__all__ = ["from_json", "read_solution", "to_json", "write_solution"]

_ROUTE = re.compile(r"route\s*#?\s*\d+\s*:(.*)", re.IGNORECASE)


def read_solution(instance: VrpInstance, path: str | Path) -> list[Route]:
    """Return the routes in a VRPLIB solution file, whose clients are 1..n-D in the order of the instance's file; 0 is a reload.

    Lines other than "Route #k: ..." are ignored. Raises InputError, Infeasible for an unknown client, OSError, and UsageError if
    vehicles differ, which such a file cannot express.
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
    """Write a VRPLIB solution file. Raises UsageError if vehicles differ, Infeasible if `solution` is infeasible."""
    _check_identical_vehicles(instance)
    cost = objective(instance, solution)
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        for number, route in enumerate(routes_of(instance, solution), 1):
            clients = route.visits - (instance.depots - 1)
            stream.write(f"Route #{number}: {' '.join(map(str, clients.tolist()))}\n")
        stream.write(f"Cost {cost:.12g}\n")


def _reloads(instance: VrpInstance) -> bool:
    return instance.rules is not None and instance.rules.reloads is not None


def _check_identical_vehicles(instance: VrpInstance) -> None:
    """Raise UsageError if there are several vehicle types or depots."""
    if instance.vehicles.types > 1 or instance.depots > 1:
        raise UsageError("a .sol file cannot tell vehicles or depots apart; use JSON")


def to_json(instance: VrpInstance, solution: Any) -> list[Any]:
    """Return a list of names or ids (of clients, and of depots to reload at) for each route.

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
    """Return the inverse of `to_json`. Raises InputError if `value` is no list of routes, Infeasible for an unknown client."""
    if not isinstance(value, list):
        raise InputError("accepted: a list of routes, each a list of the file's client ids", field="solution")
    places: dict[Any, int] = {node: place for place, node in enumerate(instance.ids.tolist())}
    places |= {node: place for place, node in enumerate(instance.names)}
    return [_route(instance, places, number, each) for number, each in enumerate(value, 1)]


def _route(instance: VrpInstance, places: dict[Any, int], number: int, value: Any) -> Route:
    """Return the route of a JSON value. Raises InputError or Infeasible."""
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
        for key, places_of in (("depot", vehicles.start), ("end_depot", vehicles.end)):
            place = int(places_of[vehicle])
            given = value.get(key, int(instance.ids[place]))
            if type(given) not in (int, str) or places.get(given) != place:
                kind, depot = instance.vehicle_label(vehicle), instance.labels[place]
                raise InputError(f"vehicles of type {kind} have depot {depot}", field=f"{field}: {key}")
    if not isinstance(visits, list) or not all(type(client) in (int, str) for client in visits):
        raise InputError("accepted: a list of the file's client ids, integers, or of names", field=field)
    return Route(vehicle, _nodes(places, number, visits))


def _nodes(places: dict[Any, int], number: int, visits: list[Any]) -> NDArray[np.int32]:
    for client in visits:
        if client not in places:
            raise Infeasible(f"route {number} visits {quoted(str(client))}, which is not in the instance")
    return np.array([places[client] for client in visits], np.int32)
