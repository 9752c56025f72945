"""Conversion of an instance to PyVRP's classes, and of PyVRP's solutions to routes."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route
from corl.problems.vrp.rules import SideConstraints
from corl.problems.vrp.single_client import operating_hours
from corl.problems.vrp.vehicle_travel import VehicleTravel
from corl.solvers.integers import integer_factor, integer_loads

__all__ = ["UNSUPPORTED", "Translation", "servable_clients", "translate", "usable_types"]

UNSUPPORTED = (
    "closed", "breaks", "max_driving", "begun", "soft_windows", "speed_factors", "period_durations", "clusters", "balance",
    "roster",
)  # fmt: skip
"""Side constraints that PyVRP does not support."""

_MAX_SCALED = 2.0**20  # greatest scaled distance
_MAX_LEG_COST = 2.0**15  # of a scaled leg, beside a unit of load: dearer ones outweigh PyVRP's penalties, at most 100,000
_MAX_LOAD = 2.0**34  # greatest load in smaller units: its product with a penalty is far below 2**62
_FORBIDDEN_LEG = 2**40  # length of a forbidden leg
_UNLIMITED = 2**62  # stands for an infinite value
_NO_RULES = SideConstraints()

_Floats = NDArray[np.float64]


class Translation(NamedTuple):
    """PyVRP's data of an instance, and the instance's vehicle type or nodes for each PyVRP type, client and shipment."""

    data: Any
    """The `pyvrp.ProblemData`."""
    kinds: list[int]
    """PyVRP's vehicle type -> the instance's vehicle type."""
    clients: list[int]
    """PyVRP's client -> the instance's node."""
    shipments: list[tuple[int, int]]
    """PyVRP's shipment -> the instance's nodes of its pickup and its delivery."""
    instance: VrpInstance

    @property
    def depots(self) -> int:
        """The number of depots."""
        return self.instance.depots

    def routes(self, solution: Any) -> list[Route]:
        """Return the routes of a PyVRP solution."""
        routes = []
        for route in solution.routes():
            visits = [self._node(activity) for activity in route][1:-1]  # depots at both ends
            kept = [  # the clients, and a visit to a depot only directly after a client and only if some client follows
                node for k, node in enumerate(visits)
                if node >= self.depots or (k > 0 and visits[k - 1] >= self.depots and max(visits[k:]) >= self.depots)
            ]  # fmt: skip
            if kept:
                routes.append(Route(self.kinds[route.vehicle_type()], np.array(kept, np.int32)))
        return routes

    def allows(self, routes: list[Route]) -> bool:
        """Return whether no route contains a forbidden leg or client. For PyVRP, these are merely very long legs."""
        rules = self.instance.rules or _NO_RULES
        forbidden = _forbidden_legs(self.instance, rules) if rules.backhauls_last else None
        for kind, visits in routes:
            if rules.allowed is not None and not rules.allowed[kind, visits[visits >= self.depots]].all():
                return False
            path = np.concatenate([[self.instance.vehicles.start[kind]], visits])
            if forbidden is not None and forbidden[path[:-1], path[1:]].any():
                return False
        return True

    def _node(self, activity: Any) -> int:
        """Return the instance's node at which an activity of a PyVRP route takes place."""
        if activity.is_client():
            return self.clients[int(activity.idx)]
        if activity.is_depot():
            return int(activity.idx)
        start, end = self.shipments[int(activity.idx)]
        return start if activity.is_pickup() else end

    def start(self, routes: list[Route]) -> Any:
        """Return a PyVRP solution with these routes."""
        pyvrp: Any = import_module("pyvrp")
        names = {node: f"C{k}" for k, node in enumerate(self.clients)} | {depot: f"D{depot}" for depot in range(self.depots)}
        for k, (begin, end) in enumerate(self.shipments):
            names |= {begin: f"L{k}", end: f"U{k}"}
        found = []
        for route in routes:
            activities = [pyvrp.Activity(names[node]) for node in route.visits.tolist()]
            found.append(pyvrp.Route(self.data, activities, self.kinds.index(route.vehicle)))
        return pyvrp.Solution(self.data, found)


class _Integers(NamedTuple):
    """The scaling of distances and times to integers, and the loads as integers, in Q dimensions."""

    factor: float
    """The factor of distances and times."""
    cost_factor: float
    """The factor of the costs of a unit of distance and of time."""
    delivery: NDArray[np.int64]
    """int64 [n, Q]: the load delivered to each node."""
    pickup: NDArray[np.int64]
    """int64 [n, Q]: the load collected at each node."""
    amount: NDArray[np.int64]
    """int64 [shipments, Q]: the load of each shipment."""
    initial_load: NDArray[np.int64]
    """int64 [types, Q]: the load on board at the start."""
    capacity: _Floats
    """float64 [types, Q]: the capacity, an integer or inf."""

    def round_up(self, values: _Floats) -> list[int]:
        """Return times or distances, scaled and rounded up."""
        return [_whole(value) for value in np.ceil(values * self.factor - 1e-6)]

    def round_down(self, values: _Floats) -> list[int]:
        """Return times or distances, scaled and rounded down."""
        return [_whole(value) for value in np.floor(values * self.factor + 1e-6)]


def _whole(value: float) -> int:
    """Return a value without fraction, possibly inf, as an integer."""
    return int(min(float(value), float(_UNLIMITED)))


def usable_types(instance: VrpInstance) -> list[int]:
    """Return the vehicle types that can drive: PyVRP takes no type without vehicles, or without time to leave and to return."""
    found = []
    for kind in np.flatnonzero(instance.vehicles.count).tolist():
        leave, leave_by, home, home_by = operating_hours(VehicleTravel(instance, kind))
        shift = (0.0, np.inf) if instance.rules is None or instance.rules.shift is None else instance.rules.shift[kind]
        if leave <= leave_by and max(home, float(shift[0])) <= home_by and shift[0] <= shift[1]:
            found.append(kind)
    return found


def servable_clients(instance: VrpInstance) -> list[int]:
    """Return the clients that are released before their window ends: PyVRP takes no others."""
    rules, clients = instance.rules or _NO_RULES, np.arange(instance.n) >= instance.depots
    if rules.release is not None and instance.latest is not None:
        clients &= rules.release <= instance.latest
    return np.flatnonzero(clients).tolist()


def translate(instance: VrpInstance, kinds: list[int], nodes: list[int]) -> Translation:
    """Return PyVRP's data for some vehicle types and clients of an instance.

    Values that are not integers are scaled, and rounded so that a solution for PyVRP is feasible in the instance. PyVRP's
    locations are the instance's nodes and, if some vehicles do not return, one more, at which their routes end.

    Args:
        instance: The instance.
        kinds: The vehicle types, from `usable_types`.
        nodes: The clients, from `servable_clients`.
    """
    pyvrp: Any = import_module("pyvrp")
    rules = instance.rules or _NO_RULES
    n, depots = instance.n, instance.depots
    distances = np.stack([instance.distances_from(node) for node in range(n)])
    integers = _to_integers(instance, rules, distances)
    pairs = [] if rules.shipments is None else [(int(a), int(b)) for a, b in rules.shipments]
    ends = {node for pair in pairs for node in pair}
    clients = [node for node in nodes if node not in ends]
    early = integers.round_up(np.zeros(n) if instance.earliest is None else instance.earliest)
    late = integers.round_down(np.full(n, np.inf) if instance.latest is None else instance.latest)
    service = integers.round_up(np.zeros(n) if instance.service is None else instance.service)
    some_open = rules.stays_out is not None
    places = [pyvrp.Location(x=float(x), y=float(y)) for x, y in _coordinates(instance)] + [pyvrp.Location(0.0, 0.0)] * some_open
    homes = [pyvrp.Depot(location=node, tw_early=early[node], tw_late=late[node]) for node in range(depots)]
    homes += [pyvrp.Depot(location=n)] * some_open
    matrices, profile = _matrices(instance, rules, distances, integers, kinds)
    groups, group_of = _groups(rules, clients)
    data = pyvrp.ProblemData(
        places,
        _clients(instance, rules, integers, clients, (early, late, service), group_of),
        homes,
        _types(instance, rules, integers, kinds, profile),
        *matrices,
        groups,
        [
            pyvrp.Shipment(
                a, b, early[a], late[a], service[a], early[b], late[b], service[b], amount=integers.amount[k].tolist()
            )
            for k, (a, b) in enumerate(pairs)
        ],
    )  # fmt: skip
    return Translation(data, kinds, clients, pairs, instance)


def _to_integers(instance: VrpInstance, rules: SideConstraints, distances: _Floats) -> _Integers:
    """Return the scaling and the integer loads of an instance.

    Costs per unit that are not integers are multiplied by 1,000 and rounded. Loads are in smaller units where a leg may cost much
    beside the greatest penalty of a unit of load too much.
    """
    vehicles, n, q = instance.vehicles, instance.n, rules.dimensions
    times = [distances, vehicles.max_distance, vehicles.max_duration]
    times += [
        part for part in (
            instance.service, instance.earliest, instance.latest, rules.durations, rules.distances, rules.shift, rules.release,
            rules.overtime_from,
        ) if part is not None
    ]  # fmt: skip
    rates = [part for part in (vehicles.unit_cost, rules.duration_cost, rules.overtime_cost) if part is not None]
    loads = [
        rules.of("demands", instance.demand[:, None]), rules.of("pickups", np.zeros((n, q))),
        rules.of("amounts", np.zeros((0, q))), rules.of("aboard", np.zeros((vehicles.types, q))),
    ]  # fmt: skip
    capacity = rules.of("capacities", np.repeat(vehicles.capacity[:, None], q, axis=1))
    longest = float(distances[np.isfinite(distances)].max(initial=0.0))
    factor = integer_factor(longest, _MAX_SCALED, times)
    cost_factor = 1.0 if all((rate == np.floor(rate)).all() for rate in rates) else 1000.0
    scaled = [integer_loads(np.concatenate(loads)[:, k], capacity[:, k], _MAX_SCALED) for k in range(q)]
    integers = np.column_stack([each for each, _ in scaled])
    dearest = longest * factor * float(vehicles.unit_cost.max()) * cost_factor
    units = max(1, int(min(dearest / _MAX_LEG_COST, _MAX_LOAD / max(1, integers.max(initial=0)))))
    limits = np.column_stack([each for _, each in scaled]) * units
    delivery, pickup, amount, initial_load = np.split(integers * units, np.cumsum([len(each) for each in loads])[:-1])
    return _Integers(factor, cost_factor, delivery, pickup, amount, initial_load, limits)


def _coordinates(instance: VrpInstance) -> _Floats:
    """Return float64 [n, 2]: coordinates, which PyVRP requires and does not use."""
    return np.zeros((instance.n, 2)) if instance.points is None else np.asarray(instance.points[:, :2])


def _clients(
    instance: VrpInstance, rules: SideConstraints, integers: _Integers, clients: list[int],
    times: tuple[list[int], list[int], list[int]], group_of: list[int | None],
) -> list[Any]:  # fmt: skip
    pyvrp: Any = import_module("pyvrp")
    early, late, service = times
    release = integers.round_up(np.zeros(instance.n) if rules.release is None else rules.release)
    cost_scale = integers.factor * integers.cost_factor
    return [
        pyvrp.Client(
            location=node,
            delivery=integers.delivery[node].tolist(),
            pickup=integers.pickup[node].tolist(),
            service_duration=service[node],
            tw_early=early[node],
            tw_late=late[node],
            release_time=release[node],
            prize=round(float(instance.prize[node]) * cost_scale),
            required=bool(instance.required[node]),
            group=group,
        )
        for node, group in zip(clients, group_of)
    ]


def _groups(rules: SideConstraints, clients: list[int]) -> tuple[list[Any], list[int | None]]:
    """Return PyVRP's groups, and the index of each client's group, None for a client without a group."""
    pyvrp: Any = import_module("pyvrp")
    if rules.groups is None or rules.group_required is None:
        return [], [None] * len(clients)
    client_groups = [int(rules.groups[node]) for node in clients]
    group_numbers = sorted({group for group in client_groups if group >= 0})
    members = [[k for k, group in enumerate(client_groups) if group == g] for g in group_numbers]
    groups = [pyvrp.ClientGroup(each, bool(rules.group_required[g])) for g, each in zip(group_numbers, members)]
    return groups, [group_numbers.index(group) if group >= 0 else None for group in client_groups]


def _types(instance: VrpInstance, rules: SideConstraints, integers: _Integers, kinds: list[int], profile: list[int]) -> list[Any]:
    pyvrp: Any = import_module("pyvrp")
    vehicles, cost_scale = instance.vehicles, integers.factor * integers.cost_factor
    types, counts = vehicles.types, vehicles.count
    shift = rules.of("shift", np.column_stack([np.zeros(types), np.full(types, np.inf)]))
    regular_duration = np.minimum(vehicles.max_duration, rules.of("overtime_from", np.full(types, np.inf)))
    overtime = np.where(np.isfinite(vehicles.max_duration), vehicles.max_duration, float(_UNLIMITED) / 4) - regular_duration
    max_overtime = np.where(np.isfinite(regular_duration), np.maximum(overtime, 0.0), 0.0)
    stays_out, rate = rules.of("stays_out", np.zeros(types, bool)), rules.of("duration_cost", np.zeros(types))
    reloads = rules.of("reloads", np.zeros(types, np.int64))
    reload_depots = rules.of("reload_depots", np.arange(instance.depots) == vehicles.start[:, None])
    return [
        pyvrp.VehicleType(
            num_available=int(counts[kind] if counts[kind] >= 0 else instance.clients),
            capacity=[_whole(load) for load in integers.capacity[kind]],
            start_depot=int(vehicles.start[kind]),
            end_depot=instance.depots if stays_out[kind] else int(vehicles.end[kind]),
            fixed_cost=round((float(vehicles.fixed_cost[kind]) + instance.route_weight) * cost_scale),
            tw_early=integers.round_up(shift[kind])[0],
            tw_late=integers.round_down(shift[kind])[1],
            shift_duration=integers.round_down(regular_duration)[kind],
            max_distance=integers.round_down(vehicles.max_distance)[kind],
            unit_distance_cost=round(float(vehicles.unit_cost[kind]) * integers.cost_factor),
            unit_duration_cost=round(float(rate[kind]) * integers.cost_factor),
            profile=which,
            initial_load=integers.initial_load[kind].tolist(),
            reload_depots=np.flatnonzero(reload_depots[kind]).tolist() if reloads[kind] else [],
            max_reloads=int(reloads[kind]),
            max_overtime=integers.round_down(max_overtime)[kind],
            unit_overtime_cost=round(float(rules.of("overtime_cost", np.zeros(types))[kind]) * integers.cost_factor),
        )
        for kind, which in zip(kinds, profile)
    ]


# -------------------------------------------------------------------- matrices
def _matrices(
    instance: VrpInstance, rules: SideConstraints, distances: _Floats, integers: _Integers, kinds: list[int]
) -> tuple[tuple[list[Any], list[Any]], list[int]]:
    """Return PyVRP's matrices of distances and of durations, each distinct pair once, and the index of each type's pair."""
    index_of: dict[tuple[Any, ...], int] = {}
    lengths: list[Any] = []
    times: list[Any] = []
    profile: list[int] = []
    for kind in kinds:
        number = 0 if rules.profile is None else int(rules.profile[kind])
        not_allowed = np.zeros(0, np.int64) if rules.allowed is None else np.flatnonzero(~rules.allowed[kind])
        not_allowed = not_allowed[not_allowed >= instance.depots]
        key = (number, not_allowed.tobytes())
        if key not in index_of:
            index_of[key] = len(lengths)
            length = distances if rules.distances is None else rules.distances[number]
            lengths.append(_matrix(instance, rules, length, integers.factor, not_allowed))
            time = length if rules.durations is None else rules.durations[number]
            times.append(_matrix(instance, rules, time, integers.factor, not_allowed))
        profile.append(index_of[key])
    return (lengths, times), profile


def _matrix(
    instance: VrpInstance, rules: SideConstraints, matrix: _Floats, factor: float, not_allowed: NDArray[np.int64]
) -> NDArray[np.int64]:
    scaled = np.ceil(matrix * factor - 1e-6).astype(np.int64)
    scaled[:, not_allowed] = _FORBIDDEN_LEG
    if rules.backhauls_last:
        scaled[_forbidden_legs(instance, rules)] = _FORBIDDEN_LEG
    if rules.stays_out is not None:  # the leg to the end of an open route has length 0
        scaled = np.pad(scaled, (0, 1))
        scaled[-1, :-1] = _FORBIDDEN_LEG
    np.fill_diagonal(scaled, 0)
    return scaled


def _forbidden_legs(instance: VrpInstance, rules: SideConstraints) -> NDArray[np.bool_]:
    """Return bool [n, n]: the legs that are forbidden if trips deliver before they collect.

    They are the legs from a depot to a client without a delivery, and from a client without a delivery to one with a delivery.
    """
    has_delivery = rules.of("demands", instance.demand[:, None]).any(axis=1)
    depot = np.arange(instance.n) < instance.depots
    legs = np.zeros((instance.n, instance.n), bool)
    legs[np.ix_(depot, ~has_delivery & ~depot)] = True
    legs[np.ix_(~has_delivery & ~depot, has_delivery)] = True
    return legs
