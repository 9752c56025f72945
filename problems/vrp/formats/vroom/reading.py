"""Reader of VROOM's problems.

Each location where vehicles begin or end becomes a depot, each task a client. Distances between nodes are costs of travel, so the
objective value is VROOM's cost. Equal vehicles become one vehicle type.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.files.json_instances import Field, Record, read_object
from corl.files.text import Text
from corl.problems.vrp.formats.vroom.costs import Travel, travel_of
from corl.problems.vrp.formats.vroom.instance import Task, VroomInstance
from corl.problems.vrp.formats.vroom.kinds import MATRICES, PROBLEM, SHIPMENT, STEP, TASK, VEHICLE, without_empty
from corl.problems.vrp.instance import Vehicles
from corl.problems.vrp.rules import SideConstraints
from corl.routing.edge_weights import LARGEST

__all__ = ["read_text", "recognises"]

_ANYWHERE = -1  # the location of vehicles that begin at their first task
_LISTS = re.compile(r'"(jobs|shipments|vehicles)"\s*:\s*\[')
_PLACES = re.compile(r'"(location|location_index|start|start_index|end|end_index)"\s*:')
_OTHERS = re.compile(r'"(problem|depots|clients|machines)"\s*:')
_UNUSED = ("location", "start", "end", "description", "type")  # fields that do not change which solutions are good

_Floats = NDArray[np.float64]


def recognises(head: str) -> bool:
    """Return whether this is the head of a problem of VROOM."""
    if not head.lstrip().startswith("{") or _OTHERS.search(head):
        return False
    has_lists = _LISTS.search(head) is not None and _PLACES.search(head) is not None
    return has_lists or re.search(r'"matrices"\s*:\s*\{', head) is not None


def read_text(text: Text, name: str = "") -> VroomInstance:
    """Return the instance in a problem of VROOM. Raises InputError, naming the field and what is accepted."""
    return read_object(text, lambda field: from_json_value(field, name))


def from_json_value(field: Field, name: str = "") -> VroomInstance:
    """Return the instance that VROOM's JSON object describes. Raises InputError."""
    cleaned = without_empty(field.value)
    problem = Field(cleaned).record(PROBLEM)
    vehicles = [each.record(VEHICLE) for each in problem["vehicles"].entries()]
    _check_ids(vehicles, "vehicle")
    return _Reader(problem, vehicles).instance(name, cleaned)


class _Reader:
    """The parts of one problem, from which the instance is put together."""

    def __init__(self, problem: Record, vehicles: list[Record]) -> None:
        self.problem = problem
        self.matrices = _matrices(problem, vehicles)
        self.size = len(next(iter(self.matrices.values()))["durations"])
        jobs = [each.record(TASK) for each in problem.get("jobs", []).entries()]
        self.shipments = [each.record(SHIPMENT) for each in problem.get("shipments", []).entries()]
        ends = [(each, kind, each[kind].record(STEP)) for each in self.shipments for kind in ("pickup", "delivery")]
        self.jobs = len(jobs)
        self.tasks = [*jobs, *(step for _, _, step in ends)]
        self.kinds = ["job"] * len(jobs) + [kind for _, kind, _ in ends]
        self.owners = [*jobs, *(shipment for shipment, _, _ in ends)]  # the records with skills and priority
        for kind in ("job", "pickup", "delivery"):
            _check_ids([task for task, each in zip(self.tasks, self.kinds) if each == kind], kind)
        self.places = [self._index(task, "location_index") for task in self.tasks]
        self.groups = self._groups(vehicles)
        firsts = [group[0] for group in self.groups]
        self.starts = [self._index(each, "start_index") if "start_index" in each else _ANYWHERE for each in firsts]
        self.stays_out = [each["end_index"].value is None for each in firsts]
        self.ends = [
            start if out else self._index(each, "end_index") for each, start, out in zip(firsts, self.starts, self.stays_out)
        ]
        self.depots = list(dict.fromkeys([*self.starts, *self.ends]))
        for vehicle, start, out in zip(firsts, self.starts, self.stays_out):
            if start == _ANYWHERE and out:
                raise InputError("accepted: start_index, end_index or both", field=vehicle.place)

    def _index(self, record: Record, key: str) -> int:
        """Return the row of the matrices of a location. Raises InputError."""
        return record[key].integer(0, self.size - 1)

    def _groups(self, vehicles: list[Record]) -> list[list[Record]]:
        """Return groups of vehicles that differ in nothing but their ids, descriptions and coordinates."""
        groups: dict[str, list[Record]] = {}
        for vehicle in vehicles:
            key = repr(sorted((k, v) for k, v in vehicle.values.items() if k not in ("id", *_UNUSED)))
            groups.setdefault(key, []).append(vehicle)
        return list(groups.values())

    def instance(self, name: str, source: Any) -> VroomInstance:
        """Return the instance. Raises InputError."""
        firsts, depots = [group[0] for group in self.groups], len(self.depots)
        setup, service = self._times()
        travels = [travel_of(each, self.matrices[each.get("profile", "car").text()], each.place) for each in firsts]
        nodes = np.array([*self.depots, *self.places])
        distances, durations, profile = self._matrices_of(travels, nodes, setup + service)
        windows, closed = self._windows(depots)
        windowed = bool(windows[:, 0].any() or np.isfinite(windows[:, 1]).any())
        loads, amounts = self._loads(firsts)
        rules = loads | self._fleet_rules(firsts) | ({"closed": closed} if len(closed) else {})
        if len(distances) > 1 or not np.array_equal(distances[0], durations[0]):
            rules |= {"distances": distances, "durations": durations, "profile": profile}
        demand = np.zeros(len(nodes)) if "demands" not in rules else rules["demands"][:, 0]
        capacity = np.full(len(firsts), np.inf) if "capacities" not in rules else rules["capacities"][:, 0]
        if "demands" in rules and rules["demands"].shape[1] == 1:  # one dimension needs no side constraint
            del rules["demands"], rules["capacities"]
        display = self._display(firsts)
        fixed = np.array([each.get("costs", {}).record().get("fixed", 0).integer() for each in firsts], np.float64)
        counts = np.array([len(group) for group in self.groups])
        unit_cost = np.array([each.unit_cost for each in travels])
        vehicles = Vehicles(
            capacity=capacity, count=counts, start=np.array([self.depots.index(each) for each in self.starts]),
            end=np.array([self.depots.index(each) for each in self.ends]), fixed_cost=fixed, unit_cost=unit_cost,
            max_distance=np.array([each.limit for each in travels]),
        )  # fmt: skip
        greatest = unit_cost[:, None] * distances[profile].max(axis=1)
        most = float(greatest[:, depots:].max(axis=0).sum() + (counts * (fixed + greatest[:, :depots].max(axis=1))).sum())
        return VroomInstance(
            name=name, edge_weight_type="EXPLICIT", demand=demand, vehicles=vehicles, matrix=distances[0], depots=depots,
            earliest=windows[:, 0] if windowed else None, latest=windows[:, 1] if windowed else None,
            service=setup + service if (setup + service).any() else None, prize=self._prizes(most),
            required=np.arange(len(nodes)) >= depots + self.jobs, ids=np.arange(len(nodes)), display=display,
            geographic=display is not None,
            units=("", "s", ""), rules=SideConstraints(**rules) if rules else None, names=self._names(),
            vehicle_names=tuple(_group_name(group) for group in self.groups), tasks=self._tasks(setup),
            vehicle_records=tuple(tuple(each.values for each in group) for group in self.groups), amounts=amounts, source=source,
        )  # fmt: skip

    # ---------------------------------------------------------------- matrices and times
    def _matrices_of(
        self, travels: list[Travel], nodes: NDArray[np.int64], action: _Floats
    ) -> tuple[_Floats, _Floats, NDArray[np.int64]]:
        """Return the different cost and time matrices between nodes, and their index for each vehicle type.

        Args:
            travels: The travel of each vehicle type.
            nodes: int64 [n], the location of each node.
            action: float64 [n], setup and service of each node, in seconds.

        Returns:
            float64 [P, n, n], float64 [P, n, n], int64 [types].
        """
        found: dict[tuple[bytes, bytes], tuple[int, _Floats, _Floats]] = {}
        profile = []
        for travel in travels:
            pair = []
            for each in (travel.distances, travel.durations):
                between = each[np.ix_(np.maximum(nodes, 0), np.maximum(nodes, 0))]
                between[nodes == _ANYWHERE] = between[:, nodes == _ANYWHERE] = 0.0
                pair.append(between)
            pair[0] += travel.per_task_second * action[None, :]
            for each in pair:
                np.fill_diagonal(each, 0.0)
            key = (pair[0].tobytes(), pair[1].tobytes())
            profile.append(found.setdefault(key, (len(found), pair[0], pair[1]))[0])
        distances, durations = zip(*((each[1], each[2]) for each in found.values()))
        return np.array(distances), np.array(durations), np.array(profile)

    def _times(self) -> tuple[_Floats, _Floats]:
        """Return setup and service of each node, float64 [n], in seconds.

        Setup does not apply at the location of the previous stop. So it is accepted only at locations that no other task and no
        start of a vehicle has. Raises InputError.
        """
        places = [*self.starts, *self.places]
        for task, place in zip(self.tasks, self.places):
            if task.get("setup", 0).integer() and places.count(place) > 1:
                raise task["setup"].error(
                    "setup at a location that another task or a start has: not supported; accepted: service"
                )
        none = [0.0] * len(self.depots)
        setup, service = ([task.get(key, 0).integer() for task in self.tasks] for key in ("setup", "service"))
        return np.array([*none, *setup], np.float64), np.array([*none, *service], np.float64)

    def _windows(self, depots: int) -> tuple[_Floats, _Floats]:
        """Return float64 [n, 2], the first begin and the last end of each node's windows; float64 [c, 3], gaps between them."""
        windows, gaps = np.array([[0.0, np.inf]] * (depots + len(self.tasks))), []
        for node, task in enumerate(self.tasks, depots):
            if "time_windows" not in task:
                continue
            field = task["time_windows"]
            each = np.array(sorted(field.integers(None, 2).tolist()), np.float64)
            if (each[:, 1] < each[:, 0]).any() or (each[1:, 0] <= each[:-1, 1]).any():
                raise field.error("accepted: windows [begin, end] that do not overlap")
            windows[node] = each[0, 0], each[-1, 1]
            gaps += [(float(node), end, begin) for end, begin in zip(each[:-1, 1], each[1:, 0])]
        return windows, np.array(gaps, np.float64).reshape(-1, 3)

    # ---------------------------------------------------------------- loads and rules
    def _loads(self, firsts: list[Record]) -> tuple[dict[str, Any], int]:
        """Return the fields of SideConstraints on loads, and the number of the file's dimensions. Raises InputError.

        A limit of tasks is one more dimension, in which each job has a delivery of 1.
        """
        jobs = self.tasks[: self.jobs]
        parts = ((firsts, ("capacity",)), (jobs, ("amount", "delivery", "pickup")), (self.shipments, ("amount",)))
        amounts = [each[key] for records, keys in parts for each in records for key in keys if key in each]
        q = len(amounts[0].entries()) if amounts else 0
        limited = any("max_tasks" in each for each in firsts)
        if limited and self.shipments:
            raise next(each["max_tasks"] for each in firsts if "max_tasks" in each).error(
                "max_tasks with shipments: not supported"
            )
        n, depots = len(self.depots) + len(self.tasks), len(self.depots)
        demands, pickups = np.zeros((n, q + limited)), np.zeros((n, q + limited))
        for node, task in enumerate(jobs, depots):
            deprecated = "amount" in task and "delivery" not in task and "pickup" not in task
            demands[node, :q] = _amounts(task, "amount" if deprecated else "delivery", q)
            pickups[node, :q] = _amounts(task, "pickup", q)
        capacities = np.array([[*_amounts(each, "capacity", q), *self._task_limit(each, limited)] for each in firsts], np.float64)
        rules: dict[str, Any] = {}
        if limited:
            demands[depots : depots + self.jobs, q] = 1.0
        if q + limited:
            rules |= {"demands": demands, "capacities": capacities}
        if pickups.any():
            rules["pickups"] = pickups
        if self.shipments:
            pickup_node = depots + self.jobs + 2 * np.arange(len(self.shipments))
            rules["shipments"] = np.column_stack([pickup_node, pickup_node + 1])
            rules["amounts"] = np.array([_amounts(each, "amount", q) if q else [0] for each in self.shipments], np.float64)
        return rules, q

    def _task_limit(self, vehicle: Record, limited: bool) -> list[int]:
        """Return the capacity in the dimension that counts tasks; none if no vehicle has a limit."""
        return [vehicle.get("max_tasks", len(self.tasks)).integer()] if limited else []

    def _fleet_rules(self, firsts: list[Record]) -> dict[str, Any]:
        """Return the fields of SideConstraints on skills, working hours and open ends."""
        rules: dict[str, Any] = {}
        needs = [set(_integers(owner, "skills")) for owner in self.owners]
        if any(needs):
            free = [True] * len(self.depots)
            skills = [set(_integers(vehicle, "skills")) for vehicle in firsts]
            rules["allowed"] = np.array([free + [need <= has for need in needs] for has in skills])
        if any("time_window" in each for each in firsts):
            shift = []
            for each in firsts:
                begin, end = each["time_window"].integers(2).tolist() if "time_window" in each else (0.0, np.inf)
                if end < begin:
                    raise each["time_window"].error(f"ends at {end}, before it begins at {begin}")
                shift.append((float(begin), float(end)))
            rules["shift"] = np.array(shift)
        if any(self.stays_out):
            rules["stays_out"] = np.array(self.stays_out)
        return rules

    def _prizes(self, most: float) -> _Floats:
        """Return the cost of leaving out each node's task, float64 [n]; `most`: an upper bound of the cost of all routes.

        The greatest sum of priorities counts first, then the number of jobs, then the cost. Raises InputError.
        """
        priorities = np.array([owner.get("priority", 0).integer() for owner in self.owners[: self.jobs]], np.int64)
        unit = 10.0 ** np.ceil(np.log10(max(10.0, 1.01 * most)))
        prizes = np.zeros(len(self.depots) + len(self.tasks))
        if self.jobs:
            priorities -= priorities.min()
            ranks = priorities // max(1, int(np.gcd.reduce(priorities)))
            prizes[len(self.depots) : len(self.depots) + self.jobs] = unit * (1.0 + ranks * (self.jobs + 1.0))
        if prizes.max(initial=0.0) > LARGEST:
            message = f"with {self.jobs} jobs and costs up to {most:g}, these are not supported; accepted: fewer levels"
            raise InputError(message, field="priority")
        return prizes

    # ---------------------------------------------------------------- words
    def _tasks(self, setup: _Floats) -> tuple[Task, ...]:
        """Return the task of each client."""
        kept = ("description", "location", "location_index")
        return tuple(
            Task(kind, task["id"].integer(), int(setup[node]), owner.get("priority", 0).integer(),
                 {key: task.values[key] for key in kept if key in task})
            for node, (task, kind, owner) in enumerate(zip(self.tasks, self.kinds, self.owners), len(self.depots))
        )  # fmt: skip

    def _names(self) -> tuple[str, ...]:
        """Return the names of the nodes: descriptions of tasks if each has one of its own, otherwise "job 7" and the like."""
        depots = ["anywhere" if place == _ANYWHERE else f"location {place}" for place in self.depots]
        described = [task.get("description", "").text() for task in self.tasks]
        if not all(described) or len({*depots, *described}) < len(depots) + len(described):
            described = [f"{kind} {task['id'].integer()}" for kind, task in zip(self.kinds, self.tasks)]
        return (*depots, *described)

    def _display(self, firsts: list[Record]) -> _Floats | None:
        """Return longitude and latitude of each node, float64 [n, 2]; None if a location has none."""
        known: dict[int, list[float]] = {}
        for vehicle in firsts:
            for key in ("start", "end"):
                if key in vehicle and f"{key}_index" in vehicle:
                    known[vehicle[f"{key}_index"].integer()] = vehicle[key].numbers(2).tolist()
        tasks = [task["location"].numbers(2).tolist() if "location" in task else None for task in self.tasks]
        if None in tasks or not all(place in known for place in self.depots):
            return None
        return np.array([*(known[place] for place in self.depots), *tasks])


def _matrices(problem: Record, vehicles: list[Record]) -> dict[str, dict[str, _Floats]]:
    """Return the matrices of each profile that a vehicle has: kind -> float64 [m, m]. Raises InputError."""
    records = problem.get("matrices", {}).record()
    given = {key: records.get(key).record(MATRICES) for key in records.values}
    if not given and "matrix" in problem:  # its old form
        given = {"car": Record({"durations": problem["matrix"].value}, "", MATRICES.keys)}
    found: dict[str, dict[str, _Floats]] = {}
    size = None
    for vehicle in vehicles:
        profile = vehicle.get("profile", "car").text()
        if profile in found:
            continue
        if profile not in given:
            message = (
                f"there are no travel times of profile {profile!r}; accepted: durations for each profile, as coordinates alone"
            )
            raise InputError(f"{message} would need a routing engine", field="matrices")
        record, found[profile] = given[profile], {}
        for key in ("durations", "distances", "costs"):
            if key in record or key == "durations":
                size = size or len(record[key].entries())
                found[profile][key] = record[key].integers(size, size).astype(np.float64)
    return found


def _check_ids(records: list[Record], kind: str) -> None:
    """Raise InputError if two of the records have the same id."""
    seen: set[int] = set()
    for each in records:
        if (number := each["id"].integer()) in seen:
            raise each["id"].error(f"there is a {kind} {number} already; accepted: another id")
        seen.add(number)


def _integers(record: Record, key: str) -> list[int]:
    """Return a list of integers; an empty one if the key is missing."""
    return record[key].integers(None).tolist() if key in record else []


def _amounts(record: Record, key: str, q: int) -> list[int]:
    """Return amounts in `q` dimensions; zeros if the key is missing. Raises InputError."""
    return record[key].integers(q).tolist() if key in record else [0] * q


def _group_name(group: list[Record]) -> str:
    """Return the name of a vehicle type: of its only vehicle, or the ids of its vehicles."""
    ids = [each["id"].integer() for each in group]
    if len(group) == 1:
        return f"vehicle {ids[0]}"
    shown = ", ".join(map(str, ids[:4]))
    return f"vehicles {shown}" if len(ids) <= 4 else f"vehicles {shown}, ... ({len(ids)})"
