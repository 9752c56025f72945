"""Necessary conditions of every solution: a vehicle can serve the client if there is no other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.evaluation_rules import next_open
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.routing.shortest_paths import dijkstra
from corl.tolerance import LIMIT, keeps

__all__ = [
    "LIMITS",
    "NO_RULES",
    "VehicleTravel",
    "after_driving",
    "after_service",
    "is_back_in_time",
    "latest_return",
    "operating_hours",
    "servable_nodes",
]

LIMITS = {  # limits that may prevent all vehicles from serving a client, in words
    "capacity": "its demand, pickup or shipment", "allowed": "the vehicles that may serve it", "window": "its window",
    "release": "its release time", "hours": "the hours of depots and vehicles", "distance": "the longest distance",
    "duration": "the longest duration", "pauses": "breaks and rests from driving",
}  # fmt: skip
NO_RULES = SideConstraints()

_MOST_BREAK_CHECKS = 2000  # greatest number of clients whose breaks are checked
_MOST_LENGTHS = 2.5e6, 2.5e7  # greatest number of distances, between points and in a matrix, for shortest paths from a node
_METRICS = ("EXACT_2D", "EXACT_3D")  # no path is shorter than the direct one, except for rounding

_Floats = NDArray[np.float64]
_Label = tuple[float, int, float]  # time, remaining breaks, driving time since the last rest


class VehicleTravel:
    """Distances and travel times of a vehicle type, from its first depot and to its last, over nodes where it may stop."""

    def __init__(self, instance: VrpInstance, kind: int) -> None:
        rules = instance.rules or NO_RULES
        profile = 0 if rules.profile is None else int(rules.profile[kind])
        lengths = instance.matrix if rules.distances is None else rules.distances[profile]
        self.kind, self.instance, self.rules = kind, instance, rules
        self.start, self.end = int(instance.vehicles.start[kind]), int(instance.vehicles.end[kind])
        self.stays_out = rules.stays_out is not None and bool(rules.stays_out[kind])
        self.max_driving = np.inf if rules.max_driving is None else float(rules.max_driving[kind])
        self.rest = np.inf if rules.rest is None else float(rules.rest[kind])
        rows = np.zeros((0, 3)) if rules.breaks is None else rules.breaks[rules.breaks[:, 0] == kind, 1:]
        self.breaks = rows[np.lexsort((rows[:, 0], rows[:, 1]))]
        self.has_breaks = bool(len(self.breaks)) or self.max_driving < np.inf
        self.reloads = _reload_depots(instance, rules, kind)
        self.fits = _fitting_loads(instance, rules, kind)
        self.stops = self.fits.copy() if rules.allowed is None else self.fits & rules.allowed[kind]
        self.stops[: instance.depots] = False
        self.stops[self.reloads] = True
        self._matrices = {False: lengths, True: lengths if rules.durations is None else rules.durations[profile]}
        self.cached: dict[tuple[bool, int, bool], _Floats] = {}

    @cached_property
    def without_breaks(self) -> VehicleTravel:
        """The same for a vehicle without breaks and rests."""
        if not self.has_breaks:
            return self
        other = copy(self)
        other.breaks, other.max_driving, other.rest, other.has_breaks = self.breaks[:0], np.inf, np.inf, False
        other.cached = {}
        return other

    def to(self, node: int, direct: bool, time: bool) -> _Floats:
        """Return float64 [n]: from `node` to all nodes; direct, or by shortest paths; in time, or in distance."""
        return self.row(time, node, False) if direct else self._shortest(time, node, False)

    def back(self, direct: bool, time: bool) -> _Floats:
        """Return float64 [n]: from all nodes to the last depot; see `to`."""
        if self.stays_out:
            return np.zeros(self.instance.n)
        return self.row(time, self.end, True) if direct else self._shortest(time, self.end, True)

    def row(self, time: bool, node: int, towards: bool) -> _Floats:
        """Return float64 [n]: the direct legs from a node, or `towards` it."""
        if (matrix := self._matrices[time]) is None:
            return self.instance.distances_from(node)
        return np.asarray(matrix[:, node] if towards else matrix[node])

    def _shortest(self, time: bool, node: int, towards: bool) -> _Floats:
        """Return float64 [n]: shortest paths over the stops (Dijkstra), with legs of at most the driving time without a rest.

        If it would take too long, it ends early with lower bounds: no node left is nearer than the last one settled.
        """
        towards = towards and self._matrices[time] is not None  # distances between points are symmetric
        time = time and (self._matrices[True] is not self._matrices[False] or self.max_driving < np.inf)
        if (known := self.cached.get((time, node, towards))) is not None:
            return known
        most = self.max_driving if time else np.inf

        def row(node: int) -> _Floats:
            legs = self.row(time, node, towards)
            return np.where(keeps(legs, most), legs, np.inf)

        length, left = row(node), self.stops.copy()
        left[node] = False
        most_steps = _MOST_LENGTHS[self._matrices[time] is not None] / (self.instance.n * self.instance.vehicles.types)
        for steps, nearest in enumerate(dijkstra(row, length, left)):
            if steps + 1 > most_steps:
                length = np.minimum(length, length[nearest])
                if self._matrices[time] is None and self.instance.edge_weight_type in _METRICS:
                    length = np.maximum(length, self.row(time, node, towards) * (1.0 - LIMIT))
                break
        self.cached[time, node, towards] = length
        return length


def servable_nodes(travel: VehicleTravel, direct: bool, limits: set[str], asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return bool [n]: which of the nodes `asked` a vehicle of this type could serve.

    Args:
        travel: Of the vehicle type.
        direct: On a route with this client only; otherwise over shortest paths, with breaks anywhere, and other clients demanding
            nothing.
        limits: The keys of `LIMITS` that hold.
        asked: bool [n].
    """
    instance, rules, kind = travel.instance, travel.rules, travel.kind
    travel = travel if "pauses" in limits else travel.without_breaks
    good = asked & travel.fits if "capacity" in limits else asked.copy()
    if "allowed" in limits and rules.allowed is not None:
        good &= rules.allowed[kind]
    if not good.any():
        return np.asarray(good)
    if "distance" in limits:
        good &= keeps(travel.to(travel.start, direct, False) + travel.back(direct, False), instance.vehicles.max_distance[kind])
    good &= _in_time(travel, direct, limits)
    if travel.has_breaks:
        good = _check_breaks(travel, direct, limits, good)
    return np.asarray(good)


def _in_time(travel: VehicleTravel, direct: bool, limits: set[str]) -> NDArray[np.bool_]:
    """Return bool [n]: whether windows, hours, release times and durations allow the node, without breaks."""
    instance, kind = travel.instance, travel.kind
    to, back = travel.to(travel.start, direct, True), travel.back(direct, True)
    service, closes = _service(instance), _closes(instance, limits)
    first, last, home_from, home_by = operating_hours(travel, limits)
    begin = np.full(instance.n, np.inf)
    for leave, way in _departures(travel, direct, limits, first, last):
        begin = np.minimum(begin, _begin(travel, limits, leave + way))
    ready = np.maximum(begin + service + back, home_from)
    good = keeps(begin, closes) & keeps(ready, home_by) & (ready < np.inf)
    if "duration" in limits:
        longest, size = instance.vehicles.max_duration[kind], np.maximum(ready, 2.0 * latest_return(travel, limits))
        good &= keeps(to + service + back, longest, size)
        with np.errstate(invalid="ignore"):  # infinities, which are refused already
            good &= keeps(ready - np.minimum(last, closes - to), longest, size)  # left as late as possible
    return np.asarray(good)


def _departures(
    travel: VehicleTravel, direct: bool, limits: set[str], first: float, last: float
) -> list[tuple[_Floats, _Floats]]:
    """Return pairs of float64 [n]: when a trip to each client may leave (inf: never), and its travel time to the client.

    There is one pair for the first depot and one for every depot where the vehicle may reload.
    """
    instance, rules = travel.instance, travel.rules
    release = np.zeros(instance.n) if rules.release is None or "release" not in limits else rules.release
    to = travel.to(travel.start, direct, True)
    leave = np.maximum(first, release)
    found = [(np.where(keeps(leave, last), leave, np.inf), to)]
    if not direct and keeps(first, last):
        for depot in travel.reloads:
            opens, closes = _opens(instance, limits)[depot], _closes(instance, limits)[depot]
            leave = np.maximum(max(opens, first + to[depot]), release)
            found.append((np.where(keeps(leave, closes), leave, np.inf), travel.to(int(depot), False, True)))
    return found


def _check_breaks(travel: VehicleTravel, direct: bool, limits: set[str], good: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return bool [n]: which of the nodes that are `good` without breaks are so with them."""
    instance, good = travel.instance, good.copy()
    to, back = travel.to(travel.start, direct, True), travel.back(direct, True)
    first, last, home_from, home_by = operating_hours(travel, limits)
    departures = _departures(travel, direct, limits, first, last)
    closes = _closes(instance, limits)
    if direct:
        good &= keeps(to, travel.max_driving) & keeps(back, travel.max_driving)
    soon, late = (_nearest_stop(travel, direct, towards) for towards in (False, True))
    for node in np.flatnonzero(good)[:_MOST_BREAK_CHECKS].tolist():
        labels: list[_Label] = []
        for number, (leave, way) in enumerate(departures):
            if leave[node] < np.inf:
                least = 0 if number else len(travel.breaks)  # any number of breaks may have been taken before a reload
                states = [(float(leave[node]), left, 0.0) for left in range(least, len(travel.breaks) + 1)]
                labels += after_driving(travel, states, float(way[node]), 0.0 if number else min(float(way[node]), soon), 0.0)
        labels = after_service(travel, labels, node, float(closes[node]), limits)
        labels = after_driving(travel, labels, float(back[node]), 0.0, min(float(back[node]), late))
        good[node] = any(is_back_in_time(travel, label, home_from, home_by) for label in labels)
    return good


def _nearest_stop(travel: VehicleTravel, direct: bool, towards: bool) -> float:
    """Return the least travel time from the first depot to a stop, or from a stop to the last depot; inf if `direct`."""
    if direct:
        return np.inf
    if towards and travel.stays_out:
        return 0.0
    return float(travel.row(True, travel.end if towards else travel.start, towards)[travel.stops].min(initial=np.inf))


def after_service(travel: VehicleTravel, labels: list[_Label], node: int, closes: float, limits: set[str]) -> list[_Label]:
    """Return the labels after service at `node`, from those on arrival; labels that are too late are dropped."""
    found = []
    for time, left, since in labels:
        begin = float(_begin(travel, limits, np.full(1, time), node)[0])
        if keeps(begin, closes):
            found.append((begin + float(_service(travel.instance)[node]), left, since))
    return found


def after_driving(travel: VehicleTravel, labels: list[_Label], way: float, soon: float, late: float) -> list[_Label]:
    """Return the labels after a leg of travel time `way`, from those before it.

    Breaks may be taken anywhere on the leg except during its first `soon` and its last `late` units of time. The labels are lower
    bounds: never later, nor with more driving time, than possible. Dominated labels are dropped; an infinite leg leaves none.
    """
    found: list[_Label] = []
    if way == np.inf:
        return found
    for time, left, since in labels:
        free, arrival = time + soon, time + way
        found += _after_rests(travel, arrival, left, 0, since + way)
        for count, (early, by, long) in enumerate(travel.breaks[len(travel.breaks) - left :].tolist(), 1):
            begin = max(free, early)
            if not keeps(begin, by):
                break
            free, arrival = begin + long, max(arrival + long, begin + long + late)
            found += _after_rests(travel, arrival, left, count, since + way)
    return _drop_dominated(found)


def _after_rests(travel: VehicleTravel, arrival: float, left: int, count: int, since: float) -> list[_Label]:
    """Return the labels on arrival after `count` more breaks and as many rests as this much driving requires, or one more."""
    if travel.max_driving == np.inf:
        return [(arrival, left - count, 0.0)]
    if travel.max_driving == 0.0:
        return [(arrival, left - count, 0.0)] if since == 0.0 else []
    begun = len(travel.breaks) - left
    long = sum(float(each) >= travel.rest for each in travel.breaks[begun : begun + count, 2])
    needed = max(0, math.ceil(since / travel.max_driving * (1.0 - LIMIT)) - 1)
    rests = [max(0, needed + more - long) for more in (0, 1)]
    if travel.rest == np.inf:
        rests = [each for each in rests if each == 0]
    return [
        (arrival + (rest * travel.rest if rest else 0.0), left - count, max(0.0, since - (rest + long) * travel.max_driving))
        for rest in rests
    ]  # fmt: skip


def _drop_dominated(labels: list[_Label]) -> list[_Label]:
    """Return the labels that no other one dominates."""
    kept: list[_Label] = []
    for label in sorted(labels):
        if not any(all(a <= b for a, b in zip(other, label)) for other in kept):
            kept.append(label)
    return kept


def is_back_in_time(travel: VehicleTravel, label: _Label, home_from: float, home_by: float) -> bool:
    """Return whether a label at the end of the route is in time, and before the latest starts of the breaks not taken."""
    time = max(label[0], home_from)
    late = travel.breaks[len(travel.breaks) - label[1] :, 1]
    return bool(keeps(time, home_by) and keeps(time, late.min(initial=np.inf)))


# -------------------------------------------------------------------- the instance under these limits
def operating_hours(travel: VehicleTravel, limits: Iterable[str] = LIMITS) -> tuple[float, float, float, float]:
    """Return the first and the last departure, and the first and the last return, of a vehicle."""
    if "hours" not in limits:
        return 0.0, np.inf, 0.0, np.inf
    instance, shift = travel.instance, (0.0, np.inf) if travel.rules.shift is None else travel.rules.shift[travel.kind]
    opens, closes = _opens(instance, limits), _closes(instance, limits)
    home = (0.0, np.inf) if travel.stays_out else (float(opens[travel.end]), float(closes[travel.end]))
    return max(float(opens[travel.start]), float(shift[0])), float(closes[travel.start]), home[0], min(home[1], float(shift[1]))


def latest_return(travel: VehicleTravel, limits: Iterable[str] = LIMITS) -> float:
    """Return an upper bound of the return of a vehicle that keeps its maximum duration and its hours (except for rounding).

    Once everything has opened, it waits for nothing. The judge's tolerance of a duration is a share of the time of the return.
    """
    instance, rules = travel.instance, travel.rules
    next_open = [_opens(instance, LIMITS), np.zeros(0) if rules.release is None else rules.release]
    next_open.append(np.zeros(0) if rules.shift is None else rules.shift[travel.kind, :1])
    longest = float(instance.vehicles.max_duration[travel.kind])
    return min(operating_hours(travel, limits)[3], float(np.concatenate(next_open).max()) + longest)


def _opens(instance: VrpInstance, limits: Iterable[str]) -> _Floats:
    return _limit_or(instance, limits, instance.earliest, 0.0)


def _closes(instance: VrpInstance, limits: Iterable[str]) -> _Floats:
    return _limit_or(instance, limits, instance.latest, np.inf)


def _limit_or(instance: VrpInstance, limits: Iterable[str], given: _Floats | None, otherwise: float) -> _Floats:
    """Return float64 [n]: `given` where the limit is among `limits`, otherwise the default.

    The limit of depots is "hours", that of clients "window".
    """
    values = np.full(instance.n, otherwise)
    if given is not None:
        for limit, nodes in (("hours", slice(0, instance.depots)), ("window", slice(instance.depots, None))):
            if limit in limits:
                values[nodes] = given[nodes]
    return values


def _begin(travel: VehicleTravel, limits: set[str], arrival: _Floats, node: int | None = None) -> _Floats:
    """Return when service begins after arrival at these times, at every node or at one."""
    nodes = slice(None) if node is None else slice(node, node + 1)
    begin = np.maximum(arrival, _opens(travel.instance, limits)[nodes])
    closed = travel.rules.closed
    if closed is not None and "window" in limits:
        for each in np.unique(closed[:, 0].astype(np.int64)).tolist() if node is None else [node]:
            at = each if node is None else 0
            begin[at] = next_open(travel.instance, each, float(begin[at]))
    return begin


def _service(instance: VrpInstance) -> _Floats:
    return np.zeros(instance.n) if instance.service is None else instance.service


def _reload_depots(instance: VrpInstance, rules: SideConstraints, kind: int) -> NDArray[np.int64]:
    if rules.reloads is None or not rules.reloads[kind]:
        return np.zeros(0, np.int64)
    own = np.arange(instance.depots) == instance.vehicles.start[kind]
    return np.flatnonzero(own if rules.reload_depots is None else rules.reload_depots[kind])


def _fitting_loads(instance: VrpInstance, rules: SideConstraints, kind: int) -> NDArray[np.bool_]:
    """Return bool [n]: whether the client's delivery, pickup and shipment each fit into the vehicle, in every dimension."""
    q = rules.dimensions
    capacity = rules.of("capacities", np.repeat(instance.vehicles.capacity[:, None], q, axis=1))[kind]
    good = keeps(rules.of("demands", instance.demand[:, None]), capacity).all(axis=1)
    if rules.pickups is not None:
        good &= keeps(rules.pickups, capacity).all(axis=1)
    if rules.shipments is not None and rules.amounts is not None:
        good[rules.shipments] &= keeps(rules.amounts, capacity).all(axis=1)[:, None]
    return np.asarray(good)
