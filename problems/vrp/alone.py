"""Whether a vehicle could serve one client, if nobody else asked for anything: what must hold in any solution."""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.evaluation_rules import opened
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import Rules
from corl.routing.shortest_paths import dijkstra
from corl.tolerance import LIMIT, keeps

__all__ = ["LIMITS", "NO_RULES", "Ways", "able", "driven", "hours", "is_back", "latest_back", "passes"]

LIMITS = {  # what may stand between a client and every vehicle, in words
    "capacity": "what it is to be brought or hands over", "allowed": "the vehicles that may serve it", "window": "its window",
    "release": "its release time", "hours": "the hours of depots and vehicles", "distance": "the longest distance",
    "duration": "the longest duration", "pauses": "breaks and rests from driving",
}  # fmt: skip
NO_RULES = Rules()

_MOST_WALKS = 2000  # clients whose pauses are looked at
_MOST_LENGTHS = 2.5e6, 2.5e7  # between points, and in a matrix, that are looked at for shortest ways from a node
_METRICS = ("EXACT_2D", "EXACT_3D")  # no way is shorter than the direct one, but for rounding

_Floats = NDArray[np.float64]
_Label = tuple[float, int, float]  # time, breaks to come, driven since the last rest


class Ways:
    """Lengths and times of ways from a vehicle's first depot and to its last, over nodes that it may stop at."""

    def __init__(self, instance: VrpInstance, kind: int) -> None:
        rules = instance.rules or NO_RULES
        profile = 0 if rules.profile is None else int(rules.profile[kind])
        lengths = instance.matrix if rules.distances is None else rules.distances[profile]
        self.kind, self.instance, self.rules = kind, instance, rules
        self.start, self.end = int(instance.vehicles.start[kind]), int(instance.vehicles.end[kind])
        self.out = rules.stays_out is not None and bool(rules.stays_out[kind])
        self.driving = np.inf if rules.max_driving is None else float(rules.max_driving[kind])
        self.rest = np.inf if rules.rest is None else float(rules.rest[kind])
        rows = np.zeros((0, 3)) if rules.breaks is None else rules.breaks[rules.breaks[:, 0] == kind, 1:]
        self.breaks = rows[np.lexsort((rows[:, 0], rows[:, 1]))]
        self.pausing = bool(len(self.breaks)) or self.driving < np.inf
        self.reloads = _reload_depots(instance, rules, kind)
        self.carried = _carried(instance, rules, kind)
        self.stops = self.carried.copy() if rules.allowed is None else self.carried & rules.allowed[kind]
        self.stops[: instance.depots] = False
        self.stops[self.reloads] = True
        self._matrices = {False: lengths, True: lengths if rules.durations is None else rules.durations[profile]}
        self.known: dict[tuple[bool, int, bool], _Floats] = {}

    @cached_property
    def unpaused(self) -> Ways:
        """The same, of a vehicle without breaks and rests."""
        if not self.pausing:
            return self
        other = copy(self)
        other.breaks, other.driving, other.rest, other.pausing = self.breaks[:0], np.inf, np.inf, False
        other.known = {}
        return other

    def to(self, node: int, direct: bool, time: bool) -> _Floats:
        """float64 [n]: from a node to all."""
        return self.row(time, node, False) if direct else self._shortest(time, node, False)

    def back(self, direct: bool, time: bool) -> _Floats:
        """float64 [n]: from all to the last depot."""
        if self.out:
            return np.zeros(self.instance.n)
        return self.row(time, self.end, True) if direct else self._shortest(time, self.end, True)

    def row(self, time: bool, node: int, towards: bool) -> _Floats:
        """float64 [n]: the ways from a node, or to it."""
        if (matrix := self._matrices[time]) is None:
            return self.instance.distances_from(node)
        return np.asarray(matrix[:, node] if towards else matrix[node])

    def _shortest(self, time: bool, node: int, towards: bool) -> _Floats:
        """Dijkstra on the complete graph of the stops. No way is longer than what may be driven without a rest.

        After so many steps that it would take long, what is known by then: no node left is nearer than the next one.
        """
        towards = towards and self._matrices[time] is not None  # points are as far there as back
        time = time and (self._matrices[True] is not self._matrices[False] or self.driving < np.inf)
        if (known := self.known.get((time, node, towards))) is not None:
            return known
        most = self.driving if time else np.inf

        def row(node: int) -> _Floats:
            ways = self.row(time, node, towards)
            return np.where(keeps(ways, most), ways, np.inf)

        length, left = row(node), self.stops.copy()
        left[node] = False
        most_steps = _MOST_LENGTHS[self._matrices[time] is not None] / (self.instance.n * self.instance.vehicles.types)
        for steps, nearest in enumerate(dijkstra(row, length, left)):
            if steps + 1 > most_steps:
                length = np.minimum(length, length[nearest])
                if self._matrices[time] is None and self.instance.edge_weight_type in _METRICS:
                    length = np.maximum(length, self.row(time, node, towards) * (1.0 - LIMIT))
                break
        self.known[time, node, towards] = length
        return length


def able(ways: Ways, direct: bool, limits: set[str], asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """bool [n]: which of the nodes asked for a vehicle of this type could serve under these limits: on a route of their own, or
    (not `direct`) over the shortest ways, with pauses wherever it likes and other clients asking for nothing.
    """
    instance, rules, kind = ways.instance, ways.rules, ways.kind
    ways = ways if "pauses" in limits else ways.unpaused
    good = asked & ways.carried if "capacity" in limits else asked.copy()
    if "allowed" in limits and rules.allowed is not None:
        good &= rules.allowed[kind]
    if not good.any():
        return np.asarray(good)
    if "distance" in limits:
        good &= keeps(ways.to(ways.start, direct, False) + ways.back(direct, False), instance.vehicles.max_distance[kind])
    good &= _in_time(ways, direct, limits)
    if ways.pausing:
        good = _with_pauses(ways, direct, limits, good)
    return np.asarray(good)


def _in_time(ways: Ways, direct: bool, limits: set[str]) -> NDArray[np.bool_]:
    """bool [n]: windows, hours, release times and durations, without pauses."""
    instance, kind = ways.instance, ways.kind
    to, back = ways.to(ways.start, direct, True), ways.back(direct, True)
    service, closes = _service(instance), _closes(instance, limits)
    first, last, home_from, home_by = hours(ways, limits)
    begin = np.full(instance.n, np.inf)
    for leave, way in _departures(ways, direct, limits, first, last):
        begin = np.minimum(begin, _begin(ways, limits, leave + way))
    ready = np.maximum(begin + service + back, home_from)
    good = keeps(begin, closes) & keeps(ready, home_by) & (ready < np.inf)
    if "duration" in limits:
        longest, size = instance.vehicles.max_duration[kind], np.maximum(ready, 2.0 * latest_back(ways, limits))
        good &= keeps(to + service + back, longest, size)
        with np.errstate(invalid="ignore"):  # infinities, which are no good already
            good &= keeps(ready - np.minimum(last, closes - to), longest, size)  # left as late as possible
    return np.asarray(good)


def _departures(ways: Ways, direct: bool, limits: set[str], first: float, last: float) -> list[tuple[_Floats, _Floats]]:
    """When a trip to each client may leave, inf where it may not, and how long it is on the way: from the first depot and, where
    a vehicle reloads, from every depot where it may."""
    instance, rules = ways.instance, ways.rules
    release = np.zeros(instance.n) if rules.release is None or "release" not in limits else rules.release
    to = ways.to(ways.start, direct, True)
    leave = np.maximum(first, release)
    found = [(np.where(keeps(leave, last), leave, np.inf), to)]
    if not direct and keeps(first, last):
        for depot in ways.reloads:
            opens, closes = _opens(instance, limits)[depot], _closes(instance, limits)[depot]
            leave = np.maximum(max(opens, first + to[depot]), release)
            found.append((np.where(keeps(leave, closes), leave, np.inf), ways.to(int(depot), False, True)))
    return found


def _with_pauses(ways: Ways, direct: bool, limits: set[str], good: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the nodes that are `good` without pauses are with them."""
    instance, good = ways.instance, good.copy()
    to, back = ways.to(ways.start, direct, True), ways.back(direct, True)
    first, last, home_from, home_by = hours(ways, limits)
    departures = _departures(ways, direct, limits, first, last)
    closes = _closes(instance, limits)
    if direct:
        good &= keeps(to, ways.driving) & keeps(back, ways.driving)
    soon, late = (_nearest_stop(ways, direct, towards) for towards in (False, True))
    for node in np.flatnonzero(good)[:_MOST_WALKS].tolist():
        labels: list[_Label] = []
        for number, (leave, way) in enumerate(departures):
            if leave[node] < np.inf:
                least = 0 if number else len(ways.breaks)  # of the breaks before a reload nothing is known
                states = [(float(leave[node]), left, 0.0) for left in range(least, len(ways.breaks) + 1)]
                labels += driven(ways, states, float(way[node]), 0.0 if number else min(float(way[node]), soon), 0.0)
        labels = passes(ways, labels, node, float(closes[node]), limits)
        labels = driven(ways, labels, float(back[node]), 0.0, min(float(back[node]), late))
        good[node] = any(is_back(ways, label, home_from, home_by) for label in labels)
    return good


def _nearest_stop(ways: Ways, direct: bool, towards: bool) -> float:
    """How far the first stop is from the depot at the least, or the last one; on a route of one client it is that one."""
    if direct:
        return np.inf
    if towards and ways.out:
        return 0.0
    return float(ways.row(True, ways.end if towards else ways.start, towards)[ways.stops].min(initial=np.inf))


def passes(ways: Ways, labels: list[_Label], node: int, closes: float, limits: set[str]) -> list[_Label]:
    """What serving a node makes of states on arrival there."""
    found = []
    for time, left, since in labels:
        begin = float(_begin(ways, limits, np.full(1, time), node)[0])
        if keeps(begin, closes):
            found.append((begin + float(_service(ways.instance)[node]), left, since))
    return found


def driven(ways: Ways, labels: list[_Label], way: float, soon: float, late: float) -> list[_Label]:
    """What a way makes of states, with pauses anywhere on it but for the first `soon` and the last `late` of it: never later, nor
    longer driven, than what can be. Of two states the one that is no better in anything is dropped; an infinite way leaves none.
    """
    found: list[_Label] = []
    if way == np.inf:
        return found
    for time, left, since in labels:
        free, arrival = time + soon, time + way
        found += _rested(ways, arrival, left, 0, since + way)
        for count, (early, by, long) in enumerate(ways.breaks[len(ways.breaks) - left :].tolist(), 1):
            begin = max(free, early)
            if not keeps(begin, by):
                break
            free, arrival = begin + long, max(arrival + long, begin + long + late)
            found += _rested(ways, arrival, left, count, since + way)
    return _undominated(found)


def _rested(ways: Ways, arrival: float, left: int, count: int, since: float) -> list[_Label]:
    """The states on arrival after `count` more breaks and as many rests as driving so long takes, or one more."""
    if ways.driving == np.inf:
        return [(arrival, left - count, 0.0)]
    if ways.driving == 0.0:
        return [(arrival, left - count, 0.0)] if since == 0.0 else []
    begun = len(ways.breaks) - left
    long = sum(float(each) >= ways.rest for each in ways.breaks[begun : begun + count, 2])
    needed = max(0, math.ceil(since / ways.driving * (1.0 - LIMIT)) - 1)
    rests = [max(0, needed + more - long) for more in (0, 1)]
    if ways.rest == np.inf:
        rests = [each for each in rests if each == 0]
    return [
        (arrival + (rest * ways.rest if rest else 0.0), left - count, max(0.0, since - (rest + long) * ways.driving))
        for rest in rests
    ]  # fmt: skip


def _undominated(labels: list[_Label]) -> list[_Label]:
    kept: list[_Label] = []
    for label in sorted(labels):
        if not any(all(a <= b for a, b in zip(other, label)) for other in kept):
            kept.append(label)
    return kept


def is_back(ways: Ways, label: _Label, home_from: float, home_by: float) -> bool:
    """Whether a state at the end is in time, and before the breaks that were left out had to begin."""
    time = max(label[0], home_from)
    late = ways.breaks[len(ways.breaks) - label[1] :, 1]
    return bool(keeps(time, home_by) and keeps(time, late.min(initial=np.inf)))


# -------------------------------------------------------------------- the instance under these limits
def hours(ways: Ways, limits: Iterable[str] = LIMITS) -> tuple[float, float, float, float]:
    """The first and the last departure, the first and the last return."""
    if "hours" not in limits:
        return 0.0, np.inf, 0.0, np.inf
    instance, shift = ways.instance, (0.0, np.inf) if ways.rules.shift is None else ways.rules.shift[ways.kind]
    opens, closes = _opens(instance, limits), _closes(instance, limits)
    home = (0.0, np.inf) if ways.out else (float(opens[ways.end]), float(closes[ways.end]))
    return max(float(opens[ways.start]), float(shift[0])), float(closes[ways.start]), home[0], min(home[1], float(shift[1]))


def latest_back(ways: Ways, limits: Iterable[str] = LIMITS) -> float:
    """No vehicle is back later that keeps to its longest duration and to the hours (but for rounding): it waits for nothing
    after all has opened. The judge's tolerance for a duration is a share of when the vehicle is back."""
    instance, rules = ways.instance, ways.rules
    opened = [_opens(instance, LIMITS), np.zeros(0) if rules.release is None else rules.release]
    opened.append(np.zeros(0) if rules.shift is None else rules.shift[ways.kind, :1])
    longest = float(instance.vehicles.max_duration[ways.kind])
    return min(hours(ways, limits)[3], float(np.concatenate(opened).max()) + longest)


def _opens(instance: VrpInstance, limits: Iterable[str]) -> _Floats:
    return _held(instance, limits, instance.earliest, 0.0)


def _closes(instance: VrpInstance, limits: Iterable[str]) -> _Floats:
    return _held(instance, limits, instance.latest, np.inf)


def _held(instance: VrpInstance, limits: Iterable[str], given: _Floats | None, otherwise: float) -> _Floats:
    """A depot's time is held where "hours" are, a client's where "window" is."""
    values = np.full(instance.n, otherwise)
    if given is not None:
        for limit, nodes in (("hours", slice(0, instance.depots)), ("window", slice(instance.depots, None))):
            if limit in limits:
                values[nodes] = given[nodes]
    return values


def _begin(ways: Ways, limits: set[str], arrival: _Floats, node: int | None = None) -> _Floats:
    """When service begins on arrival at these times, at every node or at one."""
    nodes = slice(None) if node is None else slice(node, node + 1)
    begin = np.maximum(arrival, _opens(ways.instance, limits)[nodes])
    closed = ways.rules.closed
    if closed is not None and "window" in limits:
        for each in np.unique(closed[:, 0].astype(np.int64)).tolist() if node is None else [node]:
            at = each if node is None else 0
            begin[at] = opened(ways.instance, each, float(begin[at]))
    return begin


def _service(instance: VrpInstance) -> _Floats:
    return np.zeros(instance.n) if instance.service is None else instance.service


def _reload_depots(instance: VrpInstance, rules: Rules, kind: int) -> NDArray[np.int64]:
    if rules.reloads is None or not rules.reloads[kind]:
        return np.zeros(0, np.int64)
    own = np.arange(instance.depots) == instance.vehicles.start[kind]
    return np.flatnonzero(own if rules.reload_depots is None else rules.reload_depots[kind])


def _carried(instance: VrpInstance, rules: Rules, kind: int) -> NDArray[np.bool_]:
    """bool [n]: whether what a client is brought, hands over or sends fits into the vehicle, in every dimension."""
    q = rules.dimensions
    capacity = rules.of("capacities", np.repeat(instance.vehicles.capacity[:, None], q, axis=1))[kind]
    good = keeps(rules.of("demands", instance.demand[:, None]), capacity).all(axis=1)
    if rules.pickups is not None:
        good &= keeps(rules.pickups, capacity).all(axis=1)
    if rules.shipments is not None and rules.amounts is not None:
        good[rules.shipments] &= keeps(rules.amounts, capacity).all(axis=1)[:, None]
    return np.asarray(good)
