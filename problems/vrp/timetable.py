"""The stops of a route with times, loads and distances, in the units of the instance's file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.evaluation import schedule
from corl.problems.vrp.evaluation_rules import has_breaks, leg_distances, travel_times
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route
from corl.problems.vrp.rules import SideConstraints
from corl.routing.edge_weights import edge_lengths

__all__ = ["Stop", "length_unit", "stops"]

_METRES = {"km": 1000.0, "m": 1.0, "mi": 1609.344}
_TOLERANCE = 1e-6  # relative tolerance of times, for rounding in sums

_Floats = NDArray[np.float64]


class Stop(NamedTuple):
    """A visit. departure = arrival + wait + pause + service; times and durations are in the file's unit."""

    node: int
    arrival: float
    wait: float
    """Idle, until a window opens or a break may begin."""
    pause: float
    """Breaks and rests taken at this stop, before or after its service."""
    begin: float
    """When service, or at a depot reloading, begins."""
    service: float
    departure: float
    load: tuple[float, ...]
    """The load on board when the vehicle leaves the stop, in each dimension."""
    distance: float
    """The distance from the previous stop, in `length_unit`."""


def length_unit(instance: VrpInstance) -> tuple[str, float]:
    """Return ("metres", metres in a unit of the instance) for latitudes and longitudes, otherwise ("distance", 1)."""
    on_globe = instance.edge_weight_type == "EXACT_3D" and instance.display is not None and instance.units[0] in _METRES
    return ("metres", _METRES[instance.units[0]]) if on_globe else ("distance", 1.0)


def stops(instance: VrpInstance, route: Route) -> list[Stop]:
    """Return the visits of a route, in order, by the judge's schedule. Raises Infeasible if it has none."""
    vehicles, rules, found = instance.vehicles, instance.rules, schedule(instance, route)
    path = np.array([vehicles.start[route.vehicle], *route.visits, vehicles.end[route.vehicle]], np.int64)
    legs = edge_lengths(instance.edge_weight_type, instance.points, instance.matrix, path[:-1], path[1:])
    travel = legs
    if rules is not None:
        legs = leg_distances(rules, route.vehicle, path, legs)
        travel = travel_times(instance, route, path, legs)
    service = np.zeros(len(path)) if instance.service is None else instance.service[path]
    taken = np.zeros((len(path), 3))
    if rules is not None and has_breaks(rules, route.vehicle):
        taken = _explain_breaks(rules, route.vehicle, [found.leave, *found.begin.tolist(), found.back], service, travel)
    loads, time = _loads_after(instance, route), instance.scale * instance.speed
    length, left, listed = length_unit(instance)[1] / instance.scale, found.leave, []
    for k, node in enumerate(route.visits.tolist(), 1):
        arrival, begin = left + float(travel[k - 1]), float(found.begin[k - 1])
        before, after, stays = taken[k].tolist()
        left = begin + float(service[k]) + stays
        wait, pause = max(0.0, begin - arrival - before) + stays - after, before + after
        times = [round(each / time, 9) for each in (arrival, wait, pause, begin, float(service[k]), left)]
        row: list[Any] = [node, *times, tuple(loads[k - 1].tolist()), round(float(legs[k - 1]) * length, 6)]
        listed.append(Stop(*row))
    return listed


def _loads_after(instance: VrpInstance, route: Route) -> _Floats:
    """Return float64 [visits, Q]: the load on board after each stop; at a reload, that with which the next trip leaves."""
    rules = instance.rules or SideConstraints()
    change = -rules.of("demands", instance.demand[:, None])[route.visits]
    if rules.pickups is not None:
        change = change + rules.pickups[route.visits]
    if rules.shipments is not None and rules.amounts is not None:
        for (start, end), amount in zip(rules.shipments, rules.amounts):
            change[route.visits == start] += amount
            change[route.visits == end] -= amount
    cuts = [0, *np.flatnonzero(route.visits < instance.depots).tolist(), len(route.visits)]
    aboard: _Floats = np.empty_like(change)
    demands = rules.of("demands", instance.demand[:, None])[route.visits]
    held = np.zeros(change.shape[1]) if rules.aboard is None else rules.aboard[route.vehicle]
    for begin, end in pairwise(cuts):
        aboard[begin:end] = held + demands[begin:end].sum(axis=0) + np.cumsum(change[begin:end], axis=0)
    return aboard


def _explain_breaks(rules: SideConstraints, kind: int, begins: Sequence[float], service: _Floats, travel: _Floats) -> _Floats:
    """Return float64 [visits + 2, 3], breaks and rests that explain the times of a schedule.

    The columns are, for each stop, the depots included: the breaks before its service, those after it, and how long the vehicle
    stays after its service, waiting for a break included. It is the first assignment of breaks that fits, by depth-first search.

    Args:
        rules: The side constraints.
        kind: The vehicle type.
        begins: When the vehicle leaves, when each service begins, and when it is back.
        service: float64 [visits + 2], durations of service, 0 at the depots.
        travel: float64 [visits + 1], travel times of the legs.
    """
    breaks = np.zeros((0, 3)) if rules.breaks is None else rules.breaks[rules.breaks[:, 0] == kind, 1:]
    breaks = breaks[np.lexsort((breaks[:, 0], breaks[:, 1]))]
    most = np.inf if rules.max_driving is None else float(rules.max_driving[kind])
    rest = np.inf if rules.rest is None else float(rules.rest[kind])
    taken = np.zeros((len(travel) + 1, 3))

    def breaks_taken(time: float, used: int, driven: float) -> list[tuple[float, float, int, float]]:
        """(time after it, pause, breaks used, driven) of every way to pause at a time, none first."""
        ways = [(time, 0.0, used, driven)]
        for now, spent, count, far in ways:
            if count < len(breaks) and now <= breaks[count, 1] * (1 + _TOLERANCE):
                length = float(breaks[count, 2])
                after = max(now, float(breaks[count, 0])) + length
                ways.append((after, spent + length, count + 1, 0.0 if length >= rest else far))
            if rest < np.inf and far > 0.0:
                ways.append((now + rest, spent + rest, count, 0.0))
        return ways

    def follow(stop: int, time: float, used: int, driven: float) -> bool:
        """Whether the rest of the route can be explained after the service at a stop."""
        for left, after, count, far in breaks_taken(time, used, driven) if stop else [(time, 0.0, used, driven)]:
            way = float(travel[stop])
            if far + way > most * (1 + _TOLERANCE):
                continue
            begin = begins[stop + 1]
            if stop + 1 == len(travel):
                due = count < len(breaks) and begin > float(breaks[count:, 1].min()) * (1 + _TOLERANCE)
                if due or left + way > begin + _TOLERANCE * max(1.0, begin):
                    continue
                taken[stop, 1:] = after, left - time
                return True
            for ready, before, count_there, far_there in breaks_taken(left + way, count, far + way):
                late = ready > begin + _TOLERANCE * max(1.0, begin)
                if not late and follow(stop + 1, begin + float(service[stop + 1]), count_there, far_there):
                    taken[stop, 1:], taken[stop + 1, 0] = (after, left - time), before
                    return True
        return False

    follow(0, begins[0], 0, 0.0)
    return taken
