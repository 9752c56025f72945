"""Writer of VROOM's problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.files.json_values import dumps
from corl.files.opening import writing
from corl.problems.vrp.formats.vroom.instance import VroomInstance
from corl.problems.vrp.formats.vroom.solutions import fleet_of, tasks_of
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import SideConstraints

__all__ = ["write_instance"]

_EXPRESSED = ("demands", "capacities", "pickups", "shipments", "amounts", "closed", "allowed", "shift", "stays_out")


def write_instance(instance: VrpInstance, path: str | Path) -> None:
    """Write a problem of VROOM. Raises UsageError for what its format does not express.

    An instance that was read from VROOM's JSON is written as it was read. Of others, clients become jobs with their ids, and the
    matrix has a row for each node. VROOM may leave out any job, so prizes are not expressed.
    """
    known = isinstance(instance, VroomInstance) and instance.source is not None
    problem = instance.source if isinstance(instance, VroomInstance) and known else _problem(instance)
    assert problem is not None
    lines = []
    for key, value in problem.items():
        rows = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
        lines.append(f' "{key}": ' + ("[\n  " + ",\n  ".join(map(dumps, value)) + "\n ]" if rows else dumps(value)))
    with writing(path) as stream:
        stream.write("{\n" + ",\n".join(lines) + "\n}\n")


def _problem(instance: VrpInstance) -> dict[str, Any]:
    """Return the JSON object of an instance. Raises UsageError."""
    _check(instance)
    rules = instance.rules or SideConstraints()
    distances = _whole("distances", np.array([instance.distances_from(node) for node in range(instance.n)]))
    tasks = [_task(instance, rules, node) for node in range(instance.depots, instance.n)]
    problem: dict[str, Any] = {"vehicles": _vehicles(instance, rules)}
    ends = set() if rules.shipments is None else set(rules.shipments.ravel().tolist())
    problem["jobs"] = [task for node, task in enumerate(tasks, instance.depots) if node not in ends]
    if rules.shipments is not None and rules.amounts is not None:
        amounts = _whole("amounts", rules.amounts).tolist()
        pairs = [[tasks[node - instance.depots] for node in pair] for pair in rules.shipments.tolist()]
        problem["shipments"] = [
            {"amount": amount, "pickup": start, "delivery": end} for (start, end), amount in zip(pairs, amounts)
        ]
        for each in problem["shipments"]:
            skills = each["pickup"].pop("skills", []) + each["delivery"].pop("skills", [])
            each |= {"skills": skills} if skills else {}
    return problem | {"matrices": {"car": {"durations": distances.tolist()}}}


def _check(instance: VrpInstance) -> None:
    """Raise UsageError for features of an instance that VROOM's format does not express."""
    rules = instance.rules
    others = [] if rules is None else rules.named(name for name in vars(rules) if name not in _EXPRESSED)
    reasons = {
        "prizes": bool(instance.prize.any()) or not instance.required[instance.depots :].all(),
        "the fewest routes as the objective": instance.fleet == "fewest",
        "longest durations of routes": bool(np.isfinite(instance.vehicles.max_duration).any()),
        "opening hours of depots": instance.earliest is not None
        and (bool(instance.earliest[: instance.depots].any()) or not _covered(instance)),
        "distances in tenths": instance.scale != 1,
        "problems without vehicles or clients": not instance.clients or not instance.vehicles.count.any(),
    } | dict.fromkeys(others, True)
    for reason, holds in reasons.items():
        if holds:
            raise UsageError(f"VROOM's format does not know {reason}; write a .json file")


def _covered(instance: VrpInstance) -> bool:
    """Return whether no depot closes; the last return of vehicles is expressed if all depots close at one time."""
    assert instance.latest is not None
    return len(set(instance.latest[: instance.depots].tolist())) == 1


def _task(instance: VrpInstance, rules: SideConstraints, node: int) -> dict[str, Any]:
    """Return the JSON object of a client: a job, or an end of a shipment."""
    task = tasks_of(instance)[node - instance.depots]
    found: dict[str, Any] = {"id": task.id, **task.given, "location_index": node}
    if instance.service is not None and instance.service[node]:
        found["service"] = _whole("service", instance.service[node])
    if task.kind == "job":
        loads = {"delivery": rules.of("demands", instance.demand[:, None])}
        loads |= {} if rules.pickups is None else {"pickup": rules.pickups}
        found |= {key: _whole(key, each[node]).tolist() for key, each in loads.items()}
    if instance.earliest is not None and instance.latest is not None:
        ends = [each for each in ([] if rules.closed is None else rules.closed.tolist()) if each[0] == node]
        times = [instance.earliest[node], *(t for _, begin, end in sorted(ends) for t in (begin, end)), instance.latest[node]]
        if np.isfinite(times[-1]) or times[0] or ends:
            times[-1] = min(times[-1], 10.0**12)
            found["time_windows"] = _whole("windows", np.array(times)).reshape(-1, 2).tolist()
    if rules.allowed is not None and not rules.allowed[:, node].all():
        found["skills"] = [_skill(rules.allowed, node)]
    return found


def _skill(allowed: NDArray[np.bool_], node: int) -> int:
    """Return the skill that stands for the set of vehicle types that may serve a client: the first client with this set."""
    return int(np.flatnonzero((allowed == allowed[:, node : node + 1]).all(axis=0))[0])


def _vehicles(instance: VrpInstance, rules: SideConstraints) -> list[dict[str, Any]]:
    """Return the JSON objects of all vehicles."""
    vehicles, found = instance.vehicles, []
    for kind, fleet in enumerate(fleet_of(instance)):
        limit, cost = float(vehicles.max_distance[kind]), vehicles.unit_cost[kind] * 3600
        facts: dict[str, Any] = {
            "costs": {"fixed": _whole("fixed_cost", vehicles.fixed_cost[kind]), "per_hour": _whole("unit_cost x 3600", cost)}
        }
        facts |= {"max_travel_time": _whole("max_distance", limit)} if np.isfinite(limit) else {}
        capacity = rules.of("capacities", vehicles.capacity[:, None])[kind]
        total = rules.of("demands", instance.demand[:, None]).sum(axis=0)
        total = total + (0.0 if rules.pickups is None else rules.pickups.sum(axis=0))
        total = total + (0.0 if rules.amounts is None else rules.amounts.sum(axis=0))
        facts["capacity"] = _whole("capacity", np.minimum(np.floor(capacity), np.ceil(total))).tolist()
        window = [0.0, np.inf] if rules.shift is None else rules.shift[kind].tolist()
        closes = np.inf if instance.latest is None else float(instance.latest[0])
        window[1] = min(window[1], closes)
        if window[0] or np.isfinite(window[1]):
            facts["time_window"] = [int(_whole("shift", each)) for each in (window[0], min(window[1], 10.0**12))]
        if rules.allowed is not None:
            clients = np.flatnonzero(~rules.allowed.all(axis=0) & rules.allowed[kind])
            facts |= {"skills": sorted({_skill(rules.allowed, int(node)) for node in clients})}
        found += [{**each, **facts} for each in fleet]
    return found


def _whole(of: str, values: Any) -> Any:
    """Return whole numbers as integers. Raises UsageError for others."""
    array = np.asarray(values, np.float64)
    if not (array == np.floor(array)).all():
        raise UsageError(f"VROOM's format takes whole numbers, which {of} are not; write a .json file")
    return int(array) if array.ndim == 0 else array.astype(np.int64)
