"""Quick proofs that an instance has no solution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.feasibility_structure import unservable_cluster
from corl.problems.vrp.fixed_beginnings import infeasible_beginning
from corl.problems.vrp.fleet_limits import Requests, fleet_too_small
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.single_client import LIMITS, servable_nodes
from corl.problems.vrp.vehicle_travel import NO_RULES, VehicleTravel
from corl.tolerance import keeps

__all__ = ["blocking_limits", "unservable"]

_MAX_ALL_PATHS = 200  # nodes up to which shortest paths are computed even for clients that a vehicle can serve directly

_Flags = NDArray[np.bool_]


def unservable(instance: VrpInstance) -> str:
    """Return why an instance has no solution, in one line; "" if that is not proven (the instance may still have no solution).

    The checks are: the demand of all required clients against the capacity of the fleet; the fixed beginnings of routes; whether
    some vehicle could serve each required client, by shortest paths over other nodes, as distances need not satisfy the triangle
    inequality; and how many clients the vehicles can serve at most. The reason names an irreducible set of limits: without any
    one of them, the client could be served.
    """
    in_fleet, rules = instance.vehicles.count != 0, instance.rules or NO_RULES
    requests = _requests(instance)
    if not len(requests.begin) and rules.begun is None:
        return ""
    if reason := _demand_exceeds_fleet(instance, in_fleet):
        return reason
    kinds = [VehicleTravel(instance, int(kind)) for kind in np.flatnonzero(in_fleet)]
    if reason := infeasible_beginning(instance, {travel.kind: travel for travel in kinds}):
        return reason
    possible = _servable(instance, kinds, requests)
    if reason := _unservable_client(instance, kinds, possible, requests):
        return reason
    if reason := unservable_cluster(instance, [travel.kind for travel in kinds], possible):
        return reason
    return _unservable_shipment(instance, possible) or fleet_too_small(instance, kinds, possible, requests)


def blocking_limits(instance: VrpInstance, clients: _Flags) -> dict[int, str]:
    """Return node -> why no vehicle can serve the client on any route, for the clients for which that is proven.

    clients: bool [n], the clients that are examined.
    """
    kinds = [VehicleTravel(instance, int(kind)) for kind in np.flatnonzero(instance.vehicles.count != 0)]
    asked = clients & (np.arange(instance.n) >= instance.depots)
    nodes = np.flatnonzero(asked)
    possible = _servable(instance, kinds, Requests(nodes, np.arange(len(nodes))))
    unservable_nodes = np.flatnonzero(asked & ~possible.any(axis=0)).tolist() if kinds else []
    return {node: f"no vehicle can serve it{_why(instance, kinds, [node])}" for node in unservable_nodes}


def _requests(instance: VrpInstance) -> Requests:
    """Return one list for each required client, and one for each required group."""
    rules, lists = instance.rules, [np.flatnonzero(instance.required)]
    sizes = [1] * len(lists[0])
    if rules is not None and rules.groups is not None and rules.group_required is not None:
        groups = [np.flatnonzero(rules.groups == group) for group in np.flatnonzero(rules.group_required)]
        lists, sizes = lists + groups, sizes + [len(group) for group in groups]
    return Requests(np.concatenate(lists), np.cumsum([0, *sizes])[:-1])


def _demand_exceeds_fleet(instance: VrpInstance, in_fleet: _Flags) -> str:
    """Return why the demand of the required clients exceeds the capacity of all trips of all vehicles; "" if it does not.

    in_fleet: bool [K], the types that have vehicles.
    """
    vehicles, rules = instance.vehicles, instance.rules or NO_RULES
    if (vehicles.count < 0).any() or not instance.required.any():
        return ""
    trips = vehicles.count * (1 + np.where(in_fleet, rules.of("reloads", np.zeros(vehicles.types, np.int64)), 0))
    capacity, demand = float(vehicles.capacity[in_fleet] @ trips[in_fleet]), float(instance.demand[instance.required].sum())
    if keeps(demand, capacity) and in_fleet.any():
        return ""
    return f"the required clients' demand {demand:.10g} exceeds the capacity of all vehicles, {capacity:.10g}"


def _servable(instance: VrpInstance, kinds: list[VehicleTravel], requests: Requests) -> _Flags:
    """Return bool [len(kinds), n]: which vehicle type may be able to serve which node of the requests.

    Clients with deliveries are examined, too, if pickups must follow a delivery.
    """
    rules, asked = instance.rules or NO_RULES, np.zeros(instance.n, bool)
    asked[requests.nodes] = True
    has_delivery = rules.of("demands", instance.demand[:, None]).any(axis=1)
    examined = asked | has_delivery if rules.backhauls_last else asked
    servable = np.array([servable_nodes(travel, True, set(LIMITS), examined) for travel in kinds]).reshape(-1, instance.n)
    by_paths = examined if instance.n <= _MAX_ALL_PATHS else examined & ~servable.any(axis=0)
    for number, travel in enumerate(kinds):
        servable[number] |= servable_nodes(travel, False, set(LIMITS), by_paths & ~servable[number])
        servable[number] |= examined & ~by_paths & travel.stops
        # With backhauls last, a vehicle that delivers nothing collects nothing.
        if rules.backhauls_last and not (servable[number] & has_delivery).any():
            servable[number] &= ~rules.of("pickups", np.zeros((instance.n, 1))).any(axis=1)
    return servable


def _unservable_client(instance: VrpInstance, kinds: list[VehicleTravel], possible: _Flags, requests: Requests) -> str:
    """Return which client or group no vehicle can serve, and which limits prevent it; "" if all can be served."""
    unservable_requests = np.flatnonzero(~requests.servable(possible).any(axis=0))
    if not len(unservable_requests):
        return ""
    nodes = requests.only(np.arange(len(requests.begin)) == unservable_requests[0]).nodes.tolist()
    names = ", ".join(instance.labels[node] for node in nodes[:10])
    who = f"client {names}" if len(nodes) == 1 else f"any of the group {names}"
    return f"no vehicle can serve {who}{_why(instance, kinds, nodes)} ({len(unservable_requests)} such)"


def _why(instance: VrpInstance, kinds: list[VehicleTravel], nodes: list[int]) -> str:
    """Return the limits that prevent all vehicles from serving these clients, to follow "no vehicle can serve them"."""
    limits = _irreducible(instance, kinds, nodes)
    if limits is None:
        return ": it has a pickup, and no delivery can precede it"
    words = " and ".join(LIMITS[limit] for limit in LIMITS if limit in limits)
    return f" because of {words}" if len(limits) == 1 else f" because of {words} together" if words else ""


def _irreducible(instance: VrpInstance, kinds: list[VehicleTravel], nodes: list[int]) -> set[str] | None:
    """Return an irreducible set of limits that prevent all vehicles from serving these clients; None if no limit prevents it."""
    limits, asked = set(LIMITS), np.zeros(instance.n, bool)
    asked[nodes] = True
    if any(servable_nodes(travel, False, limits, asked).any() for travel in kinds):
        return None
    for limit in LIMITS:
        if not any(servable_nodes(travel, False, limits - {limit}, asked).any() for travel in kinds):
            limits.remove(limit)
    return limits


def _unservable_shipment(instance: VrpInstance, possible: _Flags) -> str:
    """Return which shipment no vehicle can both pick up and deliver, in words; "" if there is none."""
    rules = instance.rules or NO_RULES
    for start, end in [] if rules.shipments is None else rules.shipments.tolist():
        if not (possible[:, start] & possible[:, end]).any():
            ends = f"client {instance.labels[start]} and client {instance.labels[end]}"
            return f"no vehicle can serve both {ends}, where its shipment goes"
    return ""
