"""The data of a RoutingModel: named depots, clients, vehicles and rules, and the object of an instance file made from them."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from corl import arguments as check
from corl.errors import UsageError, shown
from corl.modelling.common import Names, loads
from corl.modelling.replanning import without_client
from corl.modelling.routing_fields import BREAKS, UNITS, break_in, moment_in, place, times_in
from corl.modelling.routing_times import periods_in, soft_window_in, speed_factors_in
from corl.modelling.shifts import days_in, shift_fields, with_shifts
from corl.modelling.travel import travel_fields, without_matrix

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Load", "RoutingData", "Window"]

Load = float | Mapping[Hashable, float]
Window = Sequence[float | str | None]


class RoutingData:
    """The part of RoutingModel that describes the problem. Names are numbered in the order in which they are added."""

    def __init__(self, name: str = "model", *, time: Literal["min", "h", "s", ""] = "", speed: float = 1.0) -> None:
        """See RoutingModel."""
        self.name, self.time = check.text("name", name), check.choice("time", time, UNITS)
        self.speed = check.number("speed", speed)
        if not self.speed > 0:
            raise check.refusal("speed", speed, "a number above 0")
        self._depots, self._clients, self._vehicles = Names("depot"), Names("client"), Names("vehicle")
        self._dimensions = Names("kind of load")
        self._objects: dict[str, list[dict[str, Any]]] = {"depots": [], "clients": [], "vehicles": []}
        self._loads: dict[tuple[str, int, str], dict[Hashable, float]] = {}
        self._needs: list[frozenset[Hashable]] = []
        self._skills: list[frozenset[Hashable]] = []
        self._model_fields: dict[str, Any] = {}  # fields of the instance as a whole: travel, shipments, groups, clusters, balance

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
        node = place(of, x, y, lat, lon) | times_in(self.time, of, window=window)
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
        soft_window: Window | None = None,
        early_cost: float = 0,
        late_cost: float = 0,
        days: Collection[int] | None = None,
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
            soft_window: (begin, end) of the times at which service should begin; None as begin or end: no limit.
            early_cost: The cost of each unit of time by which service begins before `soft_window`.
            late_cost: The cost of each unit of time by which service begins after `soft_window`.
            days: The days, numbered from 0, on which vehicles with shifts may serve the client; None: all days, and vehicles
                without shifts, too. Its windows are those of each day.
        """
        new_name = self._new(self._clients, self._depots, name)
        of = f"client {shown(new_name)}"
        node = place(of, x, y, lat, lon) | times_in(self.time, of, window=window, windows=windows)
        node |= soft_window_in(self.time, of, soft_window, early_cost, late_cost)
        node["service"] = check.number(f"{of}: service", service)
        node |= {} if prize is None else {"prize": check.number(f"{of}: prize", prize)}
        node |= {} if required is None else {"required": check.flag(f"{of}: required", required)}
        node |= {} if release is None else {"release": moment_in(self.time, f"{of}: release", release)}
        node |= {} if days is None else {"days": days_in(of, days)}
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
        """Remove a client, from its groups, its cluster and the matrix, too. Raises UsageError.

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
        profile: str = "",
        speed_factors: Sequence[float] | None = None,
        shifts: Sequence[tuple[int, float | str | None, float | str | None]] | None = None,
        max_total_duration: float | None = None,
        max_total_driving: float | None = None,
        vehicle_cost: float | None = None,
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
            profile: The name of its matrices, such as "bike"; "": those that are set without a name.
            speed_factors: Its speed in each period of `set_periods`, as a multiple of the usual one; None: those of the periods.
            shifts: (day, begin, end) of each shift, instead of `shift`: days are numbered from 0, begin and end are times of that
                day. The vehicle may have a route in each of its shifts. Limits and costs of routes apply to each of them.
            max_total_duration: The largest sum of the durations of a vehicle's routes, over all its shifts.
            max_total_driving: The largest sum of the travel times of a vehicle's routes, over all its shifts.
            vehicle_cost: The cost of a vehicle that has a route, paid once for all its shifts.
        """
        new_name = self._vehicles.new(name)
        of = f"vehicle {shown(new_name)}"
        kind: dict[str, Any] = {"count": -1 if count is None else check.integer(f"{of}: count", count)}
        costs = {"fixed_cost": fixed_cost, "unit_cost": unit_cost, "duration_cost": duration_cost}
        kind |= {key: check.number(f"{of}: {key}", cost) for key, cost in costs.items() if cost is not None}
        limits = {"max_distance": max_distance, "max_duration": max_duration}
        found = {key: check.number(f"{of}: {key}", limit, infinite=True) for key, limit in limits.items() if limit is not None}
        kind |= {key: limit for key, limit in found.items() if limit < math.inf}
        kind |= times_in(self.time, of, shift=shift)
        kind |= shift_fields(self.time, of, count, shifts, max_total_duration, max_total_driving, vehicle_cost)
        if shift is not None and shifts is not None:
            raise UsageError(f"{of} has shift and shifts; accepted: one of them")
        kind |= {} if reloads is None else {"reloads": check.integer(f"{of}: reloads", reloads)}
        kind |= {} if stays_out is None else {"stays_out": check.flag(f"{of}: stays_out", stays_out)}
        depots = {"depot": depot, "end_depot": end_depot}
        kind |= {key: self._depots.number(f"{of}: {key}", each) for key, each in depots.items() if each is not None}
        if all_breaks := [break_in(self.time, of, each) for each in check.entries(f"{of}: breaks", breaks, BREAKS)]:
            kind["breaks"] = all_breaks
        kind |= speed_factors_in(of, speed_factors)
        kind["profile"] = check.text(f"{of}: profile", profile)
        skill_set = frozenset(check.names(f"{of}: skills", skills))
        capacities = None if capacity is None else loads(f"{of}: capacity", capacity, self._dimensions, new=True, infinite=True)
        at = self._vehicles.add(new_name)
        self._objects["vehicles"].append(kind)
        self._skills.append(skill_set)
        if capacities is not None:
            self._loads["vehicles", at, "capacity"] = {key: amount for key, amount in capacities.items() if amount < math.inf}

    def set_periods(
        self,
        begins: Sequence[float | str],
        *,
        speed_factors: Sequence[float] | None = None,
        durations: Sequence[ArrayLike] | None = None,
    ) -> None:
        """Set travel times that depend on the hour: by a speed, or by a matrix, for each period of the day. Raises UsageError.

        On a leg that crosses periods, each period covers its share of the way at its own speed, so that a vehicle that leaves
        later never arrives earlier.

        Args:
            begins: When each period begins, in order; the first at 0. The last period never ends.
            speed_factors: The speed in each period, as a multiple of the usual speed: 0.5 doubles travel times.
            durations: Instead, for each period float [N, N], travel times as in `set_matrix`.
        """
        self._model_fields["periods"] = periods_in(self.time, begins, speed_factors, durations)

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

    def add_cluster(self, clients: Sequence[Hashable], *, in_a_row: bool = True) -> None:
        """Add a cluster of clients: one route serves all of them, one after another. Raises UsageError.

        Args:
            clients: The names of the clients, each in one cluster at most.
            in_a_row: Whether the route serves them with no other visit in between; if not, in any order.
        """
        members = [self._clients.number("clients", client) for client in check.names("clients", clients)]
        if not members:
            raise check.refusal("clients", clients, "at least one client")
        self._model_fields.setdefault("clusters", []).append({"clients": members, "in_a_row": check.flag("in_a_row", in_a_row)})

    def balance_routes(
        self,
        measure: Literal["longest", "range"] = "longest",
        *,
        of: Literal["duration", "distance"] = "duration",
        weight: float = 1.0,
    ) -> None:
        """Add the cost of an unbalanced solution to the objective. Raises UsageError.

        If nothing else costs anything (`unit_cost=0` for all vehicles), the balance is the whole objective.

        Args:
            measure: What costs something: the longest route, or the range between the longest and the shortest route; vehicles
                without a route do not count.
            of: How a route is measured: its duration (travel, waiting and service) or its distance.
            weight: The cost of one unit of it.
        """
        self._model_fields["balance"] = {
            "measure": check.choice("measure", measure, ("longest", "range")),
            "of": check.choice("of", of, ("duration", "distance")),
            "weight": check.number("weight", weight),
        }

    def _new(self, names: Names, others: Names, name: Hashable) -> Hashable:
        """Return the name of a new node. Raises UsageError if a node has it already."""
        new_name = names.new(name)
        if new_name in others.known:
            raise UsageError(f"a depot and a client are both {shown(new_name)}; accepted: another name")
        return new_name

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
        if "travel" in fields:
            profiles = {name: vehicle.pop("profile") for name, vehicle in zip(self._vehicles.listed(), objects["vehicles"])}
            travel, places = travel_fields(fields.pop("travel"), profiles, self.speed)
            fields |= travel
            for vehicle, at in zip(objects["vehicles"], places if "profiles" in travel else ()):
                vehicle["profile"] = at
        for kind, vehicle in zip(self._vehicles.listed(), objects["vehicles"]):
            if vehicle.get("profile") == "":
                del vehicle["profile"]
            elif isinstance(vehicle.get("profile"), str):
                raise UsageError(f"vehicle {shown(kind)}: {without_matrix(vehicle['profile'])}")
        for key in ("groups", "clusters"):
            if key in fields:
                fields[key] = [each | {"clients": [first_client + i for i in each["clients"]]} for each in fields[key]]
        objects["vehicles"], rosters = with_shifts(self._vehicles.listed(), objects["vehicles"], objects["clients"], first_client)
        fields |= {"rosters": rosters} if rosters else {}
        if "shipments" in fields:
            fields["shipments"] = [
                each | {"from": first_client + each["from"], "to": first_client + each["to"]} for each in fields["shipments"]
            ]
        on_globe = "matrix" not in fields and "lat" in objects["depots"][0]
        units = {"time": self.time} | ({"distance": "km"} if on_globe else {})
        facts = {"problem": "vrp", "name": self.name, "units": units, "speed": self.speed}
        return facts | ({"coordinates": "latlon"} if "lat" in objects["depots"][0] else {}) | fields | objects

    def _ample_capacity(self) -> dict[Hashable, float]:
        """Return kind of load -> 1 more than the sum over all clients: a capacity that never is a limit."""
        amounts = [given for (key, _, _), given in self._loads.items() if key == "clients"]
        return {kind: 1.0 + sum(each.get(kind, 0) for each in amounts) for kind in self._dimensions.known}
