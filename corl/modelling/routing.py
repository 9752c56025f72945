"""`RoutingModel`: a vehicle routing problem with named depots, clients and vehicles."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from corl import arguments as check
from corl.errors import UsageError, shown
from corl.modelling.common import Names, accepted_cells, compiled, loads, records, solved
from corl.modelling.replanning import Position, Situation, next_number, without_client
from corl.modelling.routes import Routes, Stop, VehicleRoute

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from numpy.typing import ArrayLike, NDArray

    from corl.problems.vrp.instance import VrpInstance
    from corl.result import Result

__all__ = ["RoutingModel"]

Load = float | Mapping[Hashable, float]
Window = Sequence[float | str | None]
_COLUMNS = (
    "name", "x", "y", "lat", "lon", "demand", "pickup", "service", "window", "windows", "prize", "required", "release", "needs",
)  # fmt: skip
_BREAKS = "a list of breaks (earliest begin, latest begin, duration)"
_UNITS = {"": 0.0, "s": 1.0, "min": 60.0, "h": 3600.0}


class RoutingModel:
    """A model of vehicles that visit clients: the routes with the least total cost are sought.

    Nodes (depots and clients) have coordinates x and y in the plane, or lat and lon on the globe, or `set_matrix` sets their
    distances. Distances on the globe are great-circle distances in kilometres. A load is a number, or a dict for several kinds
    of load: {"kg": 12, "crates": 1}.
    """

    def __init__(self, name: str = "model", *, time: Literal["min", "h", "s", ""] = "", speed: float = 1.0) -> None:
        """Create a model without nodes and vehicles. Raises UsageError.

        Args:
            name: The name of the instance.
            time: The unit of all times: "min", "h" or "s", which allow times of day such as "08:30"; "" for any other unit.
            speed: Units of distance per unit of time, above 0.
        """
        self.name, self.time = check.text("name", name), check.choice("time", time, _UNITS)
        self.speed = check.number("speed", speed)
        if not self.speed > 0:
            raise check.refusal("speed", speed, "a number above 0")
        self._depots, self._clients, self._vehicles = Names("depot"), Names("client"), Names("vehicle")
        self._dimensions = Names("kind of load")
        self._objects: dict[str, list[dict[str, Any]]] = {"depots": [], "clients": [], "vehicles": []}
        self._loads: dict[tuple[str, int, str], dict[Hashable, float]] = {}
        self._needs: list[frozenset[Hashable]] = []
        self._skills: list[frozenset[Hashable]] = []
        self._model_fields: dict[str, Any] = {}  # fields of the instance as a whole: matrix, profiles, shipments, groups
        self._plan: Routes | None = None  # the last solution

    # ---------------------------------------------------------------- nodes, vehicles and constraints
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
        """Add a depot, at which routes begin and end. Raises UsageError.

        Args:
            name: The name of the depot.
            x: The first coordinate in the plane.
            y: The second coordinate in the plane.
            lat: The latitude in degrees, instead of x and y.
            lon: The longitude in degrees.
            window: (begin, end) of the opening hours; None as begin or end: no limit.
        """
        new_name = self._new(self._depots, self._clients, name)
        of = f"depot {shown(new_name)}"
        node = self._place(of, x, y, lat, lon) | self._times(of, window=window)
        self._depots.add(new_name)
        self._objects["depots"].append(node)

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
        """Add a client. Raises UsageError.

        Args:
            name: The name of the client.
            x: The first coordinate in the plane.
            y: The second coordinate in the plane.
            lat: The latitude in degrees, instead of x and y.
            lon: The longitude in degrees.
            demand: The load delivered to the client.
            pickup: The load collected from the client.
            service: The duration of the visit.
            window: (begin, end) of the times at which service may begin; None as begin or end: no limit.
            windows: Several such windows, instead of `window`.
            prize: The cost of not serving the client; None: the client must be served.
            required: Whether the client must be served even if it has a prize.
            release: The time from which the client's demand is available at the depot.
            needs: The skills that the client's vehicle must have.
        """
        new_name = self._new(self._clients, self._depots, name)
        of = f"client {shown(new_name)}"
        node = self._place(of, x, y, lat, lon) | self._times(of, window=window, windows=windows)
        node["service"] = check.number(f"{of}: service", service)
        node |= {} if prize is None else {"prize": check.number(f"{of}: prize", prize)}
        node |= {} if required is None else {"required": check.flag(f"{of}: required", required)}
        node |= {} if release is None else {"release": self._number(f"{of}: release", release)}
        skills = frozenset(check.names(f"{of}: needs", needs))
        carried = {"demand": loads(f"{of}: demand", demand, self._dimensions, new=True)}
        if pickup is not None:
            carried["pickup"] = loads(f"{of}: pickup", pickup, self._dimensions, new=True)
        at = self._clients.add(new_name)
        self._objects["clients"].append(node)
        self._needs.append(skills)
        for field, amounts in carried.items():
            self._loads["clients", at, field] = amounts

    def remove_client(self, name: Hashable) -> None:
        """Remove a client, from its groups and from the matrix, too. Raises UsageError.

        If it is an end of a shipment, the shipment is removed, and the other end becomes a client without a load.
        """
        at = self._clients.number("client", name)
        self._clients = Names("client", (each for each in self._clients.listed() if each != name))
        del self._objects["clients"][at], self._needs[at]
        self._loads = {
            (key, k - (k > at) if key == "clients" else k, field): amounts
            for (key, k, field), amounts in self._loads.items()
            if (key, k) != ("clients", at)
        }
        self._model_fields = without_client(self._model_fields, at, len(self._depots))

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
        """Add vehicles of one kind. Raises UsageError.

        Args:
            name: The name of the kind.
            count: The number of vehicles; None: no limit.
            capacity: The largest load; None: no limit.
            depot: The depot at which routes begin; by default the first.
            end_depot: The depot at which routes end; by default the depot at which they begin.
            fixed_cost: The cost of each vehicle used.
            unit_cost: The cost per unit of distance.
            duration_cost: The cost per unit of time.
            max_distance: The largest distance of a route.
            max_duration: The longest duration of a route.
            shift: (begin, end) of the times at which the vehicle may be on its route.
            breaks: (earliest begin, latest begin, duration) of each break.
            reloads: The largest number of returns to a depot to load again, per route.
            stays_out: Whether routes end at their last client instead of a depot.
            skills: The skills of the vehicle.
        """
        new_name = self._vehicles.new(name)
        of = f"vehicle {shown(new_name)}"
        kind: dict[str, Any] = {"count": -1 if count is None else check.integer(f"{of}: count", count)}
        costs = {"fixed_cost": fixed_cost, "unit_cost": unit_cost, "duration_cost": duration_cost}
        kind |= {key: check.number(f"{of}: {key}", cost) for key, cost in costs.items() if cost is not None}
        limits = {"max_distance": max_distance, "max_duration": max_duration}
        found = {key: check.number(f"{of}: {key}", limit, infinite=True) for key, limit in limits.items() if limit is not None}
        kind |= {key: limit for key, limit in found.items() if limit < math.inf}
        kind |= self._times(of, shift=shift)
        kind |= {} if reloads is None else {"reloads": check.integer(f"{of}: reloads", reloads)}
        kind |= {} if stays_out is None else {"stays_out": check.flag(f"{of}: stays_out", stays_out)}
        depots = {"depot": depot, "end_depot": end_depot}
        kind |= {key: self._depots.number(f"{of}: {key}", each) for key, each in depots.items() if each is not None}
        if all_breaks := [self._break(of, each) for each in check.entries(f"{of}: breaks", breaks, _BREAKS)]:
            kind["breaks"] = all_breaks
        skill_set = frozenset(check.names(f"{of}: skills", skills))
        capacities = None if capacity is None else loads(f"{of}: capacity", capacity, self._dimensions, new=True, infinite=True)
        at = self._vehicles.add(new_name)
        self._objects["vehicles"].append(kind)
        self._skills.append(skill_set)
        if capacities is not None:
            self._loads["vehicles", at, "capacity"] = {key: amount for key, amount in capacities.items() if amount < math.inf}

    def add_shipment(self, origin: Hashable, destination: Hashable, *, amount: float = 0) -> None:
        """Add a shipment: one route visits the client `origin` and later the client `destination`. Raises UsageError.

        The load `amount` is on the vehicle between the two visits. Neither client has a demand of its own.
        """
        given = {
            "from": self._clients.number("origin", origin),
            "to": self._clients.number("destination", destination),
            "amount": check.number("amount", amount),
        }
        if given["from"] == given["to"]:
            raise check.refusal("destination", destination, "another client than the origin")
        self._model_fields.setdefault("shipments", []).append(given)

    def add_group(self, clients: Sequence[Hashable], *, required: bool = True) -> None:
        """Add a group of clients, of which exactly one is served, or at most one if `required` is False. Raises UsageError."""
        members = [self._clients.number("clients", client) for client in check.names("clients", clients)]
        if not members:
            raise check.refusal("clients", clients, "at least one client")
        self._model_fields.setdefault("groups", []).append({"clients": members, "required": check.flag("required", required)})

    def set_matrix(self, distances: ArrayLike, durations: ArrayLike | None = None) -> None:
        """Set the distances and durations between nodes. Raises UsageError.

        Args:
            distances: float [N, N], from row to column; the depots come first, then the clients, in the order of their addition.
            durations: float [N, N], in the model's unit of time; None: distance divided by speed.
        """
        matrix = _square("distances", distances)
        times = None if durations is None else _square("durations", durations)
        if times is not None and len(times) != len(matrix):
            raise UsageError(f"durations: {len(times)} rows are not accepted; accepted: {len(matrix)}, as of distances")
        self._model_fields["matrix"] = matrix
        self._model_fields.pop("profiles", None)
        if times is not None:
            self._model_fields["profiles"] = [{"distances": matrix, "durations": times}]

    def ask_osrm(self, url: str, profile: str = "driving") -> None:
        """Set the distances (in km) and durations (in the model's unit of time) from an OSRM server.

        Raises InputError if the server cannot answer, and UsageError.

        Args:
            url: The address of the server, such as `http://localhost:5000`.
            profile: The server's profile.
        """
        from corl.modelling.osrm import travel_matrices

        url, profile, unit = check.text("url", url), check.text("profile", profile), _UNITS[self.time]
        if not unit:
            raise UsageError('durations from a server need a unit of time: RoutingModel(time="min")')
        places = [(node.get("lat"), node.get("lon")) for key in ("depots", "clients") for node in self._objects[key]]
        if any(value is None for place in places for value in place):
            raise UsageError("a server needs lat and lon of every depot and client")
        metres, seconds = travel_matrices(url, places, profile)  # type: ignore[arg-type]
        self.set_matrix(metres / 1000.0, seconds / unit)

    @classmethod
    def from_frame(
        cls, clients: pandas.DataFrame | Sequence[Mapping[str, Any]], name: str = "model", **options: Any
    ) -> RoutingModel:
        """Return a model with a client for each row of a table. Raises UsageError.

        Args:
            clients: A DataFrame, or dicts; its columns are `name` (default: the number of the row) and the other arguments of
                `add_client`.
            name: The name of the model.
            options: The other arguments of `RoutingModel`.
        """
        model = cls(name, **options)
        for at, row in enumerate(records("clients", clients)):
            cells = accepted_cells(f"row {at} of the clients", row, (), _COLUMNS)  # (): no column is required
            model.add_client(cells.pop("name", at), **cells)
        return model

    # ---------------------------------------------------------------- the instance and its solution
    def instance(self) -> VrpInstance:
        """Return the instance of the model. Raises InputError, naming the model's own objects, or UsageError."""
        from corl.problems.vrp.problem import Vrp

        kinds = {"depots": self._depots, "clients": self._clients, "vehicles": self._vehicles}
        for each in (self._depots, self._vehicles):
            if not len(each):
                raise UsageError(f"the model has no {each.kind}; add_{each.kind} adds one")
        return compiled(lambda: Vrp().adapt(self._object()), kinds)

    def solve(self, **options: Any) -> Routes:
        """Solve the instance with the options of `corl.solve`: `time_limit`, `solver` and others."""
        instance = self.instance()
        result = solved(instance, "vrp", options)
        solution, taken, routes = result.solution or [], set[tuple[Hashable, int]](), []
        for route in solution:
            vehicle = next_number(self._vehicles.listed()[route.vehicle], taken)
            taken.add(vehicle)
            routes.append(self._route(instance, route, vehicle))
        self._plan = self._routes(result, routes)
        return self._plan

    def replan(
        self,
        plan: Routes | None = None,
        *,
        now: float | str,
        done: Mapping[Any, Mapping[Hashable, float | str]] | None = None,
        under_way: Mapping[Any, Any] | None = None,
        own_loads: bool = True,
        time_limit: float | None = 1.0,
        **options: Any,
    ) -> Routes:
        """Return the routes of the whole day, of which only what is still possible at the time `now` is changed.

        Visits whose service has begun, and the client to which a vehicle is on its way, are fixed. All other visits may move.
        Clients may have been added or removed since the plan. A vehicle is named by its kind, or by (kind, number) if there are
        several. `changes` of the returned routes lists what is new. Raises UsageError, InputError or SolverError.

        Args:
            plan: The plan that is being carried out; None: the last one that `solve` or `replan` returned.
            now: The present time.
            done: Vehicle -> {client: time at which service began}, of all visits that have happened; None: as planned.
            under_way: Vehicle -> the client to which it is on its way, or (client, expected arrival), or the depot if it is on
                its way back; None: each vehicle goes to its next client in the plan, or back, after the last service.
                A vehicle that is not listed leaves its last client at `now`, or its depot if it has visited none.
            own_loads: Whether each demand is loaded for its client at the depot. If not, a vehicle that has left can serve any
                demand within its capacity.
            time_limit: Seconds of the search.
            **options: The other options of `corl.solve`.
        """
        if plan is None:
            plan = self._plan
        if not isinstance(plan, Routes) and (plan is not None or done is None):
            raise check.refusal("plan", plan, "the return value of solve or replan")
        instance, kinds = self.instance(), (self._depots, self._clients, self._vehicles)
        situation = Situation(instance, kinds, plan, self._number("now", now), self._number)
        positions = situation.positions(done, under_way)
        changed, start = situation.remaining(positions, check.flag("own_loads", own_loads))
        result = solved(changed, "vrp", {"warm_start": start, "time_limit": time_limit} | options)
        routes = [
            self._route(changed, route, vehicle, instance.service, positions)
            for vehicle, route in situation.by_vehicle(positions, result.solution or [])
        ]
        self._plan = self._routes(result, routes, plan)
        return self._plan

    def _routes(self, result: Result, routes: Sequence[VehicleRoute], before: Routes | None = None) -> Routes:
        """Return the solution of the model with these routes; `before` is the plan that it changes."""
        places = {key: [(node.get("lon", node.get("x")), node.get("lat", node.get("y"))) for node in self._objects[key]]
                  for key in ("depots", "clients")}  # fmt: skip
        clients, on_globe = self._clients.listed(), "lat" in self._objects["depots"][0]
        named_places = dict(zip((*self._depots.listed(), *clients), places["depots"] + places["clients"]))
        earlier = before and replace(before, before=None)
        return Routes(result, tuple(routes), named_places, on_globe, tuple(clients), earlier)

    def _object(self) -> dict[str, Any]:
        """Return the model as the JSON object of an instance file, in which nodes are numbered, depots first."""
        first_client, dimensions = len(self._depots), self._dimensions.listed()
        objects = {key: [dict(each) for each in rows] for key, rows in self._objects.items()}
        for key, names in (("depots", self._depots), ("clients", self._clients), ("vehicles", self._vehicles)):
            for each, name in zip(objects[key], names.texts()):
                each["name"] = name
        for i, node in enumerate(objects["depots"] + objects["clients"]):
            node["id"] = i
        for (key, at, field), amounts in self._loads.items():
            default = self._ample_capacity() if field == "capacity" else dict.fromkeys(dimensions, 0)
            listed = [amounts.get(dimension, default[dimension]) for dimension in dimensions]
            objects[key][at] |= {field: listed if len(listed) > 1 else listed[0]} if listed else {}
        for vehicle, skills in zip(objects["vehicles"], self._skills):
            if any(self._needs):
                vehicle["allowed"] = [first_client + i for i, needs in enumerate(self._needs) if needs <= skills]
            if len(dimensions) > 1 and "capacity" not in vehicle:
                vehicle["capacity"] = [self._ample_capacity()[dimension] for dimension in dimensions]
        fields = dict(self._model_fields)
        if "groups" in fields:
            fields["groups"] = [each | {"clients": [first_client + i for i in each["clients"]]} for each in fields["groups"]]
        if "shipments" in fields:
            fields["shipments"] = [
                each | {"from": first_client + each["from"], "to": first_client + each["to"]} for each in fields["shipments"]
            ]
        on_globe = "matrix" not in fields and "lat" in objects["depots"][0]
        units = {"time": self.time} | ({"distance": "km"} if on_globe else {})
        facts = {"problem": "vrp", "name": self.name, "units": units, "speed": self.speed}
        if "matrix" in fields:
            for node in objects["depots"] + objects["clients"]:
                node.pop("lat", None), node.pop("lon", None)
        return facts | ({"coordinates": "latlon"} if on_globe else {}) | fields | objects

    def _ample_capacity(self) -> dict[Hashable, float]:
        """Return kind of load -> 1 more than the sum over all clients: a capacity that never is a limit."""
        amounts = [given for (key, _, _), given in self._loads.items() if key == "clients"]
        return {kind: 1.0 + sum(each.get(kind, 0) for each in amounts) for kind in self._dimensions.known}

    def _new(self, names: Names, others: Names, name: Hashable) -> Hashable:
        """Return the name of a new node. Raises UsageError if a node has it already."""
        new_name = names.new(name)
        if new_name in others.known:
            raise UsageError(f"a depot and a client are both {shown(new_name)}; accepted: another name")
        return new_name

    def _place(self, of: str, x: Any, y: Any, lat: Any, lon: Any) -> dict[str, float]:
        """Return the given coordinates: x and y, or lat and lon, or none. Raises UsageError."""
        ranges = {"x": 1e12, "y": 1e12, "lat": 90.0, "lon": 360.0}
        given = {axis: value for axis, value in zip(ranges, (x, y, lat, lon)) if value is not None}
        found = {axis: check.number(f"{of}: {axis}", value, -ranges[axis], ranges[axis]) for axis, value in given.items()}
        if set(found) not in ({"x", "y"}, {"lat", "lon"}, set()):
            raise UsageError(f"{of} has {' and '.join(found)}; accepted: x and y, or lat and lon, or none with set_matrix")
        return found

    def _times(self, of: str, *, windows: Any = None, **single: Any) -> dict[str, Any]:
        """Return key -> window, or list of windows, for those that are given. Raises UsageError."""
        found: dict[str, Any] = {
            key: check.window(f"{of}: {key}", value, self.time) for key, value in single.items() if value is not None
        }
        if windows is not None:
            several = check.entries(f"{of}: windows", windows, "a list of windows (begin, end)")
            found["windows"] = [check.window(f"{of}: windows", each, self.time) for each in several]
        return found

    def _number(self, of: str, value: Any) -> float:
        """Return a time, given as a number or "HH:MM", as a number in the model's unit. Raises UsageError."""
        time = check.moment(of, value, self.time)
        if not isinstance(time, str):
            return time
        parts = [int(part) for part in time.split(":")]
        return sum(part * size for part, size in zip(parts, (3600, 60, 1))) / _UNITS[self.time]

    def _break(self, of: str, given: Any) -> dict[str, Any]:
        """Return a break in the form of instance files. Raises UsageError."""
        begin, end, duration = check.entries(f"{of}: breaks", given, _BREAKS, count=3)
        window = check.window(f"{of}: breaks", (begin, end), self.time)
        return {"window": window, "duration": check.number(f"{of}: breaks", duration)}

    def _route(
        self,
        instance: VrpInstance,
        route: Any,
        vehicle: tuple[Hashable, int],
        service: NDArray[np.float64] | None = None,
        positions: Sequence[Position] = (),
    ) -> VehicleRoute:
        """Return a route of a solution with the model's names and units.

        Args:
            instance: The instance.
            route: The route.
            vehicle: The kind and the number of its vehicle.
            service: float64 [n], the durations of service, if those of the instance contain waiting.
            positions: The positions of the vehicles that have left.
        """
        from corl.problems.vrp.evaluation import schedule
        from corl.problems.vrp.timetable import stops

        timing, unit = schedule(instance, route), instance.speed * instance.scale
        names, kinds = [*self._depots.listed(), *self._clients.listed()], self._dimensions.listed()
        visits = []
        for stop in stops(instance, route):
            waits_after = 0.0 if service is None else max(0.0, stop.service - float(service[stop.node]) / unit)
            load = stop.load[0] if len(kinds) < 2 else dict(zip(kinds, stop.load))
            visits.append(Stop(
                names[stop.node], stop.begin, stop.arrival, stop.wait + waits_after, stop.pause, stop.service - waits_after,
                stop.departure, load, stop.distance,
            ))  # fmt: skip
        types = instance.vehicles
        ends = names[int(types.start[route.vehicle])], names[int(types.end[route.vehicle])]
        position = next((each for each in positions if each.vehicle == vehicle), None)
        return VehicleRoute(
            vehicle[0], *ends, tuple(visits), timing.leave / unit, timing.back / unit, timing.distance / instance.scale,
            timing.load, vehicle[1], 0 if position is None else len(position.done), 0 if position is None else position.fixed,
        )  # fmt: skip


def _square(of: str, given: Any) -> list[list[float]]:
    """Return a square matrix of numbers from 0 as lists. Raises UsageError."""
    import numpy as np

    accepted = "a square matrix of finite numbers from 0"
    try:
        found = np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise check.refusal(of, given, accepted) from None
    if (
        found.ndim != 2
        or found.shape[0] != found.shape[1]
        or not found.size
        or not ((found >= 0) & (found <= check.LARGEST)).all()
    ):
        raise check.refusal(of, given, accepted)
    return found.tolist()  # type: ignore[no-any-return]
