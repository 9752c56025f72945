"""The stops of a route with times, loads and distances, in the units of the instance's file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.evaluation import schedule
from corl.problems.vrp.evaluation_rules import has_breaks, leg_distances, travel_times
from corl.problems.vrp.evaluation_times import legs_of, penalties
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route
from corl.problems.vrp.rules import SideConstraints
from corl.routing.edge_weights import edge_lengths

__all__ = ["Stop", "length_unit", "stops"]

_METRES = {"km": 1000.0, "m": 1.0, "mi": 1609.344}
_TOLERANCE = 1e-6  # relative tolerance of times, for rounding in sums

_Floats = NDArray[np.float64]


class Stop(NamedTuple):
    """A visit of a route; departure = arrival + wait + pause + service. Times and durations are in the unit of the file."""

    node: int
    arrival: float
    wait: float
    """Idle time until a window opens or a break may begin."""
    pause: float
    """The duration of the breaks and rests taken at this stop, before or after service."""
    begin: float
    """When service begins; at a depot, when reloading begins."""
    service: float
    departure: float
    load: tuple[float, ...]
    """The load on board when the vehicle leaves the stop, in each dimension."""
    distance: float
    """The distance from the previous stop, in `length_unit`."""
    pause_after: float = 0.0
    """The part of `pause` after service."""
    early: float = 0.0
    """By how much service begins before the soft window."""
    late: float = 0.0
    """By how much service begins after the soft window."""


def length_unit(instance: VrpInstance) -> tuple[str, float]:
    """Return ("metres", metres per unit of distance) for instances of latitudes and longitudes, otherwise ("distance", 1)."""
    on_globe = instance.edge_weight_type == "EXACT_3D" and instance.display is not None and instance.units[0] in _METRES
    return ("metres", _METRES[instance.units[0]]) if on_globe else ("distance", 1.0)


def stops(instance: VrpInstance, route: Route) -> list[Stop]:
    """Return the visits of a route, in order, with the times of the judge's schedule. Raises Infeasible if no schedule exists."""
    vehicles, rules, route_times = instance.vehicles, instance.rules, schedule(instance, route)
    path = np.array([vehicles.start[route.vehicle], *route.visits, vehicles.end[route.vehicle]], np.int64)
    legs = edge_lengths(instance.edge_weight_type, instance.points, instance.matrix, path[:-1], path[1:])
    travel = legs
    if rules is not None:
        legs = leg_distances(rules, route.vehicle, path, legs)
        travel = travel_times(instance, route, path, legs)
    service = np.zeros(len(path)) if instance.service is None else instance.service[path]
    begins, pauses = np.array([route_times.leave, *route_times.begin, route_times.back]), np.zeros((len(path), 3))
    early, late = penalties(instance, path, begins)
    if rules is not None and rules.hourly:
        by_hour, left = legs_of(instance, route, path, travel), begins[:-1] + service[:-1]
        travel = np.array([float(by_hour.arrivals(leg, time)) for leg, time in enumerate(left)]) - left
    if rules is not None and has_breaks(rules, route.vehicle):
        pauses = _assign_breaks(rules, route.vehicle, begins.tolist(), service, travel)
    loads, time_unit = _loads_after(instance, route), instance.scale * instance.speed
    length_factor, departure, visits = length_unit(instance)[1] / instance.scale, route_times.leave, []
    for k, node in enumerate(route.visits.tolist(), 1):
        arrival, begin = departure + float(travel[k - 1]), float(route_times.begin[k - 1])
        pause_before, pause_after, stay_after = pauses[k].tolist()
        departure = begin + float(service[k]) + stay_after
        wait, pause = max(0.0, begin - arrival - pause_before) + stay_after - pause_after, pause_before + pause_after
        times = [round(each / time_unit, 9) for each in (arrival, wait, pause, begin, float(service[k]), departure)]
        row: list[Any] = [node, *times, tuple(loads[k - 1].tolist()), round(float(legs[k - 1]) * length_factor, 6)]
        row += [round(each / time_unit, 9) for each in (pause_after, float(early[k]), float(late[k]))]
        visits.append(Stop(*row))
    return visits


def _loads_after(instance: VrpInstance, route: Route) -> _Floats:
    """Return float64 [visits, Q]: the load on board after each stop; after a reload, the load of the next trip."""
    rules = instance.rules or SideConstraints()
    change = -rules.of("demands", instance.demand[:, None])[route.visits]
    if rules.pickups is not None:
        change = change + rules.pickups[route.visits]
    if rules.shipments is not None and rules.amounts is not None:
        for (start, end), amount in zip(rules.shipments, rules.amounts):
            change[route.visits == start] += amount
            change[route.visits == end] -= amount
    trip_starts = [0, *np.flatnonzero(route.visits < instance.depots).tolist(), len(route.visits)]
    aboard: _Floats = np.empty_like(change)
    demands = rules.of("demands", instance.demand[:, None])[route.visits]
    initial_load = np.zeros(change.shape[1]) if rules.aboard is None else rules.aboard[route.vehicle]
    for begin, end in pairwise(trip_starts):
        aboard[begin:end] = initial_load + demands[begin:end].sum(axis=0) + np.cumsum(change[begin:end], axis=0)
    return aboard


def _assign_breaks(rules: SideConstraints, kind: int, begins: Sequence[float], service: _Floats, travel: _Floats) -> _Floats:
    """Return float64 [visits + 2, 3], breaks and rests that explain the times of a schedule.

    A row is a stop, the depots included. The columns are the duration of breaks and rests before its service, of those after
    its service, and the time from the end of service to the departure. A depth-first search returns the first assignment
    that fits the times.

    Args:
        rules: The side constraints.
        kind: The vehicle type.
        begins: Length visits + 2: when the vehicle leaves, when each service begins, and when the vehicle is back.
        service: float64 [visits + 2], durations of service, 0 at the depots.
        travel: float64 [visits + 1], travel times of the legs.
    """
    breaks = np.zeros((0, 3)) if rules.breaks is None else rules.breaks[rules.breaks[:, 0] == kind, 1:]
    breaks = breaks[np.lexsort((breaks[:, 0], breaks[:, 1]))]
    max_driving = np.inf if rules.max_driving is None else float(rules.max_driving[kind])
    rest_duration = np.inf if rules.rest is None else float(rules.rest[kind])
    pauses = np.zeros((len(travel) + 1, 3))

    def pauses_from(time: float, used: int, driven: float) -> list[tuple[float, float, int, float]]:
        """Return (time after it, duration, breaks used, driving time since a rest) of every possible pause; the first is none."""
        options = [(time, 0.0, used, driven)]
        for time_now, paused, count, driven_now in options:
            if count < len(breaks) and time_now <= breaks[count, 1] * (1 + _TOLERANCE):
                length = float(breaks[count, 2])
                time_after = max(time_now, float(breaks[count, 0])) + length
                options.append((time_after, paused + length, count + 1, 0.0 if length >= rest_duration else driven_now))
            if rest_duration < np.inf and driven_now > 0.0:
                options.append((time_now + rest_duration, paused + rest_duration, count, 0.0))
        return options

    def follow(stop: int, time: float, used: int, driven: float) -> bool:
        """Assign breaks from the end of service at `stop` onwards; return whether they explain the rest of the times."""
        for departure, pause_after, count, driven_now in pauses_from(time, used, driven) if stop else [(time, 0.0, used, driven)]:
            travel_time = float(travel[stop])
            if driven_now + travel_time > max_driving * (1 + _TOLERANCE):
                continue
            begin = begins[stop + 1]
            if stop + 1 == len(travel):
                break_due = count < len(breaks) and begin > float(breaks[count:, 1].min()) * (1 + _TOLERANCE)
                if break_due or departure + travel_time > begin + _TOLERANCE * max(1.0, begin):
                    continue
                pauses[stop, 1:] = pause_after, departure - time
                return True
            for ready_at, pause_before, count_after, driven_after in pauses_from(
                departure + travel_time, count, driven_now + travel_time
            ):
                too_late = ready_at > begin + _TOLERANCE * max(1.0, begin)
                if not too_late and follow(stop + 1, begin + float(service[stop + 1]), count_after, driven_after):
                    pauses[stop, 1:], pauses[stop + 1, 0] = (pause_after, departure - time), pause_before
                    return True
        return False

    follow(0, begins[0], 0, 0.0)
    return pauses
