"""Proofs that a route with a fixed beginning cannot be completed.

The vehicle of such a route is already under way: `begun` of the side constraints lists the clients that it must visit first.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.vrp.evaluation_rules import check_loads
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.single_client import LIMITS, after_driving, after_service, is_back_in_time, latest_return, operating_hours
from corl.problems.vrp.vehicle_travel import NO_RULES, VehicleTravel
from corl.tolerance import keeps

__all__ = ["infeasible_beginning"]


def infeasible_beginning(instance: VrpInstance, kinds: dict[int, VehicleTravel]) -> str:
    """Return why a route cannot be completed, whatever follows its fixed beginning; "" if that is not proven.

    kinds: Vehicle type -> its VehicleTravel.
    """
    rules = instance.rules or NO_RULES
    begun = list(rules.begun or ())
    served = np.concatenate([np.zeros(0, np.int64), *begun])
    if reason := _group_served_twice(instance, served) or _split_shipment(instance, begun):
        return reason
    for kind, nodes in enumerate(begun):
        if len(nodes) and (why := _broken_limit(instance, kinds[kind], nodes)):
            names = ", ".join(instance.labels[node] for node in nodes[:10])
            return f"the vehicle of type {instance.vehicle_label(kind)} is under way to {names}: {why}"
    return ""


def _group_served_twice(instance: VrpInstance, served: NDArray[np.int64]) -> str:
    """Return which two clients of one group are on fixed beginnings, in words; "" if there are none."""
    rules = instance.rules or NO_RULES
    if rules.groups is None:
        return ""
    groups = rules.groups[served]
    for group in np.unique(groups[groups >= 0]):
        members = served[groups == group]
        if len(members) > 1:
            one, two = instance.labels[members[0]], instance.labels[members[1]]
            return f"vehicles are under way to client {one} and client {two}, which are of one group"
    return ""


def _split_shipment(instance: VrpInstance, begun: list[NDArray[np.int64]]) -> str:
    """Return which shipment no vehicle can pick up and then deliver, given these beginnings, in words; "" if there is none.

    begun: The clients that each vehicle type must visit first.
    """
    rules = instance.rules or NO_RULES
    visit_of = {int(node): (kind, position) for kind, nodes in enumerate(begun) for position, node in enumerate(nodes)}
    for start, end in [] if rules.shipments is None else rules.shipments.tolist():
        if end in visit_of and (
            start not in visit_of or visit_of[start][0] != visit_of[end][0] or visit_of[start][1] > visit_of[end][1]
        ):
            client_words = f"client {instance.labels[end]} without its shipment from client {instance.labels[start]}"
            return f"a vehicle is under way to {client_words}"
        if start in visit_of and rules.allowed is not None and not rules.allowed[visit_of[start][0], end]:
            client_words = f"may not serve client {instance.labels[end]}, where its shipment goes"
            return f"a vehicle is under way to client {instance.labels[start]} and {client_words}"
    return ""


def _broken_limit(instance: VrpInstance, travel: VehicleTravel, nodes: NDArray[np.int64]) -> str:
    """Return which limit the fixed beginning of a route violates by itself; "" if none."""
    rules, vehicles, kind = travel.rules, instance.vehicles, travel.kind
    if rules.allowed is not None and not rules.allowed[kind, nodes].all():
        return f"it may not serve client {instance.labels[nodes[int((~rules.allowed[kind, nodes]).argmax())]]}"
    try:
        check_loads(instance, rules, "its route", kind, nodes.astype(np.int32))
    except Infeasible as error:
        return str(error)
    path = [travel.start, *nodes.tolist()]
    legs = [float(travel.row(False, one, False)[two]) for one, two in pairwise(path)]
    distance = sum(legs) + float(travel.back(False, False)[path[-1]])
    if not keeps(distance, vehicles.max_distance[kind]):
        return f"its route is at least {distance / instance.scale:.10g} long; the limit is " \
            f"{vehicles.max_distance[kind] / instance.scale:.10g}"  # fmt: skip
    return _time_conflict(instance, travel, path)


def _time_conflict(instance: VrpInstance, travel: VehicleTravel, path: list[int]) -> str:
    """Return why a vehicle cannot follow this path and return in time; "" if that is not proven.

    The limits are hours, windows, breaks and the maximum duration.
    """
    rules, limits, scale = travel.rules, set(LIMITS), instance.scale
    first_departure, last_departure, return_from, return_by = operating_hours(travel)
    if rules.release is not None:
        first_departure = max(first_departure, float(rules.release[path[1:]].max()))
    if not keeps(first_departure, last_departure):
        return f"it leaves at {first_departure / scale:.10g} at the earliest; its depot closes at {last_departure / scale:.10g}"
    service = np.zeros(instance.n) if instance.service is None else instance.service
    closes = np.full(instance.n, np.inf) if instance.latest is None else instance.latest
    labels, driving_and_service = [(first_departure, len(travel.breaks), 0.0)], 0.0
    for one, two in pairwise(path):
        leg = float(travel.row(True, one, False)[two])
        driving_and_service += leg + float(service[two])
        labels = after_driving(travel, labels, leg, leg if one == path[0] else 0.0, 0.0) if keeps(leg, travel.max_driving) else []
        last_departure = min(last_departure, float(closes[two]) - driving_and_service + float(service[two]))
        labels = after_service(travel, labels, two, float(closes[two]), limits)
        if not labels:
            return f"it does not reach client {instance.labels[two]} in time"
    back = float(travel.back(False, True)[path[-1]])
    returned = [
        label for label in after_driving(travel, labels, back, 0.0, 0.0) if is_back_in_time(travel, label, return_from, return_by)
    ]
    if not returned:
        return "it is not back in time"
    duration, max_duration = (
        max(driving_and_service + back, max(returned[0][0], return_from) - last_departure),
        float(instance.vehicles.max_duration[travel.kind]),
    )
    if not keeps(duration, max_duration, max(returned[0][0], 2.0 * latest_return(travel))):
        return f"its route takes at least {duration / scale:.10g}; the limit is {max_duration / scale:.10g}"
    return ""
