"""`RoutingModel`: a vehicle routing problem with named depots, clients and vehicles."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from corl import arguments as check
from corl.errors import UsageError
from corl.modelling.common import Names, accepted_cells, compiled, records, solved
from corl.modelling.replanning import Position, Situation, next_number
from corl.modelling.routes import Routes, Stop, VehicleRoute
from corl.modelling.routing_data import RoutingData
from corl.modelling.routing_fields import UNITS, moment_in
from corl.modelling.shifts import shift_types
from corl.modelling.travel import places_of, travel_of

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from numpy.typing import ArrayLike, NDArray

    from corl.problems.vrp.instance import VrpInstance
    from corl.result import Result

__all__ = ["RoutingModel"]

_COLUMNS = (
    "name", "x", "y", "lat", "lon", "demand", "pickup", "service", "window", "windows", "prize", "required", "release", "needs",
    "soft_window", "early_cost", "late_cost",
    "days",
)  # fmt: skip


class RoutingModel(RoutingData):
    """A model of vehicles that visit clients: the routes with the least total cost are sought.

    Nodes (depots and clients) have coordinates x and y in the plane, or lat and lon on the globe, or `set_matrix` sets their
    distances. Distances on the globe are in kilometres, along straight lines through it (0.1 % too short at 1,000 km). A load is
    a number, or a dict for several kinds of load: {"kg": 12, "crates": 1}.
    """

    def __init__(self, name: str = "model", *, time: Literal["min", "h", "s", ""] = "", speed: float = 1.0) -> None:
        """Create a model without nodes and vehicles. Raises UsageError.

        Args:
            name: The name of the instance.
            time: The unit of all times: "min", "h" or "s", which allow times of day such as "08:30"; "" for any other unit.
            speed: Units of distance per unit of time, above 0.
        """
        super().__init__(name, time=time, speed=speed)
        self._plan: Routes | None = None  # the last solution

    # ---------------------------------------------------------------- travel
    def set_matrix(self, distances: ArrayLike, durations: ArrayLike | None = None, *, profile: str = "") -> None:
        """Set the distances and durations between nodes. Raises UsageError.

        Args:
            distances: float [N, N], from row to column; the depots come first, then the clients, in the order of their addition.
            durations: float [N, N], in the model's unit of time; None: distance divided by speed.
            profile: The vehicles to which they apply: those of this profile; "": those without one.
        """
        name = check.text("profile", profile)
        self._model_fields.setdefault("travel", {})[name] = travel_of(distances, durations)

    def ask_osrm(self, url: str, profile: str = "driving", *, vehicles: str = "") -> None:
        """Set the distances (in km) and durations (in the model's unit of time) from an OSRM server.

        Raises InputError if the server cannot answer, and UsageError.

        Args:
            url: The address of the server, such as `http://localhost:5000`.
            profile: The server's profile.
            vehicles: The profile of the vehicles to which they apply, as in `set_matrix`.
        """
        from corl.modelling.osrm import travel_matrices

        self._ask(travel_matrices, url, check.text("profile", profile), vehicles)

    def ask_valhalla(self, url: str, costing: str = "auto", *, vehicles: str = "") -> None:
        """Set the distances (in km) and durations (in the model's unit of time) from a Valhalla server.

        Raises InputError if the server cannot answer, and UsageError.

        Args:
            url: The address of the server, such as `http://localhost:8002`.
            costing: The server's costing model, such as "auto", "truck" or "bicycle".
            vehicles: The profile of the vehicles to which they apply, as in `set_matrix`.
        """
        from corl.modelling.valhalla import travel_matrices

        self._ask(travel_matrices, url, check.text("costing", costing), vehicles)

    def _ask(self, travel_matrices: Callable[..., tuple[Any, Any]], url: str, kind: str, profile: str) -> None:
        """Set the matrices of a profile from a server; `kind`: the server's name of the way of travelling."""
        unit = UNITS[self.time]
        if not unit:
            raise UsageError('durations from a server need a unit of time: RoutingModel(time="min")')
        places = places_of(self._objects["depots"] + self._objects["clients"])
        metres, seconds = travel_matrices(check.text("url", url), places, kind)
        self.set_matrix(metres / 1000.0, seconds / unit, profile=check.text("vehicles", profile))

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

        types = shift_types(self._vehicles.listed(), self._objects["vehicles"])
        shown_names = Names("vehicle", (each.kind if each.day is None else each.text for each in types))
        kinds = {"depots": self._depots, "clients": self._clients, "vehicles": shown_names}
        for each in (self._depots, self._vehicles):
            if not len(each):
                raise UsageError(f"the model has no {each.kind}; add_{each.kind} adds one")
        return compiled(lambda: Vrp().adapt(self._object()), kinds)

    def solve(self, **options: Any) -> Routes:
        """Solve the instance with the options of `corl.solve`: `time_limit`, `solver` and others."""
        instance = self.instance()
        result = solved(instance, "vrp", options)
        types, taken, routes = (
            shift_types(self._vehicles.listed(), self._objects["vehicles"]), dict[int | None, set[tuple[Hashable, int]]](), []
        )  # fmt: skip
        for route in result.solution or []:
            kind, number, day, _ = types[route.vehicle]
            of_day = taken.setdefault(day, set())
            vehicle = next_number(kind, of_day) if number is None else (kind, number)
            of_day.add(vehicle)
            routes.append(replace(self._route(instance, route, vehicle), day=day))
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
        if any("shifts" in each for each in self._objects["vehicles"]):
            raise UsageError("replan: the model has vehicles with several shifts; accepted: vehicles with one shift at most")
        if plan is None:
            plan = self._plan
        if not isinstance(plan, Routes) and (plan is not None or done is None):
            raise check.refusal("plan", plan, "the return value of solve or replan")
        instance, kinds = self.instance(), (self._depots, self._clients, self._vehicles)
        situation = Situation(instance, kinds, plan, moment_in(self.time, "now", now), partial(moment_in, self.time))
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
                stop.departure, load, stop.distance, stop.early, stop.late,
            ))  # fmt: skip
        types = instance.vehicles
        ends = names[int(types.start[route.vehicle])], names[int(types.end[route.vehicle])]
        position = next((each for each in positions if each.vehicle == vehicle), None)
        return VehicleRoute(
            vehicle[0], *ends, tuple(visits), timing.leave / unit, timing.back / unit, timing.distance / instance.scale,
            timing.load, vehicle[1], 0 if position is None else len(position.done), 0 if position is None else position.fixed,
        )  # fmt: skip
