"""Conversion of an instance to PyVRP's classes, and of its solutions to routes."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route
from corl.problems.vrp.rules import SideConstraints
from corl.problems.vrp.single_client import VehicleTravel, operating_hours
from corl.solvers.integers import integer_factor, integer_loads

__all__ = ["UNKNOWN", "Translation", "servable", "translate", "usable"]

UNKNOWN = ("closed", "breaks", "max_driving", "begun")
"""Side constraints that PyVRP does not support."""

_LARGEST = 2.0**17  # greatest scaled distance: with longer ones its penalties, at most 100,000, are too small
_NEVER = 2**40  # length of a forbidden leg
_FOREVER = 2**62
_NO_RULES = SideConstraints()

_Floats = NDArray[np.float64]


class Translation(NamedTuple):
    """PyVRP's data, and what its clients, shipments and vehicle types are in the instance."""

    data: Any
    kinds: list[int]
    """The instance's vehicle types of which there are vehicles."""
    clients: list[int]
    """The instance's nodes."""
    shipments: list[tuple[int, int]]
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
            kept = [
                node for k, node in enumerate(visits)
                if node >= self.depots or (k > 0 and visits[k - 1] >= self.depots and max(visits[k:]) >= self.depots)
            ]  # fmt: skip
            if kept:
                routes.append(Route(self.kinds[route.vehicle_type()], np.array(kept, np.int32)))
        return routes

    def lets(self, routes: list[Route]) -> bool:
        """Return whether no route has a forbidden leg or client: for PyVRP such legs are long, not forbidden."""
        rules = self.instance.rules or _NO_RULES
        ways = _forbidden(self.instance, rules) if rules.backhauls_last else None
        for kind, visits in routes:
            if rules.allowed is not None and not rules.allowed[kind, visits[visits >= self.depots]].all():
                return False
            path = np.concatenate([[self.instance.vehicles.start[kind]], visits])
            if ways is not None and ways[path[:-1], path[1:]].any():
                return False
        return True

    def _node(self, activity: Any) -> int:
        if activity.is_client():
            return self.clients[int(activity.idx)]
        if activity.is_depot():
            return int(activity.idx)
        start, end = self.shipments[int(activity.idx)]
        return start if activity.is_pickup() else end

    def start(self, routes: list[Route]) -> Any:
        """Return a PyVRP solution of these routes."""
        pyvrp: Any = import_module("pyvrp")
        names = {node: f"C{k}" for k, node in enumerate(self.clients)} | {depot: f"D{depot}" for depot in range(self.depots)}
        for k, (begin, end) in enumerate(self.shipments):
            names |= {begin: f"L{k}", end: f"U{k}"}
        found = []
        for route in routes:
            activities = [pyvrp.Activity(names[node]) for node in route.visits.tolist()]
            found.append(pyvrp.Route(self.data, activities, self.kinds.index(route.vehicle)))
        return pyvrp.Solution(self.data, found)


class _Units(NamedTuple):
    """Distances, times and loads as integers."""

    factor: float
    """The factor of distances and times."""
    money: float
    """The factor of costs of their units."""
    delivery: NDArray[np.int64]
    pickup: NDArray[np.int64]
    amount: NDArray[np.int64]
    aboard: NDArray[np.int64]
    capacity: _Floats
    """[.., Q] each."""

    def early(self, values: _Floats) -> list[int]:
        return [_whole(value) for value in np.ceil(values * self.factor - 1e-6)]

    def late(self, values: _Floats) -> list[int]:
        return [_whole(value) for value in np.floor(values * self.factor + 1e-6)]


def _whole(value: float) -> int:
    return int(min(float(value), float(_FOREVER)))


def usable(instance: VrpInstance) -> list[int]:
    """Return the vehicle types with vehicles, and with hours in which they may leave and be back: PyVRP takes no others."""
    found = []
    for kind in np.flatnonzero(instance.vehicles.count).tolist():
        leave, leave_by, home, home_by = operating_hours(VehicleTravel(instance, kind))
        shift = (0.0, np.inf) if instance.rules is None or instance.rules.shift is None else instance.rules.shift[kind]
        if leave <= leave_by and max(home, float(shift[0])) <= home_by and shift[0] <= shift[1]:
            found.append(kind)
    return found


def servable(instance: VrpInstance) -> list[int]:
    """Return the clients whose release time is before the end of their window: PyVRP takes no others."""
    rules, clients = instance.rules or _NO_RULES, np.arange(instance.n) >= instance.depots
    if rules.release is not None and instance.latest is not None:
        clients &= rules.release <= instance.latest
    return np.flatnonzero(clients).tolist()


def translate(instance: VrpInstance, kinds: list[int], nodes: list[int]) -> Translation:
    """Return the data of these vehicle types and clients for PyVRP.

    Values that are not integers are scaled and rounded to the safe side. Locations are the instance's nodes, and one more if
    vehicles stay out.
    """
    pyvrp: Any = import_module("pyvrp")
    rules = instance.rules or _NO_RULES
    n, depots = instance.n, instance.depots
    distances = np.stack([instance.distances_from(node) for node in range(n)])
    units = _units(instance, rules, distances)
    pairs = [] if rules.shipments is None else [(int(a), int(b)) for a, b in rules.shipments]
    ends = {node for pair in pairs for node in pair}
    clients = [node for node in nodes if node not in ends]
    early = units.early(np.zeros(n) if instance.earliest is None else instance.earliest)
    late = units.late(np.full(n, np.inf) if instance.latest is None else instance.latest)
    service = units.early(np.zeros(n) if instance.service is None else instance.service)
    out = rules.stays_out is not None
    places = [pyvrp.Location(x=float(x), y=float(y)) for x, y in _where(instance)] + [pyvrp.Location(0.0, 0.0)] * out
    homes = [pyvrp.Depot(location=node, tw_early=early[node], tw_late=late[node]) for node in range(depots)]
    homes += [pyvrp.Depot(location=n)] * out
    matrices, profile = _matrices(instance, rules, distances, units, kinds)
    groups, group_of = _groups(rules, clients)
    data = pyvrp.ProblemData(
        places,
        _clients(instance, rules, units, clients, (early, late, service), group_of),
        homes,
        _types(instance, rules, units, kinds, profile),
        *matrices,
        groups,
        [
            pyvrp.Shipment(
                a, b, early[a], late[a], service[a], early[b], late[b], service[b], amount=units.amount[k].tolist()
            )
            for k, (a, b) in enumerate(pairs)
        ],
    )  # fmt: skip
    return Translation(data, kinds, clients, pairs, instance)


def _units(instance: VrpInstance, rules: SideConstraints, distances: _Floats) -> _Units:
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
    scaled = [integer_loads(np.concatenate(loads)[:, k], capacity[:, k], _LARGEST) for k in range(q)]
    ends = np.cumsum([len(each) for each in loads])[:-1]
    delivery, pickup, amount, aboard = np.split(np.column_stack([each for each, _ in scaled]), ends)
    return _Units(
        integer_factor(float(max(part[np.isfinite(part)].max(initial=0.0) for part in times[:1])), _LARGEST, times),
        1.0 if all((rate == np.floor(rate)).all() for rate in rates) else 1000.0,
        delivery,
        pickup,
        amount,
        aboard,
        np.column_stack([each for _, each in scaled]),
    )


def _where(instance: VrpInstance) -> _Floats:
    """Return float64 [n, 2]: coordinates, which PyVRP requires and does not use."""
    return np.zeros((instance.n, 2)) if instance.points is None else np.asarray(instance.points[:, :2])


def _clients(
    instance: VrpInstance, rules: SideConstraints, units: _Units, clients: list[int],
    times: tuple[list[int], list[int], list[int]], group_of: list[int | None],
) -> list[Any]:  # fmt: skip
    pyvrp: Any = import_module("pyvrp")
    early, late, service = times
    release = units.early(np.zeros(instance.n) if rules.release is None else rules.release)
    costs = units.factor * units.money
    return [
        pyvrp.Client(
            location=node,
            delivery=units.delivery[node].tolist(),
            pickup=units.pickup[node].tolist(),
            service_duration=service[node],
            tw_early=early[node],
            tw_late=late[node],
            release_time=release[node],
            prize=round(float(instance.prize[node]) * costs),
            required=bool(instance.required[node]),
            group=group,
        )
        for node, group in zip(clients, group_of)
    ]


def _groups(rules: SideConstraints, clients: list[int]) -> tuple[list[Any], list[int | None]]:
    """Return PyVRP's groups, and the group of each client."""
    pyvrp: Any = import_module("pyvrp")
    if rules.groups is None or rules.group_required is None:
        return [], [None] * len(clients)
    of = [int(rules.groups[node]) for node in clients]
    there = sorted({group for group in of if group >= 0})
    members = [[k for k, group in enumerate(of) if group == g] for g in there]
    groups = [pyvrp.ClientGroup(each, bool(rules.group_required[g])) for g, each in zip(there, members)]
    return groups, [there.index(group) if group >= 0 else None for group in of]


def _types(instance: VrpInstance, rules: SideConstraints, units: _Units, kinds: list[int], profile: list[int]) -> list[Any]:
    pyvrp: Any = import_module("pyvrp")
    vehicles, costs = instance.vehicles, units.factor * units.money
    types, k = vehicles.types, vehicles.count
    shift = rules.of("shift", np.column_stack([np.zeros(types), np.full(types, np.inf)]))
    nominal = np.minimum(vehicles.max_duration, rules.of("overtime_from", np.full(types, np.inf)))
    more = np.where(np.isfinite(vehicles.max_duration), vehicles.max_duration, float(_FOREVER) / 4) - nominal
    over = np.where(np.isfinite(nominal), np.maximum(more, 0.0), 0.0)
    out, rate = rules.of("stays_out", np.zeros(types, bool)), rules.of("duration_cost", np.zeros(types))
    reloads = rules.of("reloads", np.zeros(types, np.int64))
    where = rules.of("reload_depots", np.arange(instance.depots) == vehicles.start[:, None])
    return [
        pyvrp.VehicleType(
            num_available=int(k[kind] if k[kind] >= 0 else instance.clients),
            capacity=[_whole(load) for load in units.capacity[kind]],
            start_depot=int(vehicles.start[kind]),
            end_depot=instance.depots if out[kind] else int(vehicles.end[kind]),
            fixed_cost=round((float(vehicles.fixed_cost[kind]) + instance.route_weight) * costs),
            tw_early=units.early(shift[kind])[0],
            tw_late=units.late(shift[kind])[1],
            shift_duration=units.late(nominal)[kind],
            max_distance=units.late(vehicles.max_distance)[kind],
            unit_distance_cost=round(float(vehicles.unit_cost[kind]) * units.money),
            unit_duration_cost=round(float(rate[kind]) * units.money),
            profile=which,
            initial_load=units.aboard[kind].tolist(),
            reload_depots=np.flatnonzero(where[kind]).tolist() if reloads[kind] else [],
            max_reloads=int(reloads[kind]),
            max_overtime=units.late(over)[kind],
            unit_overtime_cost=round(float(rules.of("overtime_cost", np.zeros(types))[kind]) * units.money),
        )
        for kind, which in zip(kinds, profile)
    ]


# -------------------------------------------------------------------- matrices
def _matrices(
    instance: VrpInstance, rules: SideConstraints, distances: _Floats, units: _Units, kinds: list[int]
) -> tuple[tuple[list[Any], list[Any]], list[int]]:
    """Return the distinct distances and durations of vehicle types, and the index of each type's."""
    found: dict[tuple[Any, ...], int] = {}
    lengths: list[Any] = []
    times: list[Any] = []
    profile: list[int] = []
    for kind in kinds:
        given = 0 if rules.profile is None else int(rules.profile[kind])
        barred = np.zeros(0, np.int64) if rules.allowed is None else np.flatnonzero(~rules.allowed[kind])
        barred = barred[barred >= instance.depots]
        key = (given, barred.tobytes())
        if key not in found:
            found[key] = len(lengths)
            length = distances if rules.distances is None else rules.distances[given]
            lengths.append(_matrix(instance, rules, length, units.factor, barred))
            time = length if rules.durations is None else rules.durations[given]
            times.append(_matrix(instance, rules, time, units.factor, barred))
        profile.append(found[key])
    return (lengths, times), profile


def _matrix(
    instance: VrpInstance, rules: SideConstraints, matrix: _Floats, factor: float, barred: NDArray[np.int64]
) -> NDArray[np.int64]:
    whole = np.ceil(matrix * factor - 1e-6).astype(np.int64)
    whole[:, barred] = _NEVER
    if rules.backhauls_last:
        whole[_forbidden(instance, rules)] = _NEVER
    if rules.stays_out is not None:  # the leg to the end of an open route has length 0
        whole = np.pad(whole, (0, 1))
        whole[-1, :-1] = _NEVER
    np.fill_diagonal(whole, 0)
    return whole


def _forbidden(instance: VrpInstance, rules: SideConstraints) -> NDArray[np.bool_]:
    """Return bool [n, n]: if deliveries come first, legs from a depot to a pickup, and from a pickup to a delivery."""
    brings = rules.of("demands", instance.demand[:, None]).any(axis=1)
    depot = np.arange(instance.n) < instance.depots
    ways = np.zeros((instance.n, instance.n), bool)
    ways[np.ix_(depot, ~brings & ~depot)] = True
    ways[np.ix_(~brings & ~depot, brings)] = True
    return ways
