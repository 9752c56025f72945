"""Distances, travel times and loads of one vehicle type, for the tests of single clients."""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.evaluation_times import arrivals
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.routing.shortest_paths import dijkstra
from corl.tolerance import LIMIT, keeps

__all__ = ["NO_RULES", "VehicleTravel"]

NO_RULES = SideConstraints()

_MAX_HOURLY_PATHS = 200  # nodes up to which paths are followed through the hours of the day
# The largest number of distances that shortest paths from one node may use: if computed from points, if read from a matrix.
_MAX_DISTANCE_COUNT = 2.5e6, 2.5e7
_TRIANGLE_INEQUALITY = ("EXACT_2D", "EXACT_3D")  # edge weight types in which no path is shorter than the direct leg

_Floats = NDArray[np.float64]


class VehicleTravel:
    """Distances and travel times of a vehicle type between its depots and the nodes where it may stop.

    If travel times depend on the hour, all methods but `arrivals` use the shortest of all hours: no leg takes less.
    """

    def __init__(self, instance: VrpInstance, kind: int) -> None:
        rules = instance.rules or NO_RULES
        profile = 0 if rules.profile is None else int(rules.profile[kind])
        lengths = instance.matrix if rules.distances is None else rules.distances[profile]
        self.kind, self.instance, self.rules = kind, instance, rules
        self.start, self.end = int(instance.vehicles.start[kind]), int(instance.vehicles.end[kind])
        self.stays_out = rules.stays_out is not None and bool(rules.stays_out[kind])
        self.max_driving = np.inf if rules.max_driving is None else float(rules.max_driving[kind])
        self.rest = np.inf if rules.rest is None else float(rules.rest[kind])
        own_breaks = np.zeros((0, 3)) if rules.breaks is None else rules.breaks[rules.breaks[:, 0] == kind, 1:]
        self.breaks = own_breaks[np.lexsort((own_breaks[:, 0], own_breaks[:, 1]))]
        """float64 [b, 3]: earliest start, latest start and duration of each break, by latest start."""
        self.has_breaks = bool(len(self.breaks)) or self.max_driving < np.inf
        self.reloads = _reload_depots(instance, rules, kind)
        """int64 [r]: the depots where the vehicle may reload."""
        self.fits = _fitting_loads(instance, rules, kind)
        """bool [n]: whether the load of a node alone fits into the vehicle."""
        self.stops = self.fits.copy() if rules.allowed is None else self.fits & rules.allowed[kind]
        self.stops[: instance.depots] = False
        self.stops[self.reloads] = True
        """bool [n]: the nodes where the vehicle may stop: clients that fit and are allowed, and depots to reload at."""
        times = lengths if rules.durations is None else rules.durations[profile]
        if rules.period_durations is not None:
            times = np.asarray(rules.period_durations.min(axis=0))
        self._matrices = {False: lengths, True: times}
        """False -> the matrix of distances, True -> that of travel times; None for distances between points."""
        self.cached: dict[tuple[bool, int, bool], _Floats] = {}
        """(time, node, towards), as in `row` -> the lengths of shortest paths that were computed before."""
        self._fastest = 1.0 if rules.speed_factors is None else float(rules.speed_factors[kind].max())

    @cached_property
    def without_breaks(self) -> VehicleTravel:
        """The same vehicle type, but without breaks and rests."""
        if not self.has_breaks:
            return self
        unbroken = copy(self)
        unbroken.breaks, unbroken.max_driving, unbroken.rest, unbroken.has_breaks = self.breaks[:0], np.inf, np.inf, False
        unbroken.cached = {}
        return unbroken

    def from_node(self, node: int, direct: bool, time: bool) -> _Floats:
        """Return the travel times (`time`) or distances from `node` to all nodes, float64 [n].

        Each is that of the direct leg (`direct`), or of a shortest path over nodes where the vehicle may stop.
        """
        return self.row(time, node, False) if direct else self._shortest(time, node, False) / self._factor(time)

    def back(self, direct: bool, time: bool) -> _Floats:
        """Return the travel times or distances from all nodes to the depot where the route ends, float64 [n]; see `from_node`."""
        if self.stays_out:
            return np.zeros(self.instance.n)
        return self.row(time, self.end, True) if direct else self._shortest(time, self.end, True) / self._factor(time)

    def row(self, time: bool, node: int, towards: bool) -> _Floats:
        """Return the travel times or distances of the direct legs from `node`, or `towards` it, float64 [n]."""
        return self._row(time, node, towards) / self._factor(time)

    def arrivals(self, direct: bool, departure: float) -> _Floats:
        """Return float64 [n]: when a vehicle that leaves its first depot at `departure` arrives at each node at the earliest.

        Each is that of the direct leg (`direct`), or of a path over nodes where the vehicle may stop. If travel times depend on
        the hour, those of the hours of the drive count, up to 200 nodes; with more, those of the fastest hour.
        """
        rules, n = self.rules, self.instance.n
        if rules.period_starts is None or (not direct and n > _MAX_HOURLY_PATHS):
            return departure + self.from_node(self.start, direct, True)
        starts = np.concatenate([[-np.inf], rules.period_starts[1:]])

        def durations(node: int) -> _Floats:
            if rules.period_durations is not None:
                return np.asarray(rules.period_durations[:, node])
            assert rules.speed_factors is not None
            return np.asarray(self._row(True, node, False)[None] / rules.speed_factors[self.kind][:, None])

        times = arrivals(starts, durations(self.start), np.full(n, departure))
        unsettled = self.stops.copy()
        unsettled[self.start] = False
        while not direct and unsettled.any():
            nearest = int(np.where(unsettled, times, np.inf).argmin())
            unsettled[nearest] = False
            times = np.minimum(times, arrivals(starts, durations(nearest), np.full(n, times[nearest])))
        return times

    def _factor(self, time: bool) -> float:
        """Return the greatest speed factor of all hours for travel times, 1 for distances."""
        return self._fastest if time else 1.0

    def _row(self, time: bool, node: int, towards: bool) -> _Floats:
        """Return the result of `row` at speed factor 1."""
        if (matrix := self._matrices[time]) is None:
            return self.instance.distances_from(node)
        return np.asarray(matrix[:, node] if towards else matrix[node])

    def _shortest(self, time: bool, node: int, towards: bool) -> _Floats:
        """Return the lengths of shortest paths over nodes where the vehicle may stop, at speed factor 1, float64 [n] (Dijkstra).

        Legs longer than the driving time between two rests are not used. A computation that would take too long ends early
        with lower bounds: an unsettled node is at least as far as the last settled one.
        """
        towards = towards and self._matrices[time] is not None  # distances between points are symmetric
        time = time and (self._matrices[True] is not self._matrices[False] or self.max_driving < np.inf)
        if (cached := self.cached.get((time, node, towards))) is not None:
            return cached
        max_leg = self.max_driving if time else np.inf

        def row(node: int) -> _Floats:
            legs = self._row(time, node, towards)
            return np.where(keeps(legs, max_leg), legs, np.inf)

        length, unsettled = row(node), self.stops.copy()
        unsettled[node] = False
        max_steps = _MAX_DISTANCE_COUNT[self._matrices[time] is not None] / (self.instance.n * self.instance.vehicles.types)
        for steps, nearest in enumerate(dijkstra(row, length, unsettled)):
            if steps + 1 > max_steps:
                length = np.minimum(length, length[nearest])
                if self._matrices[time] is None and self.instance.edge_weight_type in _TRIANGLE_INEQUALITY:
                    length = np.maximum(length, self._row(time, node, towards) * (1.0 - LIMIT))
                break
        self.cached[time, node, towards] = length
        return length


def _reload_depots(instance: VrpInstance, rules: SideConstraints, kind: int) -> NDArray[np.int64]:
    """Return the depots where a vehicle type may reload, by default the depot where its route begins; none if it never may."""
    if rules.reloads is None or not rules.reloads[kind]:
        return np.zeros(0, np.int64)
    at_first_depot = np.arange(instance.depots) == instance.vehicles.start[kind]
    return np.flatnonzero(at_first_depot if rules.reload_depots is None else rules.reload_depots[kind])


def _fitting_loads(instance: VrpInstance, rules: SideConstraints, kind: int) -> NDArray[np.bool_]:
    """Return bool [n]: whether the client's delivery, pickup and shipment each fit into the vehicle, in every dimension."""
    q = rules.dimensions
    capacity = rules.of("capacities", np.repeat(instance.vehicles.capacity[:, None], q, axis=1))[kind]
    fits = keeps(rules.of("demands", instance.demand[:, None]), capacity).all(axis=1)
    if rules.pickups is not None:
        fits &= keeps(rules.pickups, capacity).all(axis=1)
    if rules.shipments is not None and rules.amounts is not None:
        fits[rules.shipments] &= keeps(rules.amounts, capacity).all(axis=1)[:, None]
    return np.asarray(fits)
