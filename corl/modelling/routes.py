"""What comes of a RoutingModel: routes by name, with times; as a table and as GeoJSON."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corl.errors import UsageError
from corl.modelling.common import Solved, to_frame

if TYPE_CHECKING:
    import pandas

__all__ = ["Routes", "Stop", "VehicleRoute"]


@dataclass(frozen=True)
class Stop:
    """A visit. begin: when service begins, in the model's time; of a visit to a depot, which is a reload, when loading does."""

    name: Hashable
    begin: float


@dataclass(frozen=True)
class VehicleRoute:
    """What one vehicle does."""

    vehicle: Hashable
    """The name of its kind."""
    start: Hashable
    end: Hashable
    """The depots."""
    stops: tuple[Stop, ...]
    leaves: float
    """As late as delays nothing."""
    returns: float
    distance: float
    load: float
    """Of the first kind of load, all trips together."""

    @property
    def names(self) -> list[Hashable]:
        """Whom it visits, in order."""
        return [stop.name for stop in self.stops]


@dataclass(frozen=True)
class Routes(Solved):
    """The routes; empty without a solution."""

    routes: tuple[VehicleRoute, ...]
    places: Mapping[Hashable, tuple[float | None, float | None]]
    """(x, y) or (longitude, latitude) of every depot and client; None where a matrix stands in for them."""
    on_globe: bool

    def left_out(self) -> dict[Hashable, str]:
        """The clients without a route, and what serving each would cost, or the limit in the way."""
        visited = {name for route in self.routes for name in route.names}
        names = list(self.places)
        told = {names[int(key.removeprefix("client "))]: why for key, why in self.result.explain().items()}
        return {name: why for name, why in told.items() if name not in visited}

    def to_frame(self) -> pandas.DataFrame:
        """A row for each stop: route, vehicle, stop (from 0), name, begin."""
        return to_frame(
            [
                {"route": r, "vehicle": route.vehicle, "stop": k, "name": stop.name, "begin": stop.begin}
                for r, route in enumerate(self.routes)
                for k, stop in enumerate(route.stops)
            ],
            ("route", "vehicle", "stop", "name", "begin"),
        )

    def to_geojson(self) -> dict[str, Any]:
        """A FeatureCollection (RFC 7946): a LineString for each route, a Point for each depot and client. Raises UsageError."""
        if not self.on_globe:
            raise UsageError("GeoJSON is for latitudes and longitudes; these nodes have none")
        features = [
            _feature("LineString", [self.places[name] for name in (route.start, *route.names, route.end)],
                     route=r, vehicle=route.vehicle, distance=route.distance, leaves=route.leaves, returns=route.returns)
            for r, route in enumerate(self.routes)
        ]  # fmt: skip
        begins = {stop.name: (r, stop.begin) for r, route in enumerate(self.routes) for stop in route.stops}
        for name, place in self.places.items():
            route, begin = begins.get(name, (None, None))
            features.append(_feature("Point", place, name=name, route=route, begin=begin))
        return {"type": "FeatureCollection", "features": features}


def _feature(kind: str, coordinates: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}, "properties": properties}
