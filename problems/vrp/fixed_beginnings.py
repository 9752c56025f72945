"""Proofs that no solution has the fixed beginnings of an instance's routes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.vrp.evaluation_rules import check_loads
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.single_client import (
    LIMITS,
    NO_RULES,
    VehicleTravel,
    after_driving,
    after_service,
    is_back_in_time,
    latest_return,
    operating_hours,
)
from corl.tolerance import keeps

__all__ = ["infeasible_beginning"]


def infeasible_beginning(instance: VrpInstance, kinds: dict[int, VehicleTravel]) -> str:
    """Return why a route under way cannot be finished whatever follows its beginning; "" if that is not proven.

    kinds: vehicle type -> its VehicleTravel.
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
    """Return which two clients of a group are both on fixed beginnings, in words; "" if there are none."""
    rules = instance.rules or NO_RULES
    if rules.groups is None:
        return ""
    groups = rules.groups[served]
    for group in np.unique(groups[groups >= 0]):
        both = served[groups == group]
        if len(both) > 1:
            one, two = instance.labels[both[0]], instance.labels[both[1]]
            return f"vehicles are under way to client {one} and client {two}, which are of one group"
    return ""


def _split_shipment(instance: VrpInstance, begun: list[NDArray[np.int64]]) -> str:
    """Return which shipment is delivered before its pickup or by another vehicle, in words; "" if there is none."""
    rules = instance.rules or NO_RULES
    place = {int(node): (kind, at) for kind, nodes in enumerate(begun) for at, node in enumerate(nodes)}
    for start, end in [] if rules.shipments is None else rules.shipments.tolist():
        if end in place and (start not in place or place[start][0] != place[end][0] or place[start][1] > place[end][1]):
            what = f"client {instance.labels[end]} without its shipment from client {instance.labels[start]}"
            return f"a vehicle is under way to {what}"
        if start in place and rules.allowed is not None and not rules.allowed[place[start][0], end]:
            what = f"may not serve client {instance.labels[end]}, where its shipment goes"
            return f"a vehicle is under way to client {instance.labels[start]} and {what}"
    return ""


def _broken_limit(instance: VrpInstance, travel: VehicleTravel, nodes: NDArray[np.int64]) -> str:
    """Return which limit the beginning of a route violates by itself; "" if none."""
    rules, vehicles, kind = travel.rules, instance.vehicles, travel.kind
    if rules.allowed is not None and not rules.allowed[kind, nodes].all():
        return f"it may not serve client {instance.labels[nodes[int((~rules.allowed[kind, nodes]).argmax())]]}"
    try:
        check_loads(instance, rules, "its route", kind, nodes.astype(np.int32))
    except Infeasible as error:
        return str(error)
    path = [travel.start, *nodes.tolist()]
    legs = [float(travel.row(False, one, False)[two]) for one, two in pairwise(path)]
    far = sum(legs) + float(travel.back(False, False)[path[-1]])
    if not keeps(far, vehicles.max_distance[kind]):
        return f"its route is at least {far / instance.scale:.10g} long; the limit is " \
            f"{vehicles.max_distance[kind] / instance.scale:.10g}"  # fmt: skip
    return _time_conflict(instance, travel, path)


def _time_conflict(instance: VrpInstance, travel: VehicleTravel, path: list[int]) -> str:
    """Return why hours, windows, breaks or the maximum duration forbid a vehicle this path and the return; "" if they do not."""
    rules, limits = travel.rules, set(LIMITS)
    first, last, home_from, home_by = operating_hours(travel)
    if rules.release is not None:
        first = max(first, float(rules.release[path[1:]].max()))
    if not keeps(first, last):
        return f"it leaves at {first / instance.scale:.10g} at the earliest; its depot closes at {last / instance.scale:.10g}"
    service = np.zeros(instance.n) if instance.service is None else instance.service
    closes = np.full(instance.n, np.inf) if instance.latest is None else instance.latest
    labels, busy = [(first, len(travel.breaks), 0.0)], 0.0
    for one, two in pairwise(path):
        leg = float(travel.row(True, one, False)[two])
        busy += leg + float(service[two])
        labels = after_driving(travel, labels, leg, leg if one == path[0] else 0.0, 0.0) if keeps(leg, travel.max_driving) else []
        last = min(last, float(closes[two]) - busy + float(service[two]))
        labels = after_service(travel, labels, two, float(closes[two]), limits)
        if not labels:
            return f"it does not reach client {instance.labels[two]} in time"
    back = float(travel.back(False, True)[path[-1]])
    done = [
        label for label in after_driving(travel, labels, back, 0.0, 0.0) if is_back_in_time(travel, label, home_from, home_by)
    ]
    if not done:
        return "it is not back in time"
    duration, longest = max(busy + back, max(done[0][0], home_from) - last), float(instance.vehicles.max_duration[travel.kind])
    if not keeps(duration, longest, max(done[0][0], 2.0 * latest_return(travel))):
        return f"its route takes at least {duration / instance.scale:.10g}; the limit is {longest / instance.scale:.10g}"
    return ""
