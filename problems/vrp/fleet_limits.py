"""Proofs that the fleet cannot serve all clients: they need more time, distance or load in total than the vehicles have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.problems.vrp.single_client import latest_return, operating_hours
from corl.problems.vrp.vehicle_travel import NO_RULES, VehicleTravel
from corl.tolerance import LIMIT, keeps

__all__ = ["Requests", "fleet_too_small"]

# The greatest numbers of nodes, of instances with points and with a matrix, for which the shortest leg to each node is computed.
_MAX_POINTS, _MAX_MATRIX = 300, 3000
_MAX_NAMED = 10  # clients named in a message
_MAX_SETS = 64  # sets of vehicle types that are examined

_Floats = NDArray[np.float64]


class _Resource(NamedTuple):
    """A resource of which a vehicle has a limited amount: time, distance or load."""

    name: str
    weight: _Floats
    """float64 [n]: a lower bound of the amount that serving each client takes."""
    budget: float
    """The amount that a vehicle has for its clients."""
    size: float
    """The value to which the judge's tolerance is relative: a route may exceed its limit by a share LIMIT of `size`."""

    @property
    def greatest(self) -> float:
        """The greatest amount that the judge accepts, plus the judge's tolerance once more, for rounding in this module."""
        return self.budget + 2.0 * LIMIT * self.size


class Requests(NamedTuple):
    """Lists of nodes; one node of each list must be served."""

    nodes: NDArray[np.int64]
    """int64 [sum of lengths]: the nodes of all lists, one list after the other."""
    begin: NDArray[np.int64]
    """int64 [lists]: the index in `nodes` at which each list begins."""

    def least(self, values: _Floats) -> _Floats:
        """Return float64 [lists]: the least of the `values`, float64 [n], of the nodes of each list."""
        return np.asarray(np.minimum.reduceat(values[self.nodes], self.begin)) if len(self.begin) else np.zeros(0)

    def servable(self, possible: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return bool [kinds, lists]: which vehicle type can serve at least one node of which list. possible: bool [kinds, n]."""
        if not len(self.begin):
            return np.zeros((len(possible), 0), bool)
        return np.asarray(np.logical_or.reduceat(possible[:, self.nodes], self.begin, axis=1))

    def only(self, chosen: NDArray[np.bool_]) -> Requests:
        """Return the lists selected by `chosen`, bool [lists]."""
        sizes = np.diff(np.append(self.begin, len(self.nodes)))
        kept_sizes = sizes[chosen]
        return Requests(self.nodes[np.repeat(chosen, sizes)], np.cumsum(kept_sizes) - kept_sizes)


def fleet_too_small(instance: VrpInstance, kinds: list[VehicleTravel], possible: NDArray[np.bool_], requests: Requests) -> str:
    """Return why clients need more time, distance or load than the vehicles that can serve them have; "" if that is not proven.

    For each set of vehicle types, the clients that only these types can serve are compared with the vehicles of the set.

    Args:
        instance: The instance.
        kinds: The vehicle types that have vehicles.
        possible: bool [len(kinds), n], which vehicle type may be able to serve which node.
        requests: The required clients and groups.
    """
    rules, counts = instance.rules or NO_RULES, instance.vehicles.count[[travel.kind for travel in kinds]]
    if not len(requests.begin):
        return ""
    if rules.backhauls_last and (reason := _pickups_exceed_fleet(instance, rules, requests)):
        return reason
    if (counts < 0).all():
        return ""
    servable = requests.servable(possible)
    resources: dict[int, list[_Resource]] = {}
    for in_set in np.unique(np.column_stack([np.ones(len(kinds), bool), servable]), axis=1).T[:_MAX_SETS]:
        chosen = np.flatnonzero(in_set)
        if (counts[chosen] < 0).any():
            continue
        resources |= {k: _resources(instance, kinds[k]) for k in chosen.tolist() if k not in resources}
        only_this_set = requests.only(~servable[~in_set].any(axis=0))
        if reason := _exceeds(instance, only_this_set, {k: int(counts[k]) for k in chosen.tolist()}, resources, possible):
            return reason
    return ""


def _pickups_exceed_fleet(instance: VrpInstance, rules: SideConstraints, requests: Requests) -> str:
    """Return why the pickups exceed the capacity of all trips that may collect; "" if that is not proven.

    With backhauls last, a trip collects only after a delivery, so there are at most as many trips as clients with deliveries.
    """
    trips = int((rules.of("demands", instance.demand[:, None]) > 0).any(axis=1).sum())
    q = rules.dimensions
    capacity = rules.of("capacities", np.repeat(instance.vehicles.capacity[:, None], q, axis=1))[instance.vehicles.count != 0]
    pickups = rules.of("pickups", np.zeros((instance.n, q)))
    for d in range(q):
        load, capacity_of_trips = float(requests.least(pickups[:, d]).sum()), trips * float(capacity[:, d].max(initial=0.0))
        if not keeps(load, capacity_of_trips if trips else 0.0):
            collected = f"{load:.10g} is to be collected; a trip collects only after a delivery"
            return f"{collected}, so there are at most {trips} trips, which hold at most {capacity_of_trips:.10g}"
    return ""


def _exceeds(
    instance: VrpInstance, requests: Requests, counts: dict[int, int], resources: dict[int, list[_Resource]],
    possible: NDArray[np.bool_],
) -> str:  # fmt: skip
    """Return why `requests` exceed the resources of some vehicles; "" if that is not proven.

    Args:
        instance: The instance.
        requests: The requests that only these vehicles can serve.
        counts: Index of a vehicle type in `possible` -> its number of vehicles.
        resources: Index of a vehicle type -> its resources.
        possible: bool [kinds, n], which vehicle type may be able to serve which node.
    """
    if not len(requests.begin):
        return ""
    names = [instance.labels[node] for node in requests.nodes[requests.begin]]
    who = f"{len(names)} clients must be served ({', '.join(names[:_MAX_NAMED])}{', ...' if len(names) > _MAX_NAMED else ''})"
    total, max_clients = sum(counts.values()), dict.fromkeys(counts, len(names))
    for resource in range(len(next(iter(resources.values())))):
        weights = {k: requests.least(np.where(possible[k], resources[k][resource].weight, np.inf)) for k in counts}
        supply = sum(count * max(0.0, resources[k][resource].greatest) for k, count in counts.items())
        needed = float(np.min(list(weights.values()), axis=0).sum())
        if not keeps(needed, supply):
            what, needed = resources[next(iter(counts))][resource].name, needed / instance.scale
            available = sum(count * max(0.0, resources[k][resource].budget) for k, count in counts.items()) / instance.scale
            return (
                f"{who}: their {what} is at least {needed:.10g}; the {total} vehicles that can serve them have {available:.10g}"
            )
        for k in counts:
            used = np.cumsum(np.sort(weights[k]))
            max_clients[k] = min(max_clients[k], int((keeps(used, resources[k][resource].greatest) & (used < np.inf)).sum()))
    servable = sum(count * max_clients[k] for k, count in counts.items())
    if servable >= len(names):
        return ""
    return f"{who}; the {total} vehicles that can serve them have time, distance and capacity for {servable} at most"


def _resources(instance: VrpInstance, travel: VehicleTravel) -> list[_Resource]:
    """Return the resources of a vehicle type: time, distance, and load in each dimension."""
    rules, vehicles, kind = instance.rules or NO_RULES, instance.vehicles, travel.kind
    trips = 1 + (int(rules.reloads[kind]) if rules.reloads is not None else 0)
    first_departure, _, _, return_by = operating_hours(travel)
    service = np.zeros(instance.n) if instance.service is None else instance.service
    time_legs, distance_legs = _least_legs(instance, travel, True), _least_legs(instance, travel, False)
    limits = (return_by - first_departure, return_by), (float(vehicles.max_duration[kind]), latest_return(travel))
    time, size = min(limits, key=lambda each: each[0] + LIMIT * each[1])
    max_distance = float(vehicles.max_distance[kind])
    resources = [
        _Resource("time", service + time_legs[0], time - time_legs[1], size),
        _Resource("distance", distance_legs[0], max_distance - distance_legs[1], max_distance),
    ]
    q = rules.dimensions
    capacity = rules.of("capacities", np.repeat(vehicles.capacity[:, None], q, axis=1))[kind]
    loads = [("demand", rules.of("demands", instance.demand[:, None]))]
    loads += [] if rules.pickups is None else [("pickup", rules.pickups)]
    scale = instance.scale  # loads are multiplied by it here, as all amounts are divided by it in messages
    return resources + [
        _Resource(name, scale * load[:, d], scale * trips * float(capacity[d]), 0.0) for name, load in loads for d in range(q)
    ]


def _least_legs(instance: VrpInstance, travel: VehicleTravel, time: bool) -> tuple[_Floats, float]:
    """Return lower bounds of time or distance: of the leg to each node, float64 [n], and of what a route takes beyond these.

    Beyond the bounds of its nodes, a route takes the leg home and the amount by which its first leg exceeds the bound of its
    first node.
    """
    origins = np.append(np.flatnonzero(travel.stops), travel.start)
    least = np.zeros(instance.n)
    if instance.n <= (_MAX_POINTS if instance.matrix is None else _MAX_MATRIX):
        least[:] = np.inf
        for origin in np.unique(origins).tolist():
            row = travel.row(time, origin, False).copy()
            row[origin] = np.inf
            least = np.minimum(least, row)
    stops = travel.stops
    other_legs = 0.0 if travel.stays_out or not stops.any() else float(travel.row(time, travel.end, True)[stops].min())
    least = np.where(least < np.inf, least, 0.0)
    if stops.any():  # every leg from the first depot may be longer than the bounds of all stops
        other_legs += max(0.0, float(travel.row(time, travel.start, False)[stops].min()) - float(least[stops].max()))
    return least, other_legs
