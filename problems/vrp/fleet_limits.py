"""Upper bounds on the number of clients that the fleet can serve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.problems.vrp.single_client import NO_RULES, VehicleTravel, latest_return, operating_hours
from corl.tolerance import LIMIT, keeps

__all__ = ["Requests", "fleet_too_small"]

_MOST_POINTS, _MOST_MATRIX = 300, 3000  # nodes up to which the least leg to each client is counted, besides its service
_NAMED = 10  # greatest number of clients named in a message
_MOST_SETS = 64  # greatest number of sets of vehicle types that are examined

_Floats = NDArray[np.float64]


class _Resource(NamedTuple):
    """A resource of which a vehicle has a limited amount: time, distance, or load."""

    name: str
    weight: _Floats
    """float64 [n]: a lower bound on what each client takes of it."""
    budget: float
    size: float
    """The value of which the tolerance is a share: the judge lets a route exceed its limits by that."""

    @property
    def most(self) -> float:
        """The greatest amount that the judge accepts, with as much again for rounding here."""
        return self.budget + 2.0 * LIMIT * self.size


class Requests(NamedTuple):
    """Lists of nodes, one node of each of which must be served: the lists one after the other, and where each begins."""

    nodes: NDArray[np.int64]
    begin: NDArray[np.int64]

    def least(self, values: _Floats) -> _Floats:
        """Return float64 [lists]: the least of `values`, float64 [n], in each list."""
        return np.asarray(np.minimum.reduceat(values[self.nodes], self.begin)) if len(self.begin) else np.zeros(0)

    def servable(self, possible: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return bool [kinds, lists]: which vehicle types can serve a node of the list; possible: bool [kinds, n]."""
        if not len(self.begin):
            return np.zeros((len(possible), 0), bool)
        return np.asarray(np.logical_or.reduceat(possible[:, self.nodes], self.begin, axis=1))

    def only(self, chosen: NDArray[np.bool_]) -> Requests:
        """Return the lists that `chosen`, bool [lists], selects."""
        sizes = np.diff(np.append(self.begin, len(self.nodes)))
        kept = sizes[chosen]
        return Requests(self.nodes[np.repeat(chosen, sizes)], np.cumsum(kept) - kept)


def fleet_too_small(instance: VrpInstance, kinds: list[VehicleTravel], possible: NDArray[np.bool_], requests: Requests) -> str:
    """Return why the clients that only some vehicles can serve exceed their time, distance or load; "" if that is not proven.

    possible: bool [len(kinds), n], which vehicle type may be able to serve which node.
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
    for kept in np.unique(np.column_stack([np.ones(len(kinds), bool), servable]), axis=1).T[:_MOST_SETS]:
        chosen = np.flatnonzero(kept)
        if (counts[chosen] < 0).any():
            continue
        resources |= {k: _resources(instance, kinds[k]) for k in chosen.tolist() if k not in resources}
        inside = requests.only(~servable[~kept].any(axis=0))
        if reason := _exceeds(instance, inside, {k: int(counts[k]) for k in chosen.tolist()}, resources, possible):
            return reason
    return ""


def _pickups_exceed_fleet(instance: VrpInstance, rules: SideConstraints, requests: Requests) -> str:
    """Return why the pickups exceed the capacity of all trips that deliver something first; "" if they do not."""
    trips = int((rules.of("demands", instance.demand[:, None]) > 0).any(axis=1).sum())
    q = rules.dimensions
    capacity = rules.of("capacities", np.repeat(instance.vehicles.capacity[:, None], q, axis=1))[instance.vehicles.count != 0]
    pickups = rules.of("pickups", np.zeros((instance.n, q)))
    for d in range(q):
        load, most = float(requests.least(pickups[:, d]).sum()), trips * float(capacity[:, d].max(initial=0.0))
        if not keeps(load, most if trips else 0.0):
            what = f"{load:.10g} is to be collected"
            return f"{what}; {trips} clients have deliveries before, and that many trips hold {most:.10g}"
    return ""


def _exceeds(
    instance: VrpInstance, requests: Requests, counts: dict[int, int], resources: dict[int, list[_Resource]],
    possible: NDArray[np.bool_],
) -> str:  # fmt: skip
    """Return why requests exceed the resources of these vehicles; "" if that is not proven.

    Args:
        instance: The instance.
        requests: Those that only these vehicles can serve.
        counts: Index of the vehicle type -> number of vehicles.
        resources: Index of the vehicle type -> its resources.
        possible: bool [kinds, n], which type may serve which node.
    """
    if not len(requests.begin):
        return ""
    names = [instance.labels[node] for node in requests.nodes[requests.begin]]
    who = f"{len(names)} clients must be served ({', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''})"
    total, most = sum(counts.values()), dict.fromkeys(counts, len(names))
    for m in range(len(next(iter(resources.values())))):
        weights = {k: requests.least(np.where(possible[k], resources[k][m].weight, np.inf)) for k in counts}
        supply = sum(count * max(0.0, resources[k][m].most) for k, count in counts.items())
        needed = float(np.min(list(weights.values()), axis=0).sum())
        if not keeps(needed, supply):
            what, needed = resources[next(iter(counts))][m].name, needed / instance.scale
            have = sum(count * max(0.0, resources[k][m].budget) for k, count in counts.items()) / instance.scale
            return f"{who}: their {what} is at least {needed:.10g}; the {total} vehicles that can serve them have {have:.10g}"
        for k in counts:
            taken = np.cumsum(np.sort(weights[k]))
            most[k] = min(most[k], int((keeps(taken, resources[k][m].most) & (taken < np.inf)).sum()))
    can = sum(count * most[k] for k, count in counts.items())
    if can >= len(names):
        return ""
    return f"{who}; the {total} vehicles that can serve them have time, distance and capacity for {can} at most"


def _resources(instance: VrpInstance, travel: VehicleTravel) -> list[_Resource]:
    """Return the resources of a vehicle type: time, distance, and the load in each dimension."""
    rules, vehicles, kind = instance.rules or NO_RULES, instance.vehicles, travel.kind
    trips = 1 + (int(rules.reloads[kind]) if rules.reloads is not None else 0)
    first, _, _, home_by = operating_hours(travel)
    service = np.zeros(instance.n) if instance.service is None else instance.service
    timed, far = _least(instance, travel, True), _least(instance, travel, False)
    limits = (home_by - first, home_by), (float(vehicles.max_duration[kind]), latest_return(travel))
    time, size = min(limits, key=lambda each: each[0] + LIMIT * each[1])
    longest = float(vehicles.max_distance[kind])
    found = [
        _Resource("time", service + timed[0], time - timed[1], size),
        _Resource("distance", far[0], longest - far[1], longest),
    ]
    q = rules.dimensions
    capacity = rules.of("capacities", np.repeat(vehicles.capacity[:, None], q, axis=1))[kind]
    loads = [("demand", rules.of("demands", instance.demand[:, None]))]
    loads += [] if rules.pickups is None else [("pickup", rules.pickups)]
    scale = instance.scale  # times and distances are multiplied by it, loads are not
    return found + [
        _Resource(name, scale * load[:, d], scale * trips * float(capacity[d]), 0.0) for name, load in loads for d in range(q)
    ]


def _least(instance: VrpInstance, travel: VehicleTravel, time: bool) -> tuple[_Floats, float]:
    """Return float64 [n], the least time or distance of a leg that ends at each node; and that of the other legs of a route."""
    places = np.append(np.flatnonzero(travel.stops), travel.start)
    least = np.zeros(instance.n)
    if instance.n <= (_MOST_POINTS if instance.matrix is None else _MOST_MATRIX):
        least[:] = np.inf
        for place in np.unique(places).tolist():
            row = travel.row(time, place, False).copy()
            row[place] = np.inf
            least = np.minimum(least, row)
    stops = travel.stops
    home = 0.0 if travel.stays_out or not stops.any() else float(travel.row(time, travel.end, True)[stops].min())
    least = np.where(least < np.inf, least, 0.0)
    if stops.any():  # the first leg is not between stops
        home += max(0.0, float(travel.row(time, travel.start, False)[stops].min()) - float(least[stops].max()))
    return least, home
