"""Solutions in VROOM's JSON: written with times and loads, and read back as routes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corl.errors import Infeasible, InputError
from corl.problems.vrp.evaluation import check_route, objective, routes_of, schedule
from corl.problems.vrp.formats.vroom.instance import Task, VroomInstance
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route
from corl.problems.vrp.timetable import stops

__all__ = ["fleet_of", "is_solution", "routes_from", "solution_text", "tasks_of"]

_TOTALS = ("cost", "setup", "service", "duration", "waiting_time", "priority")
_KINDS = ("job", "pickup", "delivery")


def solution_text(instance: VrpInstance, solution: Any) -> str:
    """Return a solution as VROOM's JSON. Raises Infeasible."""
    objective(instance, solution)
    routes, tasks, fleet = routes_of(instance, solution), tasks_of(instance), fleet_of(instance)
    used = [0] * instance.vehicles.types
    written = []
    for route in routes:
        written.append(_route(instance, route, tasks, fleet[route.vehicle][used[route.vehicle]]))
        used[route.vehicle] += 1
    served = {int(node) for route in routes for node in route.visits}
    unassigned = [
        {"id": task.id, "type": task.kind, **task.given} for node, task in enumerate(tasks, instance.depots) if node not in served
    ]
    amounts = _amounts(instance)
    totals = {key: sum(each[key] for each in written) for key in _TOTALS}
    totals |= {key: [sum(each[key][d] for each in written) for d in range(amounts)] for key in ("delivery", "pickup") if amounts}
    totals["cost"] = round(sum(check_route(instance, route) for route in routes) / instance.scale)
    summary = {"routes": len(routes), "unassigned": len(unassigned), **totals, "violations": []}
    return json.dumps({"code": 0, "summary": summary, "unassigned": unassigned, "routes": written}, ensure_ascii=False) + "\n"


def tasks_of(instance: VrpInstance) -> Sequence[Task]:
    """Return the task of each client; of an instance that is not VROOM's, a job that has the id of the client."""
    if isinstance(instance, VroomInstance) and len(instance.tasks) == instance.clients:
        return instance.tasks
    names = instance.names[instance.depots :] or [""] * instance.clients
    kinds = np.full(instance.n, "job", dtype="U8")
    if instance.rules is not None and instance.rules.shipments is not None:
        kinds[instance.rules.shipments[:, 0]], kinds[instance.rules.shipments[:, 1]] = "pickup", "delivery"
    given = ({"description": name} if name else {} for name in names)
    ids, depots = instance.ids.tolist(), instance.depots
    return [Task(str(kind), number, 0, 0, each) for kind, number, each in zip(kinds[depots:], ids[depots:], given)]


def fleet_of(instance: VrpInstance) -> Sequence[Sequence[Mapping[str, Any]]]:
    """Return the vehicles of each type, as VroomInstance.vehicle_records.

    Of other instances, they are numbered from 1, and types without a limit have as many vehicles as there are clients.
    """
    if isinstance(instance, VroomInstance):
        return instance.vehicle_records
    found, number = [], 1
    for kind, count in enumerate(instance.vehicles.count.tolist()):
        count = instance.clients if count < 0 else min(count, instance.clients)
        named = {"description": instance.vehicle_names[kind]} if instance.vehicle_names else {}
        start, end = int(instance.vehicles.start[kind]), int(instance.vehicles.end[kind])
        out = instance.rules is not None and instance.rules.stays_out is not None and bool(instance.rules.stays_out[kind])
        places = {"start_index": start} | ({} if out else {"end_index": end})
        found.append([{"id": number + k, **named, **places} for k in range(count)])
        number += count
    return found


def _amounts(instance: VrpInstance) -> int:
    """Return the number of dimensions of load that are written."""
    if isinstance(instance, VroomInstance):
        return instance.amounts
    return instance.rules.dimensions if instance.rules is not None else int(bool(instance.demand.any()))


def _route(instance: VrpInstance, route: Route, tasks: Sequence[Task], vehicle: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object of a route: its steps and their sums."""
    time_unit, amounts = instance.scale * instance.speed, _amounts(instance)
    times, visits = schedule(instance, route), stops(instance, route)
    first = _delivered(instance, route)[:amounts]
    departure, travelled, steps = times.leave / time_unit, 0.0, list[dict[str, Any]]()
    totals = {"setup": 0, "service": 0, "waiting_time": 0.0, "priority": 0}
    if "start_index" in vehicle:
        steps.append(_step("start", departure, 0.0, {"load": first} if amounts else {}, _place(vehicle, "start")))
    for stop in visits:
        task = tasks[stop.node - instance.depots]
        travelled += stop.arrival - departure
        setup, service = task.setup, round(stop.service) - task.setup
        extra: dict[str, Any] = {"id": task.id, "setup": setup, "service": service, "waiting_time": round(stop.wait)}
        extra |= {"load": list(map(round, stop.load[:amounts]))} if amounts else {}
        steps.append(_step(task.kind, stop.arrival, travelled, extra, task.given))
        for key, value in (("setup", setup), ("service", service), ("waiting_time", stop.wait), ("priority", task.priority)):
            totals[key] += value
        departure = stop.departure
    if "end_index" in vehicle:
        travelled += times.back / time_unit - departure
        last = {"load": list(map(round, visits[-1].load[:amounts]))} if amounts else {}
        steps.append(_step("end", times.back / time_unit, travelled, last, _place(vehicle, "end")))
    whole = {key: round(value) for key, value in totals.items()}
    facts = {"vehicle": vehicle["id"], "cost": round(check_route(instance, route) / instance.scale), **whole}
    facts |= {"duration": round(travelled), "violations": []}
    facts |= {"description": vehicle["description"]} if "description" in vehicle else {}
    if amounts:
        shipped, collected = _shipped(instance, route)[:amounts], _collected(instance, route)[:amounts]
        facts |= {"delivery": [a + b for a, b in zip(first, shipped)], "pickup": [a + b for a, b in zip(collected, shipped)]}
    return facts | {"steps": steps}


def _delivered(instance: VrpInstance, route: Route) -> list[int]:
    """Return the load at departure, in each dimension: the sum of all deliveries from the depot."""
    demands = instance.demand[:, None] if instance.rules is None else instance.rules.of("demands", instance.demand[:, None])
    return [round(each) for each in demands[route.visits].sum(axis=0).tolist()]


def _collected(instance: VrpInstance, route: Route) -> list[int]:
    """Return the sum of what the jobs of a route send to the depot, in each dimension."""
    if instance.rules is None or instance.rules.pickups is None:
        return [0] * len(_delivered(instance, route))
    return [round(each) for each in instance.rules.pickups[route.visits].sum(axis=0).tolist()]


def _shipped(instance: VrpInstance, route: Route) -> list[int]:
    """Return the sum of the shipments of a route, in each dimension."""
    if instance.rules is None or instance.rules.shipments is None or instance.rules.amounts is None:
        return [0] * len(_delivered(instance, route))
    own = np.isin(instance.rules.shipments[:, 0], route.visits)
    return [round(each) for each in instance.rules.amounts[own].sum(axis=0).tolist()]


def _step(kind: str, arrival: float, travelled: float, extra: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object of a step; `extra` replaces the zeros of setup, service and waiting time."""
    zeros = {"setup": 0, "service": 0, "waiting_time": 0}
    return {"type": kind, **given, **zeros, **extra, "arrival": round(arrival), "duration": round(travelled), "violations": []}


def _place(vehicle: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the coordinates and the index of a vehicle's start or end, as far as they are given."""
    place = {"location": vehicle[key]} if key in vehicle else {}
    return place | {"location_index": vehicle[f"{key}_index"]}


# -------------------------------------------------------------------- the reader
def is_solution(value: Any) -> bool:
    """Return whether a JSON value is a solution of VROOM."""
    return isinstance(value, dict) and "routes" in value and not {"depots", "clients"} & value.keys()


def routes_from(instance: VrpInstance, value: Mapping[str, Any]) -> list[Route]:
    """Return the routes of a solution of VROOM; times are not read. Raises InputError, and Infeasible for unknown ids."""
    if value.get("code", 0) != 0:
        raise InputError(f"VROOM reports the error {value.get('error')!r}; accepted: a solution", field="code")
    if not isinstance(value["routes"], list):
        raise InputError("accepted: a list of routes", field="routes")
    node_of = {(task.kind, task.id): node for node, task in enumerate(tasks_of(instance), instance.depots)}
    kind_of = {each["id"]: kind for kind, vehicles in enumerate(fleet_of(instance)) for each in vehicles}
    routes, seen = [], set[Any]()
    for r, each in enumerate(value["routes"]):
        if not isinstance(each, dict) or not isinstance(each.get("steps"), list) or type(each.get("vehicle")) is not int:
            raise InputError("accepted: an object with vehicle, an id, and steps, a list", field=f"routes[{r}]")
        vehicle = each["vehicle"]
        if vehicle not in kind_of or vehicle in seen:
            raise Infeasible(f"route {r + 1} has vehicle {vehicle}, which is not in the instance or has a route already")
        seen.add(vehicle)
        if visits := [_visit(step, f"routes[{r}].steps[{s}]", r + 1, node_of) for s, step in enumerate(each["steps"])]:
            nodes = np.array([node for node in visits if node >= 0], np.int32)
            routes += [Route(kind_of[vehicle], nodes)] if len(nodes) else []
    return routes


def _visit(step: Any, place: str, number: int, node_of: Mapping[tuple[str, int], int]) -> int:
    """Return the node of a step; -1 for a start or an end. Raises InputError, and Infeasible for an unknown id."""
    kind = step.get("type") if isinstance(step, dict) else None
    if kind in ("start", "end"):
        return -1
    if kind not in _KINDS:
        raise InputError(f"the step {kind!r} is not supported; accepted: start, {', '.join(_KINDS)}, end", field=f"{place}.type")
    key = step.get("id", step.get("job"))
    if type(key) is not int:
        raise InputError("accepted: an integer", field=f"{place}.id")
    if (kind, key) not in node_of:
        raise Infeasible(f"route {number} serves {kind} {key}, which is not in the instance")
    return node_of[kind, key]
