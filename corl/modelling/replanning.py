"""Replanning of a RoutingModel: where its vehicles are, by name, and the routes to start from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from corl import arguments as check
from corl.errors import Infeasible, UsageError, shown
from corl.modelling.common import Names
from corl.modelling.routes import Routes, VehicleRoute

if TYPE_CHECKING:
    from corl.problems.vrp.evaluation import Route
    from corl.problems.vrp.instance import VrpInstance
    from corl.problems.vrp.replanning import Departed

__all__ = ["Position", "Situation", "next_number", "without_client"]

Vehicle = tuple[Hashable, int]
"""The name of a kind of vehicle, and the vehicle's number among those of its kind, from 1."""
_DONE = "a dict from vehicles to dicts from clients to the times at which service began"
_UNDER_WAY = "a dict from vehicles to clients, or to pairs (client, arrival)"


@dataclass
class Position:
    """What a vehicle that has left its depot has done, and where it is heading. Times are in the model's unit."""

    vehicle: Vehicle
    done: list[tuple[Hashable, float]] = field(default_factory=list)
    """(client, time at which service began) of each visit that is done, in order."""
    heading: Hashable = None
    """The client to which it is on its way, the depot if it is on its way back; None: it waits at its last client."""
    arrival: float | None = None
    """The expected arrival there; None: by the travel time."""
    left: float | None = None
    """When it left its depot; None: unknown."""
    back: bool = False
    """Whether `heading` is a depot."""

    @property
    def fixed(self) -> int:
        """The number of clients that its route must visit first."""
        return len(self.done) + (self.heading is not None and not self.back)


class Situation:
    """The positions of the vehicles of a model at a time, as they are given or as they were planned."""

    def __init__(
        self,
        instance: VrpInstance,
        nodes: tuple[Names, Names, Names],
        plan: Routes | None,
        now: float,
        moment: Callable[[str, Any], float],
    ) -> None:
        """Take the plan that is being carried out.

        Args:
            instance: The instance of the model.
            nodes: The names of its depots, clients and vehicles.
            plan: The plan, or None.
            now: The present time, in the model's unit.
            moment: Returns a time that a user gave, in the model's unit; its first argument names the time in messages.
        """
        self.instance, self.now, self._moment = instance, now, moment
        self.depots, self.clients, self.vehicles = nodes
        self.unit = instance.speed * instance.scale
        self.routes: dict[Vehicle, VehicleRoute] = {(each.vehicle, each.number): each for each in plan.routes} if plan else {}
        self.routes = {vehicle: route for vehicle, route in self.routes.items() if vehicle[0] in self.vehicles.known}

    # ---------------------------------------------------------------- positions
    def positions(self, done: Any, under_way: Any) -> list[Position]:
        """Return the positions of the vehicles that have left. Raises UsageError.

        Args:
            done: Vehicle -> {client: time}; None: as planned.
            under_way: Vehicle -> client or (client, arrival); None: to the next client of the plan.
        """
        found = self._planned() if done is None else self._given(done)
        if under_way is None:
            for vehicle, route in self.routes.items():
                self._follow(found, vehicle, route)
        else:
            self._head(found, under_way)
        order = self.vehicles.known
        left = [each for each in found.values() if each.fixed]
        return sorted(left, key=lambda each: (order[each.vehicle[0]], each.vehicle[1]))

    def _planned(self) -> dict[Vehicle, Position]:
        """Return the visits that were to begin before now, in the plan."""
        found: dict[Vehicle, Position] = {}
        for vehicle, route in self.routes.items():
            past = [stop for stop in route.stops if stop.begin < self.now]
            if any(self._is_depot(stop.name) for stop in past):
                raise self._reloaded(vehicle)
            done = [(stop.name, stop.begin) for stop in past if stop.name in self.clients.known]
            if done:
                found[vehicle] = Position(vehicle, done, left=route.leaves)
        return found

    def _given(self, done: Any) -> dict[Vehicle, Position]:
        """Return the visits that are given. Raises UsageError."""
        if not isinstance(done, Mapping):
            raise check.refusal("done", done, _DONE)
        found: dict[Vehicle, Position] = {}
        for key, visits in done.items():
            vehicle = self._vehicle("done", key, found)
            of, route = f"done: {_label(vehicle)}", self.routes.get(vehicle)
            if not isinstance(visits, Mapping):
                raise check.refusal(of, visits, "a dict from clients to times")
            times = [(client, self._moment(f"{of}: {shown(client)}", time)) for client, time in visits.items()]
            for client, time in times:
                self.clients.number(of, client)
                if time > self.now:
                    raise UsageError(f"{of}: {shown(client)}: {time:g} is after now, {self.now:g}; accepted: times up to now")
            found[vehicle] = Position(
                vehicle, sorted(times, key=lambda each: each[1]), left=None if route is None else route.leaves
            )
        return found

    def _follow(self, found: dict[Vehicle, Position], vehicle: Vehicle, route: VehicleRoute) -> None:
        """Add the client to which a vehicle is heading by its route in the plan, in place."""
        position = found.get(vehicle)
        if position is None or not position.done:
            following, departure, planned = list(route.stops), route.leaves, True
        else:
            client, begin = position.done[-1]
            at = next((k for k, stop in enumerate(route.stops) if stop.name == client), len(route.stops))
            service = self.instance.service
            departure = begin + (0.0 if service is None else float(service[self._node(client)]) / self.unit)
            following = list(route.stops[at + 1 :])
            planned = at < len(route.stops) and abs(route.stops[at].begin - begin) <= 1e-6 * max(1.0, begin)
        if departure >= self.now:
            return
        visited = {client for each in found.values() for client, _ in each.done}
        following = [stop for stop in following if stop.name not in visited and self._is_known(stop.name)]
        if following and self._is_depot(following[0].name):
            raise self._reloaded(vehicle)
        if following:
            position = found.setdefault(vehicle, Position(vehicle, left=route.leaves))
            position.heading = following[0].name
            position.arrival = following[0].arrival if planned else None
        elif position is not None and not self._stays_out(vehicle):
            position.heading, position.back = route.end, True

    def _head(self, found: dict[Vehicle, Position], under_way: Any) -> None:
        """Add the clients to which vehicles are heading, as they are given, in place. Raises UsageError."""
        if not isinstance(under_way, Mapping):
            raise check.refusal("under_way", under_way, _UNDER_WAY)
        seen: dict[Vehicle, Position] = {}
        for key, given in under_way.items():
            vehicle = self._vehicle("under_way", key, seen)
            of, route = f"under_way: {_label(vehicle)}", self.routes.get(vehicle)
            name, arrival = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
            if name not in self.depots.known:
                self.clients.number(of, name)
            left = route.leaves if route is not None and route.leaves < self.now else None
            seen[vehicle] = found.setdefault(vehicle, Position(vehicle, left=left))
            seen[vehicle].heading, seen[vehicle].back = name, self._is_depot(name)
            seen[vehicle].arrival = None if arrival is None else self._moment(f"{of}: arrival", arrival)

    def _vehicle(self, of: str, key: Any, seen: Mapping[Vehicle, Any]) -> Vehicle:
        """Return the vehicle of a key: a kind of which there is one, or (kind, number). Raises UsageError."""
        pair = isinstance(key, tuple) and len(key) == 2
        kind, number = key if pair else (key, 1)
        count = int(self.instance.vehicles.count[self.vehicles.number(of, kind)])
        if not pair and count != 1:
            there_are = "there is no limit" if count < 0 else f"there are {count}"
            raise UsageError(f"{of}: of vehicle {shown(kind)} {there_are}; accepted: ({shown(kind)}, 1) and so on")
        vehicle = (kind, check.integer(f"{of}: {shown(kind)}", number, 1, count if count >= 0 else 10**9))
        if vehicle in seen:
            raise UsageError(f"{of}: vehicle {_label(vehicle)} is listed twice; accepted: once")
        return vehicle

    def _reloaded(self, vehicle: Vehicle) -> UsageError:
        return UsageError(f"vehicle {_label(vehicle)} has reloaded, or is on its way to; accepted: vehicles on their first trip")

    # ---------------------------------------------------------------- nodes
    def _is_depot(self, name: Hashable) -> bool:
        return name in self.depots.known

    def _is_known(self, name: Hashable) -> bool:
        return name in self.clients.known or self._is_depot(name)

    def _node(self, name: Hashable) -> int:
        """Return the node of a depot or client."""
        return self.depots.known[name] if self._is_depot(name) else len(self.depots) + self.clients.known[name]

    def _stays_out(self, vehicle: Vehicle) -> bool:
        rules = self.instance.rules
        return rules is not None and rules.stays_out is not None and bool(rules.stays_out[self.vehicles.known[vehicle[0]]])

    # ---------------------------------------------------------------- the instance's own terms
    def _departed(self, positions: list[Position]) -> list[Departed]:
        """Return the positions in terms of the instance."""
        from corl.problems.vrp.replanning import Departed

        found, unit, mark = [], self.unit, "#"
        while any(mark in name for name in self.vehicles.texts()):  # so that all names differ
            mark += "#"
        for each in positions:
            loaded = [] if each.back else self._first_trip(each.vehicle)
            found.append(
                Departed(
                    kind=self.vehicles.known[each.vehicle[0]],
                    visits=tuple(self._node(client) for client, _ in each.done),
                    begins=tuple(time * unit for _, time in each.done),
                    heading=-1 if each.heading is None else self._node(each.heading),
                    arrival=None if each.arrival is None else each.arrival * unit,
                    left=None if each.left is None else each.left * unit,
                    loaded=frozenset(self._node(name) for name in loaded if name in self.clients.known),
                    name=f"{each.vehicle[0]} {mark}{each.vehicle[1]}",
                )
            )
        return found

    def _first_trip(self, vehicle: Vehicle) -> list[Hashable]:
        """Return the clients of a vehicle's route in the plan before its first reload."""
        route = self.routes.get(vehicle)
        names = [] if route is None else route.names
        return names[: next((k for k, name in enumerate(names) if self._is_depot(name)), len(names))]

    def remaining(self, positions: list[Position], own_loads: bool) -> tuple[VrpInstance, list[Route] | None]:
        """Return the instance of what can still be decided, and the routes of the plan in it; None if none can be kept.

        Args:
            positions: The vehicles that have left.
            own_loads: See `corl.problems.vrp.replanning.remaining`.
        """
        from corl.problems.vrp.evaluation import Route
        from corl.problems.vrp.partial import partial_routes
        from corl.problems.vrp.replanning import remaining

        instance = remaining(self.instance, self._departed(positions), self.now * self.unit, own_loads=own_loads)
        first_type, own_type = len(self.vehicles), {each.vehicle: k for k, each in enumerate(positions)}
        routes = []
        for vehicle, route in self.routes.items():
            kind = first_type + own_type[vehicle] if vehicle in own_type else self.vehicles.known[vehicle[0]]
            nodes = [self._node(name) for name in route.names if self._is_known(name)]
            routes.append(Route(kind, np.array(nodes, np.int32)))
        try:
            return instance, partial_routes(instance, routes, as_json=False)[0]
        except Infeasible:
            return instance, None

    def by_vehicle(self, positions: list[Position], solution: Sequence[Route]) -> list[tuple[Vehicle, Route]]:
        """Return the vehicle of each route of a solution, and the route, sorted by vehicle.

        A vehicle that has not left gets the number of the route of the plan with which it has most clients in common.
        """
        first_type, names, order = len(self.vehicles), self.vehicles.listed(), self.vehicles.known
        taken = {each.vehicle for each in positions}
        found = {k: positions[each.vehicle - first_type].vehicle for k, each in enumerate(solution) if each.vehicle >= first_type}
        planned = {
            vehicle: {self._node(name) for name in route.names if self._is_known(name)} for vehicle, route in self.routes.items()
        }
        common = [
            (-len(shared), k, vehicle[1], vehicle)
            for k, each in enumerate(solution)
            for vehicle, nodes in planned.items()
            if k not in found and vehicle[0] == names[each.vehicle] and (shared := nodes & set(each.visits.tolist()))
        ]
        for _, k, _, vehicle in sorted(common, key=lambda each: each[:3]):
            if k not in found and vehicle not in taken:
                found[k] = vehicle
                taken.add(vehicle)
        for k, each in enumerate(solution):
            if k not in found:
                found[k] = next_number(names[each.vehicle], taken)
                taken.add(found[k])
        pairs = [(found[k], each) for k, each in enumerate(solution)]
        return sorted(pairs, key=lambda pair: (order[pair[0][0]], pair[0][1]))


def without_client(model_fields: Mapping[str, Any], at: int, depots: int) -> dict[str, Any]:
    """Return the fields of a model's instance as a whole without a client.

    Args:
        model_fields: The matrices of each profile of travel and of each period, shipments, groups and clusters; clients are
            numbered from 0.
        at: The number of the client.
        depots: The number of depots, which come first in matrices.
    """
    found = dict(model_fields)

    def cut(matrix: list[list[float]]) -> list[list[float]]:
        return [row[: depots + at] + row[depots + at + 1 :] for k, row in enumerate(matrix) if k != depots + at]

    if "travel" in found:
        found["travel"] = {
            name: {key: cut(matrix) for key, matrix in matrices.items()} for name, matrices in found["travel"].items()
        }
    if "periods" in found:
        found["periods"] = [
            period | ({"durations": cut(period["durations"])} if "durations" in period else {}) for period in found["periods"]
        ]
    if "shipments" in found:
        kept = [each for each in found["shipments"] if at not in (each["from"], each["to"])]
        found["shipments"] = [each | {key: each[key] - (each[key] > at) for key in ("from", "to")} for each in kept]
    for name in {"groups", "clusters"} & found.keys():
        rows = [each | {"clients": [k - (k > at) for k in each["clients"] if k != at]} for each in found[name]]
        found[name] = [each for each in rows if each["clients"]]
    return {key: value for key, value in found.items() if value or key not in ("shipments", "groups", "clusters")}


def next_number(kind: Hashable, taken: Collection[Vehicle]) -> Vehicle:
    """Return the vehicle of a kind with the first number that is not taken."""
    return next((kind, number) for number in range(1, len(taken) + 2) if (kind, number) not in taken)


def _label(vehicle: Vehicle) -> str:
    return f"({shown(vehicle[0])}, {vehicle[1]})"
