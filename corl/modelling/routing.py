"""`RoutingModel`: depots, clients and vehicles by name, and the rules of a day's work."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from corl.errors import UsageError
from corl.modelling.common import Names, compiled, loads, records
from corl.modelling.routes import Routes, Stop, VehicleRoute

if TYPE_CHECKING:
    import pandas
    from numpy.typing import ArrayLike

    from corl.problems.vrp.instance import VrpInstance

__all__ = ["RoutingModel"]

Load = float | Mapping[Hashable, float]
Window = Sequence[float | str | None]


class RoutingModel:
    """Routes of vehicles from depots to clients and back, as cheap as possible.

    Nodes lie at x and y in the plane or at lat and lon on the globe (then distances are kilometres, straight), or
    `set_matrix` says how far they are apart. time: the unit of times, "min", "h", "s" or "" for one of your own; with one of
    the first three a window's ends may be "HH:MM". speed: units of distance in a unit of time. A load is a number, or a dict
    of several kinds: {"kg": 12, "crates": 1}.
    """

    def __init__(self, name: str = "model", *, time: Literal["min", "h", "s", ""] = "", speed: float = 1.0) -> None:
        self.name, self.time, self.speed = name, time, speed
        self._depots, self._clients, self._vehicles = Names("depot"), Names("client"), Names("vehicle")
        self._dimensions = Names("kind of load")
        self._nodes: dict[str, list[dict[str, Any]]] = {"depots": [], "clients": [], "vehicles": []}
        self._loads: dict[tuple[str, int, str], dict[Hashable, float]] = {}
        self._needs: list[frozenset[Hashable]] = []
        self._skills: list[frozenset[Hashable]] = []
        self._whole: dict[str, Any] = {}

    # ---------------------------------------------------------------- what there is
    def add_depot(
        self,
        name: Hashable,
        *,
        x: float | None = None,
        y: float | None = None,
        lat: float | None = None,
        lon: float | None = None,
        window: Window | None = None,
    ) -> None:
        """Where vehicles begin and end. window: its hours."""
        self._add("depots", self._depots, name, x=x, y=y, lat=lat, lon=lon, window=window)

    def add_client(
        self,
        name: Hashable,
        *,
        x: float | None = None,
        y: float | None = None,
        lat: float | None = None,
        lon: float | None = None,
        demand: Load = 0,
        pickup: Load | None = None,
        service: float = 0,
        window: Window | None = None,
        windows: Sequence[Window] | None = None,
        prize: float | None = None,
        required: bool | None = None,
        release: float | str | None = None,
        needs: Collection[Hashable] = (),
    ) -> None:
        """A client that is brought its demand and hands over its pickup.

        prize: what leaving it out costs; without one it must be served. release: when its demand is ready at the depot. needs:
        skills that its vehicle must have.
        """
        at = self._add(
            "clients",
            self._clients,
            name,
            x=x, y=y, lat=lat, lon=lon, service=service, window=window, prize=prize, required=required, release=release,
        )  # fmt: skip
        if windows is not None:
            self._nodes["clients"][at]["windows"] = [list(each) for each in windows]
        self._load("clients", at, "demand", f"client {name!r}", demand)
        if pickup is not None:
            self._load("clients", at, "pickup", f"client {name!r}", pickup)
        self._needs.append(frozenset(needs))

    def add_vehicle(
        self,
        name: Hashable,
        *,
        count: int | None = 1,
        capacity: Load | None = None,
        depot: Hashable | None = None,
        end_depot: Hashable | None = None,
        fixed_cost: float = 0,
        unit_cost: float = 1,
        duration_cost: float | None = None,
        max_distance: float | None = None,
        max_duration: float | None = None,
        shift: Window | None = None,
        breaks: Sequence[tuple[float | str, float | str, float]] = (),
        reloads: int | None = None,
        stays_out: bool | None = None,
        skills: Collection[Hashable] = (),
    ) -> None:
        """So many vehicles of a kind (None: any number). unit_cost: of a unit of distance; duration_cost: of one of time.

        breaks: (earliest begin, latest begin, duration). reloads: how often it may come back to load. stays_out: the route ends
        at its last client. skills: what clients may need.
        """
        at = self._add(
            "vehicles", self._vehicles, name,
            count=-1 if count is None else count, fixed_cost=fixed_cost, unit_cost=unit_cost, duration_cost=duration_cost,
            max_distance=max_distance, max_duration=max_duration, shift=shift, reloads=reloads, stays_out=stays_out,
            depot=None if depot is None else self._depots[depot],
            end_depot=None if end_depot is None else self._depots[end_depot],
        )  # fmt: skip
        if breaks:
            given = [{"window": [begin, end], "duration": duration} for begin, end, duration in breaks]
            self._nodes["vehicles"][at]["breaks"] = given
        if capacity is not None:
            self._load("vehicles", at, "capacity", f"vehicle {name!r}", capacity)
        self._skills.append(frozenset(skills))

    def add_shipment(self, origin: Hashable, destination: Hashable, *, amount: float = 0) -> None:
        """What is picked up at one client and brought to another, later on the same route; neither has a demand."""
        given = {"from": self._clients[origin], "to": self._clients[destination], "amount": amount}
        self._whole.setdefault("shipments", []).append(given)

    def add_group(self, clients: Sequence[Hashable], *, required: bool = True) -> None:
        """Clients of which one is served, or where that is not required at most one."""
        given = {"clients": [self._clients[client] for client in clients], "required": required}
        self._whole.setdefault("groups", []).append(given)

    def set_matrix(self, distances: ArrayLike, durations: ArrayLike | None = None) -> None:
        """Distances from node to node, and how long the ways take: depots first, then clients, as they were added."""
        import numpy as np

        self._whole["matrix"] = np.asarray(distances, np.float64).tolist()
        self._whole.pop("profiles", None)
        if durations is not None:
            durations = np.asarray(durations, np.float64).tolist()
            self._whole["profiles"] = [{"distances": self._whole["matrix"], "durations": durations}]

    def ask_osrm(self, url: str, profile: str = "driving") -> None:
        """Take distances (km) and durations (in the model's time) from an OSRM server, `http://localhost:5000` for one."""
        from corl.modelling.osrm import travel_matrices

        unit = {"s": 1.0, "min": 60.0, "h": 3600.0}.get(self.time)
        if unit is None:
            raise UsageError('durations from a server need a unit: RoutingModel(time="min")')
        places = [(node.get("lat"), node.get("lon")) for key in ("depots", "clients") for node in self._nodes[key]]
        if any(value is None for place in places for value in place):
            raise UsageError("a server wants lat and lon of every depot and client")
        metres, seconds = travel_matrices(url, places, profile)  # type: ignore[arg-type]
        self.set_matrix(metres / 1000.0, seconds / unit)

    @classmethod
    def from_frame(
        cls, clients: pandas.DataFrame | Sequence[Mapping[str, Any]], name: str = "model", **options: Any
    ) -> RoutingModel:
        """A model with a client for each row: columns are `name` and what `add_client` takes. The rest is added after."""
        model = cls(name, **options)
        for row in records(clients):
            model.add_client(row.pop("name", len(model._clients)), **row)
        return model

    # ---------------------------------------------------------------- compiled and solved
    def instance(self) -> VrpInstance:
        """What the model compiles to. Raises InputError, naming the model's own objects, or UsageError."""
        from corl.problems.vrp.problem import Vrp

        kinds = {"depots": self._depots, "clients": self._clients, "vehicles": self._vehicles}
        for each in kinds.values():
            if not len(each):
                raise UsageError(f"the model has no {each.kind}; add_{each.kind} adds one")
        nodes = Names("client")  # which messages number with the depots first
        for name in (*self._depots.listed(), *self._clients.listed()):
            nodes.add(name)
        return compiled(lambda: Vrp().adapt(self._object()), kinds | {"client": nodes})

    def solve(self, **options: Any) -> Routes:
        """As `corl.solve` of the instance: `time_limit`, `solver` and what else it takes."""
        from corl.solving import solve

        instance = self.instance()
        result = solve(instance, problem="vrp", **options)
        places = {key: [(node.get("lon", node.get("x")), node.get("lat", node.get("y"))) for node in self._nodes[key]]
                  for key in ("depots", "clients")}  # fmt: skip
        routes = () if result.solution is None else tuple(self._route(instance, route) for route in result.solution)
        names = (*self._depots.listed(), *self._clients.listed())
        return Routes(result, routes, dict(zip(names, places["depots"] + places["clients"])), "lat" in self._nodes["clients"][0])

    def _object(self) -> dict[str, Any]:
        """The model as an object such as files hold: nodes are numbered, depots first."""
        shift, dimensions = len(self._depots), self._dimensions.listed()
        nodes = {key: [dict(node) for node in rows] for key, rows in self._nodes.items()}
        for i, node in enumerate(nodes["depots"] + nodes["clients"]):
            node["id"] = i
        for (key, at, field), amounts in self._loads.items():
            rest = self._plenty() if field == "capacity" else dict.fromkeys(dimensions, 0)
            listed = [amounts.get(dimension, rest[dimension]) for dimension in dimensions]
            nodes[key][at][field] = listed if len(listed) > 1 else listed[0]
        for vehicle, skills in zip(nodes["vehicles"], self._skills):
            if any(self._needs):
                vehicle["allowed"] = [shift + i for i, needs in enumerate(self._needs) if needs <= skills]
            if len(dimensions) > 1 and "capacity" not in vehicle:
                vehicle["capacity"] = [self._plenty()[dimension] for dimension in dimensions]
        whole = dict(self._whole)
        if "groups" in whole:
            whole["groups"] = [each | {"clients": [shift + i for i in each["clients"]]} for each in whole["groups"]]
        if "shipments" in whole:
            whole["shipments"] = [each | {"from": shift + each["from"], "to": shift + each["to"]} for each in whole["shipments"]]
        on_globe = "matrix" not in whole and "lat" in nodes["clients"][0]
        units = {"time": self.time} | ({"distance": "km"} if on_globe else {})
        facts = {"problem": "vrp", "name": self.name, "units": units, "speed": self.speed}
        if "matrix" in whole:
            for node in nodes["depots"] + nodes["clients"]:
                node.pop("lat", None), node.pop("lon", None)
        return facts | ({"coordinates": "latlon"} if on_globe else {}) | whole | nodes

    def _plenty(self) -> dict[Hashable, float]:
        """Of every kind of load as much as all clients together have: a capacity that is no limit."""
        amounts = [given for (key, _, _), given in self._loads.items() if key == "clients"]
        return {kind: 1.0 + sum(each.get(kind, 0) for each in amounts) for kind in self._dimensions.known}

    def _add(self, key: str, names: Names, name: Hashable, **fields: Any) -> int:
        if (key == "clients" and name in self._depots.known) or (key == "depots" and name in self._clients.known):
            raise UsageError(f"a depot and a client are both {name!r}; accepted: another name")
        at = names.add(name)
        given = {field: value for field, value in fields.items() if value is not None}
        self._nodes[key].append({field: list(value) if field in ("window", "shift") else value for field, value in given.items()})
        return at

    def _load(self, key: str, at: int, field: str, of: str, given: Load) -> None:
        self._loads[key, at, field] = loads(of, given, self._dimensions, new=True)

    def _route(self, instance: VrpInstance, route: Any) -> VehicleRoute:
        from corl.problems.vrp.evaluation import schedule

        found, unit = schedule(instance, route), instance.speed * instance.scale
        names = [*self._depots.listed(), *self._clients.listed()]
        stops = tuple(Stop(names[node], float(begin) / unit) for node, begin in zip(route.visits.tolist(), found.begin))
        types = instance.vehicles
        ends = names[int(types.start[route.vehicle])], names[int(types.end[route.vehicle])]
        return VehicleRoute(
            self._vehicles.listed()[route.vehicle], *ends, stops, found.leave / unit, found.back / unit,
            found.distance / instance.scale, found.load,
        )  # fmt: skip
