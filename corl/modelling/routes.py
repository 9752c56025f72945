"""The solution of a RoutingModel: routes with names and times, as objects, as a table and as GeoJSON."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corl.arguments import number, refusal
from corl.errors import UsageError
from corl.modelling.common import Solved, to_frame

if TYPE_CHECKING:
    import pandas

    from corl.modelling.changes import Changes

__all__ = ["Routes", "Stop", "VehicleRoute"]


@dataclass(frozen=True)
class Stop:
    """A visit to a client, or to a depot within a route to load again (a reload).

    Times are in the model's unit: departure = arrival + wait + pause + service.
    """

    name: Hashable
    """The name of the client or depot."""
    begin: float
    """The time at which service, or at a depot loading, begins."""
    arrival: float
    wait: float
    """Idle time until a window opens or a break may begin."""
    pause: float
    """The duration of breaks taken at this stop, before or after its service."""
    service: float
    departure: float
    load: float | Mapping[Hashable, float]
    """The load of the vehicle when it leaves the stop; a dict from kinds to loads if there are several kinds."""
    distance: float
    """The distance from the previous stop: in metres for latitudes and longitudes, otherwise in the model's unit of distance."""
    early: float = 0.0
    """By how much service begins before the soft window."""
    late: float = 0.0
    """By how much service begins after the soft window."""


@dataclass(frozen=True)
class VehicleRoute:
    """The route of one vehicle."""

    vehicle: Hashable
    """The name of the kind of vehicle."""
    start: Hashable
    """The depot at which the route begins."""
    end: Hashable
    """The depot at which the route ends."""
    stops: tuple[Stop, ...]
    leaves: float
    """The time of departure: the latest time that does not delay the arrival at the end, unless costs of times or travel times by
    the hour make another one better."""
    returns: float
    """The time of arrival at the end."""
    distance: float
    """The distance of the whole route, in the model's unit of distance."""
    load: float
    """The load of the first kind, summed over all trips between reloads."""
    number: int = 1
    """The number of the vehicle among those of its kind, from 1. `replan` keeps it."""
    done: int = 0
    """After `replan`: the number of stops, from the first, whose service had begun."""
    fixed: int = 0
    """After `replan`: the number of stops that are done or to which the vehicle was already on its way."""
    day: int | None = None
    """The day of the shift, to which all times belong; None for a vehicle without shifts."""

    @property
    def names(self) -> list[Hashable]:
        """The names of the clients and depots visited, in order."""
        return [stop.name for stop in self.stops]


@dataclass(frozen=True)
class Routes(Solved):
    """The solution of a RoutingModel."""

    routes: tuple[VehicleRoute, ...]
    """The routes; empty without a solution."""
    places: Mapping[Hashable, tuple[float | None, float | None]]
    """Depot or client -> (x, y) or (longitude, latitude); (None, None) for nodes without coordinates."""
    on_globe: bool
    """Whether places are longitudes and latitudes."""
    clients: tuple[Hashable, ...] = ()
    """The names of all clients, served or not."""
    before: Routes | None = None
    """After `replan`: the plan that it changed."""

    def _lines(self) -> list[str]:
        return [
            f"{route.vehicle} {route.number}{'' if route.day is None else f', day {route.day}'}: {route.leaves:.10g} to "
            f"{route.returns:.10g}, distance {route.distance:.10g}: {' > '.join(map(str, route.names))}"
            for route in self.routes
        ]

    def changes(self, before: Routes | None = None, *, by: float = 1e-6) -> Changes:
        """Return what has changed for each client since another plan. Raises UsageError if there is no plan to compare with.

        Args:
            before: The other plan; None: the plan that `replan` changed.
            by: Begins of service that differ by no more than this, in the model's unit of time, are not listed.
        """
        from corl.modelling.changes import changes_between

        earlier = self.before if before is None else before
        if not isinstance(earlier, Routes):
            raise refusal("before", before, "the return value of solve or replan")
        return changes_between(earlier, self, number("by", by))

    def left_out(self) -> dict[Hashable, str]:
        """Return unserved client -> the cost of adding it to a route, or the reason why no vehicle can serve it, as text."""
        from corl.problems.vrp.explaining import reasons

        if self.result.solution is None:
            return {}
        names = list(self.places)
        return {names[node]: why for node, why in reasons(self.result.data, self.result.solution).items()}

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each stop: the numbers of the route and of the stop, from 0, the vehicle, and the fields of `Stop`.

        The column of distances is `metres` for latitudes and longitudes, otherwise `distance`. With soft windows, there are
        columns `early` and `late`. With shifts, the number of the vehicle and the day follow the vehicle. Raises UsageError if
        pandas is not installed.
        """
        distance_column = "metres" if self.on_globe else "distance"
        rows = [
            {"route": r, "vehicle": route.vehicle, **_shift(route), "stop": k, "name": stop.name, "arrival": stop.arrival,
             "wait": stop.wait, "break": stop.pause, "begin": stop.begin, "service": stop.service, "departure": stop.departure,
             **_loads(stop.load), distance_column: stop.distance, **self._deviations(stop)}
            for r, route in enumerate(self.routes)
            for k, stop in enumerate(route.stops)
        ]  # fmt: skip
        first = ("route", "vehicle", "stop", "name", "arrival", "wait", "break", "begin", "service", "departure", "load")
        return to_frame(rows, list(rows[0]) if rows else (*first, distance_column))

    def to_geojson(self) -> dict[str, Any]:
        """Return a GeoJSON FeatureCollection (RFC 7946): a LineString for each route, and a Point for each depot and client.

        Properties of lines: route (from 0), vehicle, number (of the vehicle among its kind), distance, load, leaves, returns,
        stops (names in order); with shifts, day. Of points: name, kind ("depot" or "client"), and, if a route serves the client,
        route, vehicle, order (from 1), arrival, begin, departure, and with soft windows early and late. The line of a route
        without a return ends at its last client. Raises UsageError if the nodes have no latitudes and longitudes.
        """
        if not self.on_globe:
            raise UsageError("GeoJSON needs latitudes and longitudes; these nodes have none")
        features, visits = [], dict[Hashable, dict[str, Any]]()
        for r, route in enumerate(self.routes):
            path = [route.start, *route.names, *([] if self._stays_out(route) else [route.end])]
            day = {} if route.day is None else {"day": route.day}
            facts = day | {"vehicle": route.vehicle, "number": route.number, "distance": route.distance, "load": route.load}
            times = {"leaves": route.leaves, "returns": route.returns, "stops": route.names}
            features.append(_feature("LineString", [self.places[name] for name in path], route=r, **facts, **times))
            for order, stop in enumerate(route.stops, 1):
                clock = {"arrival": stop.arrival, "begin": stop.begin, "departure": stop.departure}
                clock |= self._deviations(stop)
                visits[stop.name] = {"route": r, "vehicle": route.vehicle, "order": order, **clock}
        known = set(self.clients)
        for name, place in self.places.items():
            kind = "client" if name in known else "depot"
            visit = visits.get(name, {"route": None}) if kind == "client" else {}
            features.append(_feature("Point", place, name=name, kind=kind, **visit))
        return {"type": "FeatureCollection", "features": features}

    def _deviations(self, stop: Stop) -> dict[str, float]:
        """Return how early and how late a stop is, if there are soft windows."""
        rules = self.result.data.rules
        return {} if rules is None or rules.soft_windows is None else {"early": stop.early, "late": stop.late}

    def _stays_out(self, route: VehicleRoute) -> bool:
        """Return whether a route ends at its last client."""
        rules, names = self.result.data.rules, self.result.data.vehicle_names
        open_kinds = (
            [] if rules is None or rules.stays_out is None else [name for name, out in zip(names, rules.stays_out) if out]
        )
        return str(route.vehicle) in open_kinds


def _feature(geometry: str, coordinates: Any, /, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": geometry, "coordinates": coordinates}, "properties": properties}


def _shift(route: VehicleRoute) -> dict[str, int]:
    """Return the cells of a table for the shift of a route: none for a vehicle without shifts."""
    return {} if route.day is None else {"number": route.number, "day": route.day}


def _loads(load: float | Mapping[Hashable, float]) -> dict[str, float]:
    """Return the load of a stop as cells of a table: in the column "load", or in a column for each kind of load."""
    return {f"load {kind}": amount for kind, amount in load.items()} if isinstance(load, Mapping) else {"load": load}
