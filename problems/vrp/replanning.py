"""Replanning: the instance of the decisions that remain at the present time, given where the vehicles are.

It contains the whole day: each vehicle that has left its depot becomes a type of its own, whose route must begin with the visits
that are done (`begun` of the side constraints), and the times of these visits are fixed. So the objective value remains that of
the day, and shipments, loads and driving times of the past count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.vrp.evaluation_rules import has_breaks, next_open
from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.tolerance import LIMIT

__all__ = ["Departed", "remaining"]

_Floats = NDArray[np.float64]
_BY_TYPE = (
    "capacities", "aboard", "allowed", "shift", "stays_out", "reloads", "reload_depots", "duration_cost", "overtime_from",
    "overtime_cost", "max_driving", "rest", "profile", "speed_factors",
)  # fmt: skip


@dataclass(frozen=True)
class Departed:
    """A vehicle that has left its depot. Times are in the instance's units (times its `scale`)."""

    kind: int
    """The vehicle type."""
    visits: Sequence[int] = ()
    """The clients whose service has begun, in order."""
    begins: Sequence[float] = ()
    """When each service began."""
    heading: int = -1
    """The client to which the vehicle is on its way, the depot if it is on its way back, or -1 if it waits at its last client."""
    arrival: float | None = None
    """The expected arrival at `heading`; None: computed from the travel time."""
    left: float | None = None
    """When the vehicle left its depot, if it has made no visit; None: the first possible time."""
    loaded: frozenset[int] = frozenset()
    """The clients whose demands were loaded at the departure."""
    name: str = ""
    """The name of the new vehicle type."""


def remaining(instance: VrpInstance, departed: Sequence[Departed], now: float, *, own_loads: bool = True) -> VrpInstance:
    """Return the instance at the time `now`.

    Visits that are done, and the client to which a vehicle is on its way, are fixed; service that has begun is finished. All
    other visits are free: a vehicle leaves its last client at `now` at the earliest, and so do the vehicles at the depots. Breaks
    that must have begun before `now` count as taken. A client to which a vehicle is on its way is served even if it is late.

    The types 0..K-1 are those of `instance`, with as many vehicles as are still at their depots; type K + i is `departed[i]`.

    Args:
        instance: The instance of the whole day.
        departed: The vehicles that have left their depots.
        now: The present time.
        own_loads: Whether the demand of a client is served from what was loaded for this client. A vehicle that has left can then
            serve only demands that it has loaded, and no other vehicle can serve these. If not, loads are interchangeable.

    Raises:
        UsageError: A visit is impossible: in the future, twice, before the vehicle's departure, or after a reload; or travel
            times depend on the hour.
    """
    if instance.rules is not None and instance.rules.hourly:
        raise UsageError("replanning takes no travel times that depend on the hour; accepted: one speed for all hours")
    _check(instance, departed, now)
    split = _split_types(instance, departed)
    rules = split.rules or SideConstraints()
    day = _Day(split, rules)
    first_type = instance.vehicles.types
    for kind, vehicle in enumerate(departed, first_type):
        day.fix(kind, vehicle, now)
    count, shift = _hours(split, rules, first_type, now)
    begun = [np.zeros(0, np.int64)] * first_type + [np.array(_fixed(split, each), np.int64) for each in departed]
    allowed, release = _assignments(split, rules, departed, begun, now, own_loads)
    changed = replace(
        rules,
        begun=tuple(begun),
        shift=shift,
        breaks=None if rules.breaks is None else rules.breaks[rules.breaks[:, 2] >= now],
        closed=day.closed,
        allowed=allowed,
        release=release,
        durations=day.durations,
    )
    return replace(
        split,
        vehicles=replace(split.vehicles, count=count),
        earliest=day.earliest,
        latest=day.latest,
        service=day.service,
        rules=changed,
    )


def _fixed(instance: VrpInstance, vehicle: Departed) -> list[int]:
    """Return the clients that the route of a vehicle must visit first."""
    return [*vehicle.visits, *[vehicle.heading] * (vehicle.heading >= instance.depots)]


def _check(instance: VrpInstance, departed: Sequence[Departed], now: float) -> None:
    """Raise UsageError for visits that are impossible."""
    seen: set[int] = set()
    for vehicle in departed:
        label = instance.vehicle_label(vehicle.kind)
        for node in _fixed(instance, vehicle):
            if not instance.depots <= node < instance.n:
                raise UsageError(
                    f"a vehicle of type {label} has reloaded, or is on its way to; accepted: vehicles on their first trip"
                )
            if node in seen:
                raise UsageError(f"client {instance.labels[node]} is visited twice; accepted: one vehicle, once")
            seen.add(node)
        times = [*vehicle.begins, now]
        for node, one, two in zip([*vehicle.visits], times, times[1:]):
            if one > two:
                later = "now" if one > now else "the vehicle's next visit"
                raise UsageError(f"client {instance.labels[node]}: its service begins after {later}; accepted: earlier times")
    used = np.bincount([each.kind for each in departed], minlength=instance.vehicles.types)
    if (exceeded := (instance.vehicles.count >= 0) & (used > instance.vehicles.count)).any():
        kind = int(exceeded.argmax())
        count = instance.vehicles.count[kind]
        raise UsageError(f"{used[kind]} vehicles of type {instance.vehicle_label(kind)} have left; there are {count}")


def _split_types(instance: VrpInstance, departed: Sequence[Departed]) -> VrpInstance:
    """Return the instance with a type of its own for each vehicle that has left, after the other types."""
    vehicles, rules = instance.vehicles, instance.rules
    kinds = np.array([each.kind for each in departed], np.int64)
    origin = np.concatenate([np.arange(vehicles.types), kinds])
    count = np.concatenate([vehicles.count, np.ones(len(kinds), np.int64)])
    used = np.bincount(kinds, minlength=vehicles.types)
    count[: vehicles.types] = np.where(vehicles.count < 0, -1, vehicles.count - used)
    columns: dict[str, Any] = {each.name: getattr(vehicles, each.name)[origin] for each in fields(Vehicles)}
    if rules is not None:
        rows = {name: getattr(rules, name)[origin] for name in _BY_TYPE if getattr(rules, name) is not None}
        if rules.breaks is not None:
            own = [rules.breaks[rules.breaks[:, 0] == kind, 1:] for kind in origin]
            rows["breaks"] = np.concatenate([np.column_stack([np.full(len(each), k), each]) for k, each in enumerate(own)])
        rules = replace(rules, begun=None, **rows)
    names = instance.vehicle_names and (*instance.vehicle_names, *(each.name for each in departed))
    return replace(instance, vehicles=Vehicles(**columns | {"count": count}), rules=rules, vehicle_names=names)


class _Day:
    """The windows, durations of service and travel times of an instance, changed to those of the visits that are fixed."""

    def __init__(self, instance: VrpInstance, rules: SideConstraints) -> None:
        self._instance, self._rules, n = instance, rules, instance.n
        self.earliest = np.zeros(n) if instance.earliest is None else instance.earliest.copy()
        self.latest = np.full(n, np.inf) if instance.latest is None else instance.latest.copy()
        self.service = np.zeros(n) if instance.service is None else instance.service.copy()
        self.durations = None if rules.durations is None else rules.durations.copy()
        self.pinned: list[int] = []
        """The clients whose window was replaced."""

    def fix(self, kind: int, vehicle: Departed, now: float) -> None:
        """Fix the times of what a vehicle has done, in place. Raises UsageError for a visit before its depot opens."""
        previous = int(self._instance.vehicles.start[kind])
        ready = float(self.earliest[previous])  # when the vehicle could leave `previous`
        for node, begin in zip(vehicle.visits, vehicle.begins):
            if begin < ready and previous < self._instance.depots:
                raise UsageError(f"client {self._instance.labels[node]}: its service begins before the vehicle's depot opens")
            if begin < ready:  # service was shorter than planned
                self.service[previous] -= ready - begin
                ready = begin
            begin = self._reach(kind, previous, node, ready, begin)
            self._pin(node, begin)
            previous, ready = node, begin + float(self.service[node])
        if vehicle.heading >= self._instance.depots:
            self._head(kind, vehicle, previous, ready, now)
        elif vehicle.heading < 0:
            self.service[previous] += max(0.0, now - ready)

    def _head(self, kind: int, vehicle: Departed, previous: int, ready: float, now: float) -> None:
        """Fix the way of a vehicle to the client `vehicle.heading`, where it arrives at `now` at the earliest.

        Args:
            kind: The vehicle type.
            vehicle: The vehicle.
            previous: Its last client or its depot.
            ready: When it could leave there.
            now: The present time.
        """
        node, leaves_depot = vehicle.heading, not vehicle.visits and vehicle.left is not None
        if leaves_depot:
            ready = max(ready, float(vehicle.left or 0.0))
        arrival = ready + self._travel(kind, previous, node) if vehicle.arrival is None else vehicle.arrival
        arrival = self._reach(kind, previous, node, ready, max(arrival, now))
        begin = next_open(self._instance, node, max(arrival, float(self.earliest[node])))
        if begin > self.latest[node]:
            self._pin(node, arrival)
            self.latest[node] += self._longest_pause(kind, now)
        else:
            self.earliest[node] = begin
        # With reloads a later departure must be impossible: the vehicle would load what was not there when it left.
        waits = ready + self._travel(kind, previous, node) < self.earliest[node] * (1.0 - LIMIT)
        if leaves_depot and waits and _may_reload(self._rules, kind) and not has_breaks(self._rules, kind):
            self._set_travel(previous, node, float(self.earliest[node]) - ready)

    @property
    def closed(self) -> _Floats | None:
        """The intervals between the windows that are left."""
        if (closed := self._rules.closed) is None:
            return None
        ahead = closed[:, 1] >= self.earliest[closed[:, 0].astype(np.int64)]
        return closed[ahead & ~np.isin(closed[:, 0], self.pinned)]

    def _longest_pause(self, kind: int, now: float) -> float:
        """Return the total duration of the breaks that a type of vehicle has still to take, and of a rest."""
        rules, pause = self._rules, 0.0
        if rules.breaks is not None:
            pause += float(rules.breaks[(rules.breaks[:, 0] == kind) & (rules.breaks[:, 2] >= now), 3].sum())
        if rules.rest is not None:
            pause += float(rules.rest[kind])
        return pause

    def _reach(self, kind: int, previous: int, node: int, ready: float, time: float) -> float:
        """Return `time`, or the time in which a vehicle reaches a node if that is equal but for rounding.

        If the vehicle was faster than the travel time, this is shortened. Only this vehicle uses the way.
        """
        usual = ready + self._travel(kind, previous, node)
        if usual > time + 0.1 * LIMIT * usual:
            self._set_travel(previous, node, time - ready)
            return time
        return max(usual, time)

    def _pin(self, node: int, time: float) -> None:
        self.earliest[node] = self.latest[node] = time
        self.pinned.append(node)

    def _travel(self, kind: int, one: int, two: int) -> float:
        """Return the travel time of a type of vehicle."""
        tables = self._rules.distances if self.durations is None else self.durations
        if tables is None:
            return float(self._instance.distances_from(one)[two])
        profile = self._rules.profile
        return float(tables[0 if profile is None or len(tables) == 1 else profile[kind], one, two])

    def _set_travel(self, one: int, two: int, duration: float) -> None:
        """Set the travel time between two nodes for all types."""
        if self.durations is None:
            own = self._rules.distances
            if own is None:
                own = np.stack([self._instance.distances_from(node) for node in range(self._instance.n)])[None]
            self.durations = own.astype(np.float64)
        self.durations[:, one, two] = duration


def _may_reload(rules: SideConstraints, kind: int) -> bool:
    """Return whether a type of vehicle may return to a depot to load again."""
    return rules.reloads is not None and bool(rules.reloads[kind] > 0)


def _hours(instance: VrpInstance, rules: SideConstraints, first_type: int, now: float) -> tuple[NDArray[np.int64], _Floats]:
    """Return the number of vehicles of each type, and their shifts.

    The types from `first_type` on have left: their shifts have begun. The others leave at `now` or later, if their shift is not
    over.
    """
    count, kinds = instance.vehicles.count.copy(), np.arange(instance.vehicles.types)
    shift = np.tile([0.0, np.inf], (len(kinds), 1)) if rules.shift is None else rules.shift.copy()
    waiting = kinds < first_type
    shift[~waiting, 0] = 0.0
    shift[waiting, 0] = np.maximum(shift[waiting, 0], now)
    over = waiting & (shift[:, 1] < now)
    count[over], shift[over, 0] = 0, shift[over, 1]
    return count, shift


def _assignments(
    instance: VrpInstance, rules: SideConstraints, departed: Sequence[Departed], begun: Sequence[NDArray[np.int64]], now: float,
    own_loads: bool,
) -> tuple[NDArray[np.bool_], _Floats | None]:  # fmt: skip
    """Return `allowed` and `release` of the side constraints; see `remaining` for the arguments.

    begun: The fixed beginning of each vehicle type.
    """
    types, first_type = instance.vehicles.types, instance.vehicles.types - len(departed)
    allowed = np.ones((types, instance.n), bool) if rules.allowed is None else rules.allowed.copy()
    release = None if rules.release is None else rules.release.copy()
    fixed = np.zeros(instance.n, bool)
    for nodes in begun:
        fixed[nodes] = True
    free = ~fixed & (np.arange(instance.n) >= instance.depots)
    if own_loads:
        demanding = free & rules.of("demands", instance.demand[:, None]).any(axis=1)
        reloading = np.array([_may_reload(rules, kind) for kind in range(types)])
        for kind, vehicle in enumerate(departed, first_type):  # its departure is not fixed, see `_Day._head`
            reloading[kind] &= bool(vehicle.visits) or not has_breaks(rules, kind)
        loaded = np.zeros(instance.n, bool)
        for kind, vehicle in enumerate(departed, first_type):
            own = np.isin(np.arange(instance.n), list(vehicle.loaded)) & demanding
            loaded |= own
            allowed[np.arange(types) != kind] &= ~own
        for kind in range(first_type, types):
            if not reloading[kind]:
                allowed[kind] &= loaded | ~demanding
        if reloading[first_type:].any():
            release = np.zeros(instance.n) if release is None else release
            release[demanding & ~loaded] = np.maximum(release[demanding & ~loaded], now)
    for kind, vehicle in enumerate(departed, first_type):
        if 0 <= vehicle.heading < instance.depots:
            allowed[kind] = False
        allowed[kind, begun[kind]] = True
    if release is not None:
        release[fixed] = 0.0
    return allowed, release
