"""VrpInstance: the data of one vehicle routing problem."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.problems.vrp.rules import SideConstraints
from corl.routing.edge_weights import COORDINATE_TYPES, LARGEST, edge_lengths

__all__ = ["EDGE_WEIGHT_TYPES", "FLEETS", "Vehicles", "VrpInstance"]

EDGE_WEIGHT_TYPES = (*COORDINATE_TYPES, "TENTHS_2D", "EXPLICIT")
"""TSPLIB's types; EXACT_*: unrounded Euclidean distances; TENTHS_2D: Euclidean distances cut to whole tenths (DIMACS 2022)."""

FLEETS = ("distance", "fewest")
"""The objectives: least cost; or fewest routes first, then least cost."""

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Vehicles:
    """K vehicle types. A scalar stands for the same value in every type; arrays are float64 or int64 [K] and read-only.

    Times and distances are in the instance's units. Raises InputError for an invalid value.
    """

    capacity: _Floats
    """The greatest load; inf: unlimited."""
    count: NDArray[np.int64] = -1  # type: ignore[assignment]
    """The number of vehicles; -1: unlimited."""
    start: NDArray[np.int64] = 0  # type: ignore[assignment]
    """The depot, numbered from 0, where a route of this type begins."""
    end: NDArray[np.int64] = None  # type: ignore[assignment]
    """The depot where the route ends; by default the depot where it began."""
    fixed_cost: _Floats = 0.0  # type: ignore[assignment]
    """The cost of a route, regardless of its length."""
    unit_cost: _Floats = 1.0  # type: ignore[assignment]
    """The cost of one unit of distance."""
    max_distance: _Floats = np.inf  # type: ignore[assignment]
    """The greatest length of a route; inf: unlimited."""
    max_duration: _Floats = np.inf  # type: ignore[assignment]
    """The longest time from departure to return: travel, waiting and service. Each vehicle departs when this time is least."""

    def __post_init__(self) -> None:
        types = len(np.atleast_1d(self.capacity))
        if self.end is None:
            object.__setattr__(self, "end", self.start)
        for each in fields(self):
            kind = np.int64 if each.name in ("count", "start", "end") else np.float64
            given = np.asarray(getattr(self, each.name))
            if given.ndim > 1 or (given.ndim == 1 and len(given) != types) or given.dtype.kind not in "iuf":
                raise InputError(f"accepted: a number, or one for each of {types} vehicle types", field=each.name)
            if kind == np.int64 and not (given == np.floor(given)).all():
                raise InputError("accepted: integers", field=each.name)
            values = np.array(np.broadcast_to(given, types), kind, order="C")
            low = -1 if each.name == "count" else 0
            if not (values >= low).all():  # false for NaN as well
                raise InputError(f"{values[~(values >= low)][0]:g} is not accepted; accepted: from {low}", field=each.name)
            if each.name in ("fixed_cost", "unit_cost") and not (values <= LARGEST).all():
                raise InputError(f"accepted: finite numbers up to {LARGEST:g}", field=each.name)
            object.__setattr__(self, each.name, _read_only(values))
        if types == 0:
            raise InputError("there must be a vehicle type", field="capacity")

    @property
    def types(self) -> int:
        """K, the number of vehicle types."""
        return len(self.capacity)


@dataclass(frozen=True, eq=False)
class VrpInstance:
    """D depots and n - D clients, the distances between these nodes, and the vehicles.

    Nodes are 0..n-1, the depots first; node i has the id `ids[i]` in the file. All arrays are read-only. One unit of time is the
    travel time of one unit of distance. Distances, times, prizes and fixed costs are stored `scale` times as large as in the file
    (10 for TENTHS_2D, so that they are whole). Objective values are not scaled: they are the sum of costs divided by `scale`.
    Raises InputError for invalid shapes or values; `feasibility.unservable` checks whether every client can be served.
    """

    name: str
    edge_weight_type: str
    demand: _Floats
    """float64 [n], the load delivered to each client, not negative; 0 for depots."""
    vehicles: Vehicles
    points: _Floats | None = None
    """float64 [n, 2 or 3], the coordinates in the file; None for EXPLICIT."""
    matrix: _Floats | None = None
    """float64 [n, n], the distances from row to column for EXPLICIT, not negative, zero on the diagonal; otherwise None."""
    depots: int = 1
    """D, the number of depots."""
    earliest: _Floats | None = None
    """float64 [n]: when service may begin (an early vehicle waits); for a depot, when vehicles may leave. None: no windows."""
    latest: _Floats | None = None
    """float64 [n]: the latest begin of service; for a depot, when vehicles must be back. inf is allowed."""
    service: _Floats | None = None
    """float64 [n]: the duration of service, 0 for depots; None: 0 everywhere."""
    prize: _Floats = None  # type: ignore[assignment]
    """float64 [n]: the cost of not visiting an optional client; by default 0."""
    required: NDArray[np.bool_] = None  # type: ignore[assignment]
    """bool [n]: whether a client must be visited; false for depots. By default all clients are required."""
    fleet: str = "distance"
    """"distance": the least cost; "fewest": one route fewer is preferred to any reduction of cost, see `route_weight`."""
    ids: NDArray[np.int64] = None  # type: ignore[assignment]
    """int64 [n], the ids of the nodes in the file; by default 1..n."""
    scale: int = 1
    """The factor by which distances, times, prizes and fixed costs are stored larger than in the file: 1 or 10."""
    display: _Floats | None = None
    """float64 [n, 2], where drawings show the nodes; None: at `points`."""
    geographic: bool = False
    """Whether `display` are longitudes and latitudes in degrees, although the distances are a matrix."""
    comment: str = ""
    units: tuple[str, str, str] = field(default=("", "", ""))
    """The file's names of its units of distance, time and load, for display."""
    speed: float = 1.0
    """Distance travelled in one of the file's units of time. Times of the file were multiplied by it."""
    rules: SideConstraints | None = None
    """Constraints beyond the fields above; None: no such constraint."""
    names: tuple[str, ...] = ()
    """n different names of the nodes; empty: messages use the ids."""
    vehicle_names: tuple[str, ...] = ()
    """K different names of the vehicle types; empty: messages use their numbers."""

    def __post_init__(self) -> None:
        if self.edge_weight_type not in EDGE_WEIGHT_TYPES:
            message = f"{self.edge_weight_type!r} is not known; accepted: {', '.join(EDGE_WEIGHT_TYPES)}"
            raise InputError(message, field="edge_weight_type")
        if self.fleet not in FLEETS:
            raise InputError(f"{self.fleet!r} is not known; accepted: {', '.join(FLEETS)}", field="fleet")
        if self.scale not in (1, 10) or (self.scale == 10) != (self.edge_weight_type == "TENTHS_2D"):
            raise InputError("accepted: 10 for TENTHS_2D, else 1", field="scale")
        if not 0.0 < self.speed < np.inf:
            raise InputError(f"{self.speed} is not accepted; accepted: a number above 0", field="speed")
        self._check_distances()
        n, depots = self.n, self.depots
        if not 1 <= depots <= n:
            raise InputError(f"{depots} of {n} nodes; accepted: at least one depot", field="depots")
        if self.vehicles.start.max() >= depots or self.vehicles.end.max() >= depots:
            raise InputError(f"a vehicle has a depot that is not there; accepted: 0 to {depots - 1}", field="vehicles")
        if self.ids is None:
            object.__setattr__(self, "ids", np.arange(1, n + 1))
        ids = np.asarray(self.ids)
        if ids.shape != (n,) or ids.dtype.kind not in "iu" or (np.diff(np.sort(ids)) == 0).any() or ids.min() < 0:
            raise InputError(f"there must be {n} different integers from 0", field="ids")
        object.__setattr__(self, "ids", _read_only(ids.astype(np.int64)))
        for key, count in (("names", n), ("vehicle_names", self.vehicles.types)):
            given = getattr(self, key)
            if given and (len(given) != count or len(set(given)) < count or not all(isinstance(name, str) for name in given)):
                raise InputError(f"accepted: {count} different texts, or none", field=key)
            object.__setattr__(self, key, tuple(given))
        self._check_nodes()
        if self.rules is not None:
            self.rules.check(self)

    def _check_distances(self) -> None:
        """Check and convert `points` or `matrix`. Raises InputError."""
        kind, points, matrix = self.edge_weight_type, self.points, self.matrix
        if kind == "EXPLICIT":
            if matrix is None or points is not None or np.ndim(matrix) != 2 or matrix.shape[0] != matrix.shape[1]:
                raise InputError("an EXPLICIT instance has a square matrix and no points", field="matrix")
            matrix = np.array(matrix, np.float64, order="C")
            np.fill_diagonal(matrix, 0.0)  # the diagonal is unused; files store arbitrary values there
            if not (matrix <= LARGEST).all():  # false for NaN as well
                raise InputError(f"distances must be finite and at most {LARGEST:g}", field="matrix")
            if (matrix < 0).any():
                i, j = np.unravel_index(int((matrix < 0).argmax()), matrix.shape)
                raise InputError(
                    f"the distance from node {i} to node {j} is {matrix[i, j]:g}; accepted: 0 or more", field="matrix"
                )
            object.__setattr__(self, "matrix", _read_only(matrix))
            return
        dimensions = COORDINATE_TYPES.get(kind, 2)
        if points is None or matrix is not None or np.ndim(points) != 2 or points.shape[1] != dimensions:
            raise InputError(f"{kind} takes points of shape [n, {dimensions}] and no matrix", field="points")
        points = np.array(points, np.float64, order="C")
        if not (np.abs(points) <= LARGEST).all():
            raise InputError(f"coordinates must be finite and at most {LARGEST:g} in size", field="points")
        object.__setattr__(self, "points", _read_only(points))

    def _check_nodes(self) -> None:
        """Check and convert the arrays of nodes. Raises InputError."""
        n, depots = self.n, self.depots
        self._floats("demand", self.demand, depots_zero=True)
        if self.service is not None:
            self._floats("service", self.service, depots_zero=True)
        if (self.earliest is None) != (self.latest is None):
            raise InputError("earliest and latest must be given together", field="earliest")
        if self.earliest is not None and self.latest is not None:
            self._floats("earliest", self.earliest)
            self._floats("latest", self.latest, infinite=True)
            if (bad := self.latest < self.earliest).any():
                i = int(bad.argmax())
                message = f"node {self.labels[i]}'s window ends at {self.latest[i] / self.scale:g}, before it begins"
                raise InputError(f"{message} at {self.earliest[i] / self.scale:g}", field="latest")
        self._floats("prize", np.zeros(n) if self.prize is None else self.prize, depots_zero=True)
        required = np.arange(n) >= depots if self.required is None else np.array(self.required)
        if required.shape != (n,) or required.dtype != np.bool_ or required[:depots].any():
            raise InputError(f"accepted: bool [{n}], false for depots", field="required")
        object.__setattr__(self, "required", _read_only(required))
        if (bad := required & (self.demand > self.vehicles.capacity.max())).any():
            i = int(bad.argmax())
            capacity = self.vehicles.capacity.max()
            message = f"client {self.labels[i]}'s demand {self.demand[i]:g} is above the capacity of every vehicle, {capacity:g}"
            raise InputError(message, field="demand")
        if self.display is not None:
            display = np.array(self.display, np.float64, order="C")
            if display.shape != (n, 2) or not np.isfinite(display).all():
                raise InputError(f"display coordinates are finite and of shape [{n}, 2]", field="display")
            object.__setattr__(self, "display", _read_only(display))

    def _floats(self, name: str, given: Any, depots_zero: bool = False, infinite: bool = False) -> None:
        """Set field `name` to `given` as float64 [n]. Raises InputError for values below 0 or (unless `infinite`) inf."""
        values = np.array(given, np.float64)
        if values.shape != (self.n,):
            raise InputError(f"accepted: {self.n} numbers, one for each node", field=name)
        accepted = (values >= 0) & ((values <= LARGEST) | (infinite & (values == np.inf)))
        if not accepted.all():
            i = int((~accepted).argmax())
            raise InputError(f"{values[i]:g} at node {self.labels[i]} is not accepted; accepted: 0 to {LARGEST:g}", field=name)
        if depots_zero and values[: self.depots].any():
            raise InputError("accepted: 0 at depots", field=name)
        object.__setattr__(self, name, _read_only(values))

    @property
    def n(self) -> int:
        """The number of nodes, depots and clients."""
        return len(self.points if self.points is not None else self.matrix)  # type: ignore[arg-type]

    @property
    def clients(self) -> int:
        """The number of clients, n - D."""
        return self.n - self.depots

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the nodes in messages and pictures: quoted names, or the file's ids."""
        return tuple(map(repr, self.names)) if self.names else tuple(map(str, self.ids.tolist()))

    def vehicle_label(self, kind: int) -> str:
        """Return the label of a vehicle type in messages and pictures: its name, quoted, or its number from 0."""
        return repr(self.vehicle_names[kind]) if self.vehicle_names else str(kind)

    @property
    def on_globe(self) -> bool:
        """Whether `display` are longitudes and latitudes in degrees."""
        measured = self.edge_weight_type == "EXACT_3D" and self.units[0] in ("km", "m", "mi")
        return self.display is not None and (self.geographic or measured)

    @property
    def windows(self) -> bool:
        """Whether there are time windows."""
        return self.earliest is not None

    @property
    def timed(self) -> bool:
        """Whether time matters: there are time windows or maximum durations."""
        return self.windows or bool((self.vehicles.max_duration < np.inf).any())

    @property
    def symmetric(self) -> bool:
        """Whether distances are the same in both directions."""
        return self.matrix is None or bool(np.array_equal(self.matrix, self.matrix.T))

    @property
    def integral(self) -> bool:
        """Whether all distances and costs (times `scale`) are whole, so that a bound may be rounded up."""
        if self.edge_weight_type.startswith("EXACT"):
            return False
        parts = [self.prize, self.vehicles.fixed_cost, self.vehicles.unit_cost]
        parts += [self.matrix.ravel()] if self.matrix is not None else []
        return all(bool((part == np.floor(part)).all()) for part in parts)

    def distances_from(self, node: int) -> _Floats:
        """Return the distances from a node to all nodes (times `scale`), float64 [n], by the judge's formulas."""
        heads = np.arange(self.n)
        return edge_lengths(self.edge_weight_type, self.points, self.matrix, np.full(self.n, node), heads)

    @cached_property
    def route_weight(self) -> float:
        """The cost (times `scale`) that `fleet` "fewest" adds to the fixed cost of each route; 0 for `fleet` "distance".

        It is a power of ten not less than the cost of serving every client by a separate route, so that one route fewer is
        always cheaper.
        """
        if self.fleet == "distance":
            return 0.0
        vehicles, round_trip = self.vehicles, np.zeros(self.n)
        for start, end, cost in {*zip(vehicles.start.tolist(), vehicles.end.tolist(), vehicles.unit_cost.tolist())}:
            back = self.distances_from(end) if self.symmetric else self.matrix[:, end]  # type: ignore[index]
            round_trip = np.maximum(round_trip, cost * (self.distances_from(start) + back))
        return float(self.scale * 10.0 ** np.ceil(np.log10(max(10.0, round_trip[self.depots :].sum() / self.scale))))


def _read_only(values: Any) -> Any:
    values.flags.writeable = False
    return values
