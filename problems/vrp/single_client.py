"""Tests whether a vehicle type can serve a client, regardless of all other clients.

If a direct route to the client and back keeps all limits, the client can be served. If not even shortest paths over other nodes
keep them, no solution serves the client. Breaks and rests are followed by labels, as in shortest paths with resource
constraints: a label is a possible state of the vehicle, (time, number of remaining breaks, driving time since the last rest).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.evaluation_rules import next_open
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.vehicle_travel import VehicleTravel
from corl.tolerance import LIMIT, keeps

__all__ = [
    "LIMITS",
    "after_driving",
    "after_service",
    "is_back_in_time",
    "latest_return",
    "operating_hours",
    "servable_nodes",
]

LIMITS = {  # limits that may prevent all vehicles from serving a client -> their words in messages
    "capacity": "its demand, pickup or shipment", "allowed": "the vehicles that may serve it", "window": "its window",
    "release": "its release time", "hours": "the hours of depots and vehicles", "distance": "the longest distance",
    "duration": "the longest duration", "pauses": "breaks and rests from driving",
}  # fmt: skip

_MAX_BREAK_CHECKS = 2000  # clients whose breaks are checked, at most; others count as servable

_Floats = NDArray[np.float64]
_Label = tuple[float, int, float]  # time, number of remaining breaks, driving time since the last rest


def servable_nodes(travel: VehicleTravel, direct: bool, limits: set[str], asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return bool [n]: which of the nodes `asked` a vehicle of this type could serve, considering only some limits.

    Args:
        travel: The distances and travel times of the vehicle type.
        direct: Whether the route visits only this client. Otherwise it may follow shortest paths, take breaks anywhere on them,
            and loads nothing at the other clients: a relaxation, so that no solution serves a node that fails.
        limits: The keys of `LIMITS` that are considered.
        asked: bool [n], the nodes in question.
    """
    instance, rules, kind = travel.instance, travel.rules, travel.kind
    travel = travel if "pauses" in limits else travel.without_breaks
    servable = asked & travel.fits if "capacity" in limits else asked.copy()
    if "allowed" in limits and rules.allowed is not None:
        servable &= rules.allowed[kind]
    if not servable.any():
        return np.asarray(servable)
    if "distance" in limits:
        servable &= keeps(
            travel.from_node(travel.start, direct, False) + travel.back(direct, False), instance.vehicles.max_distance[kind]
        )
    servable &= _in_time(travel, direct, limits)
    if travel.has_breaks:
        servable = _check_breaks(travel, direct, limits, servable)
    return np.asarray(servable)


def _in_time(travel: VehicleTravel, direct: bool, limits: set[str]) -> NDArray[np.bool_]:
    """Return bool [n]: whether windows, hours, release times and durations allow serving each node, without breaks."""
    instance, kind = travel.instance, travel.kind
    to, back = travel.from_node(travel.start, direct, True), travel.back(direct, True)
    service, closes = _service(instance), _closes(instance, limits)
    first_departure, last_departure, return_from, return_by = operating_hours(travel, limits)
    begin = np.full(instance.n, np.inf)
    for departure, travel_time in _departures(travel, direct, limits, first_departure, last_departure):
        begin = np.minimum(begin, _begin(travel, limits, departure + travel_time))
    ready = np.maximum(begin + service + back, return_from)
    in_time = keeps(begin, closes) & keeps(ready, return_by) & (ready < np.inf)
    if "duration" in limits:
        max_duration, size = instance.vehicles.max_duration[kind], np.maximum(ready, 2.0 * latest_return(travel, limits))
        in_time &= keeps(to + service + back, max_duration, size)
        with np.errstate(invalid="ignore"):  # of infinities, which are refused above
            in_time &= keeps(ready - np.minimum(last_departure, closes - to), max_duration, size)  # with the latest departure
    return np.asarray(in_time)


def _departures(
    travel: VehicleTravel, direct: bool, limits: set[str], first_departure: float, last_departure: float
) -> list[tuple[_Floats, _Floats]]:
    """Return pairs of float64 [n]: when a trip to each client may leave (inf: never), and its travel time to that client.

    There is one pair for the first depot and one for every depot where the vehicle may reload.
    """
    instance, rules = travel.instance, travel.rules
    release = np.zeros(instance.n) if rules.release is None or "release" not in limits else rules.release
    to = travel.from_node(travel.start, direct, True)
    departure = np.maximum(first_departure, release)
    if rules.hourly:  # without release times, all vehicles may leave at the first departure
        to = travel.arrivals(direct, first_departure) - first_departure
    departures = [(np.where(keeps(departure, last_departure), departure, np.inf), to)]
    if not direct and keeps(first_departure, last_departure):
        for depot in travel.reloads:
            opens, closes = _opens(instance, limits)[depot], _closes(instance, limits)[depot]
            departure = np.maximum(max(opens, first_departure + to[depot]), release)
            departures.append((np.where(keeps(departure, closes), departure, np.inf), travel.from_node(int(depot), False, True)))
    return departures


def _check_breaks(travel: VehicleTravel, direct: bool, limits: set[str], servable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return bool [n]: which of the nodes that are `servable` without breaks remain so with breaks and rests."""
    instance, servable = travel.instance, servable.copy()
    to, back = travel.from_node(travel.start, direct, True), travel.back(direct, True)
    first_departure, last_departure, return_from, return_by = operating_hours(travel, limits)
    departures = _departures(travel, direct, limits, first_departure, last_departure)
    closes = _closes(instance, limits)
    if direct:
        servable &= keeps(to, travel.max_driving) & keeps(back, travel.max_driving)
    to_first_stop, from_last_stop = (_nearest_stop(travel, direct, towards) for towards in (False, True))
    for node in np.flatnonzero(servable)[:_MAX_BREAK_CHECKS].tolist():
        labels: list[_Label] = []
        for number, (departure, travel_time) in enumerate(departures):
            if departure[node] < np.inf:
                fewest_left = 0 if number else len(travel.breaks)  # before a reload, any number of breaks may have been taken
                departing = [
                    (float(departure[node]), breaks_left, 0.0) for breaks_left in range(fewest_left, len(travel.breaks) + 1)
                ]
                labels += after_driving(
                    travel,
                    departing,
                    float(travel_time[node]),
                    0.0 if number else min(float(travel_time[node]), to_first_stop),
                    0.0,
                )
        labels = after_service(travel, labels, node, float(closes[node]), limits)
        labels = after_driving(travel, labels, float(back[node]), 0.0, min(float(back[node]), from_last_stop))
        servable[node] = any(is_back_in_time(travel, label, return_from, return_by) for label in labels)
    return servable


def _nearest_stop(travel: VehicleTravel, direct: bool, towards: bool) -> float:
    """Return the least travel time from the first depot to a stop, or from a stop to the last depot; inf if `direct`."""
    if direct:
        return np.inf
    if towards and travel.stays_out:
        return 0.0
    return float(travel.row(True, travel.end if towards else travel.start, towards)[travel.stops].min(initial=np.inf))


def after_service(travel: VehicleTravel, labels: list[_Label], node: int, closes: float, limits: set[str]) -> list[_Label]:
    """Return the labels after service at `node`, given the labels on arrival; labels that miss its window are dropped."""
    served = []
    for time, breaks_left, driven in labels:
        begin = float(_begin(travel, limits, np.full(1, time), node)[0])
        if keeps(begin, closes):
            served.append((begin + float(_service(travel.instance)[node]), breaks_left, driven))
    return served


def after_driving(
    travel: VehicleTravel, labels: list[_Label], travel_time: float, unbroken_start: float, unbroken_end: float
) -> list[_Label]:
    """Return the labels after a leg, given the labels before it; no label if `travel_time` is infinite.

    Breaks may be taken anywhere on the leg, except in its first `unbroken_start` and its last `unbroken_end` units of time. The
    labels are lower bounds of time and driving time. Dominated labels are dropped.
    """
    reached: list[_Label] = []
    if travel_time == np.inf:
        return reached
    for time, breaks_left, driven in labels:
        pause_from, arrival = time + unbroken_start, time + travel_time
        reached += _after_rests(travel, arrival, breaks_left, 0, driven + travel_time)
        for count, (earliest, latest, duration) in enumerate(travel.breaks[len(travel.breaks) - breaks_left :].tolist(), 1):
            begin = max(pause_from, earliest)
            if not keeps(begin, latest):
                break
            pause_from, arrival = begin + duration, max(arrival + duration, begin + duration + unbroken_end)
            reached += _after_rests(travel, arrival, breaks_left, count, driven + travel_time)
    return _drop_dominated(reached)


def _after_rests(travel: VehicleTravel, arrival: float, breaks_left: int, breaks_taken: int, driven: float) -> list[_Label]:
    """Return the labels on arrival after `breaks_taken` more breaks, with the least number of rests and with one rest more.

    One rest more makes the arrival later, but leaves more driving time after it.
    """
    if travel.max_driving == np.inf:
        return [(arrival, breaks_left - breaks_taken, 0.0)]
    if travel.max_driving == 0.0:
        return [(arrival, breaks_left - breaks_taken, 0.0)] if driven == 0.0 else []
    next_break = len(travel.breaks) - breaks_left
    breaks_as_rests = sum(float(each) >= travel.rest for each in travel.breaks[next_break : next_break + breaks_taken, 2])
    needed = max(0, math.ceil(driven / travel.max_driving * (1.0 - LIMIT)) - 1)
    rest_counts = [max(0, needed + extra - breaks_as_rests) for extra in (0, 1)]
    if travel.rest == np.inf:
        rest_counts = [each for each in rest_counts if each == 0]
    return [
        (
            arrival + (rests * travel.rest if rests else 0.0),
            breaks_left - breaks_taken,
            max(0.0, driven - (rests + breaks_as_rests) * travel.max_driving),
        )
        for rests in rest_counts
    ]


def _drop_dominated(labels: list[_Label]) -> list[_Label]:
    """Return the labels that no other one dominates."""
    undominated: list[_Label] = []
    for label in sorted(labels):
        if not any(all(a <= b for a, b in zip(other, label)) for other in undominated):
            undominated.append(label)
    return undominated


def is_back_in_time(travel: VehicleTravel, label: _Label, return_from: float, return_by: float) -> bool:
    """Return whether a label at the end of the route is in time, and no remaining break should have begun before."""
    back = max(label[0], return_from)
    latest_starts = travel.breaks[len(travel.breaks) - label[1] :, 1]
    return bool(keeps(back, return_by) and keeps(back, latest_starts.min(initial=np.inf)))


# -------------------------------------------------------------------- the instance with some of its limits
def operating_hours(travel: VehicleTravel, limits: Iterable[str] = LIMITS) -> tuple[float, float, float, float]:
    """Return the earliest and the latest departure, and the earliest and the latest return, of a vehicle."""
    if "hours" not in limits:
        return 0.0, np.inf, 0.0, np.inf
    instance, shift = travel.instance, (0.0, np.inf) if travel.rules.shift is None else travel.rules.shift[travel.kind]
    opens, closes = _opens(instance, limits), _closes(instance, limits)
    home = (0.0, np.inf) if travel.stays_out else (float(opens[travel.end]), float(closes[travel.end]))
    return max(float(opens[travel.start]), float(shift[0])), float(closes[travel.start]), home[0], min(home[1], float(shift[1]))


def latest_return(travel: VehicleTravel, limits: Iterable[str] = LIMITS) -> float:
    """Return an upper bound of the time at which a vehicle that keeps its hours and its maximum duration is back.

    After all nodes have opened, a vehicle never waits, so it is back within its maximum duration. The bound is used for
    the tolerance of durations, because the judge tolerates an excess that is a share of the time of return.
    """
    instance, rules = travel.instance, travel.rules
    openings = [_opens(instance, LIMITS), np.zeros(0) if rules.release is None else rules.release]
    openings.append(np.zeros(0) if rules.shift is None else rules.shift[travel.kind, :1])
    max_duration = float(instance.vehicles.max_duration[travel.kind])
    return min(operating_hours(travel, limits)[3], float(np.concatenate(openings).max()) + max_duration)


def _opens(instance: VrpInstance, limits: Iterable[str]) -> _Floats:
    return _relaxed(instance, limits, instance.earliest, 0.0)


def _closes(instance: VrpInstance, limits: Iterable[str]) -> _Floats:
    return _relaxed(instance, limits, instance.latest, np.inf)


def _relaxed(instance: VrpInstance, limits: Iterable[str], bounds: _Floats | None, default: float) -> _Floats:
    """Return float64 [n]: `bounds` at the nodes whose limit is among `limits`, otherwise `default`.

    The limit of depots is "hours", the limit of clients is "window".
    """
    values = np.full(instance.n, default)
    if bounds is not None:
        for limit, nodes in (("hours", slice(0, instance.depots)), ("window", slice(instance.depots, None))):
            if limit in limits:
                values[nodes] = bounds[nodes]
    return values


def _begin(travel: VehicleTravel, limits: set[str], arrivals: _Floats, node: int | None = None) -> _Floats:
    """Return when service begins after the `arrivals` at all nodes, float64 [n], or at one `node`, float64 [1]."""
    nodes = slice(None) if node is None else slice(node, node + 1)
    begin = np.maximum(arrivals, _opens(travel.instance, limits)[nodes])
    closed = travel.rules.closed
    if closed is not None and "window" in limits:
        for closed_node in np.unique(closed[:, 0].astype(np.int64)).tolist() if node is None else [node]:
            position = closed_node if node is None else 0
            begin[position] = next_open(travel.instance, closed_node, float(begin[position]))
    return begin


def _service(instance: VrpInstance) -> _Floats:
    return np.zeros(instance.n) if instance.service is None else instance.service
