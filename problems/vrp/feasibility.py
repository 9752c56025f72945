"""Proofs that an instance has no solution, where they are cheap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.alone import LIMITS, NO_RULES, Ways, able
from corl.problems.vrp.fleet_limits import Asking, too_many
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.under_way import begun_wrongly
from corl.tolerance import keeps

__all__ = ["in_the_way", "unservable"]

_SMALL = 200  # nodes up to which shortest ways are looked for though there is a vehicle already

_Flags = NDArray[np.bool_]


def unservable(instance: VrpInstance) -> str:
    """Why nothing fits, one line; "" where that is not proven (then there may still be no solution).

    Looked at: the demand of all required clients against the whole fleet; whether any vehicle could bring each of them what
    it needs in time, by the shortest way over whatever other nodes (distances need not obey the triangle inequality); the fixed
    beginnings of routes; and how many clients vehicles can serve at the most. Of the limits in the way of a client those are
    named which no other of them makes superfluous.
    """
    there, rules = instance.vehicles.count != 0, instance.rules or NO_RULES
    asking = _asking(instance)
    if not len(asking.begin) and rules.begun is None:
        return ""
    if reason := _too_much(instance, there):
        return reason
    kinds = [Ways(instance, int(kind)) for kind in np.flatnonzero(there)]
    if reason := begun_wrongly(instance, {ways.kind: ways for ways in kinds}):
        return reason
    possible = _possible(instance, kinds, asking)
    if reason := _nobody(instance, kinds, possible, asking):
        return reason
    return _apart(instance, possible) or too_many(instance, kinds, possible, asking)


def in_the_way(instance: VrpInstance, clients: _Flags) -> dict[int, str]:
    """Of those of some clients (bool [n]) that no vehicle can serve whatever the routes are: the reason, by node."""
    kinds = [Ways(instance, int(kind)) for kind in np.flatnonzero(instance.vehicles.count != 0)]
    asked = clients & (np.arange(instance.n) >= instance.depots)
    nodes = np.flatnonzero(asked)
    possible = _possible(instance, kinds, Asking(nodes, np.arange(len(nodes))))
    closed = np.flatnonzero(asked & ~possible.any(axis=0)).tolist() if kinds else []
    return {node: f"no vehicle can serve it{_why(instance, kinds, [node])}" for node in closed}


def _asking(instance: VrpInstance) -> Asking:
    """Each required client, and the clients of each required group."""
    rules, lists = instance.rules, [np.flatnonzero(instance.required)]
    sizes = [1] * len(lists[0])
    if rules is not None and rules.groups is not None and rules.group_required is not None:
        groups = [np.flatnonzero(rules.groups == group) for group in np.flatnonzero(rules.group_required)]
        lists, sizes = lists + groups, sizes + [len(group) for group in groups]
    return Asking(np.concatenate(lists), np.cumsum([0, *sizes])[:-1])


def _too_much(instance: VrpInstance, there: _Flags) -> str:
    """Whether all vehicles, on all their trips, carry less than the required clients' demand."""
    vehicles, rules = instance.vehicles, instance.rules or NO_RULES
    if (vehicles.count < 0).any() or not instance.required.any():
        return ""
    trips = vehicles.count * (1 + np.where(there, rules.of("reloads", np.zeros(vehicles.types, np.int64)), 0))
    most, demand = float(vehicles.capacity[there] @ trips[there]), float(instance.demand[instance.required].sum())
    if keeps(demand, most) and there.any():
        return ""
    return f"the required clients' demand {demand:.10g} is above what all vehicles carry, {most:.10g}"


def _possible(instance: VrpInstance, kinds: list[Ways], asking: Asking) -> _Flags:
    """Return which vehicles may be able to serve which node, bool [len(kinds), n]; true where it was not examined."""
    rules, asked = instance.rules or NO_RULES, np.zeros(instance.n, bool)
    asked[asking.nodes] = True
    brings = rules.of("demands", instance.demand[:, None]).any(axis=1)
    looked = asked | brings if rules.backhauls_last else asked
    alone = np.array([able(ways, True, set(LIMITS), looked) for ways in kinds]).reshape(-1, instance.n)
    left = looked if instance.n <= _SMALL else looked & ~alone.any(axis=0)
    for number, ways in enumerate(kinds):
        alone[number] |= able(ways, False, set(LIMITS), left & ~alone[number])
        alone[number] |= looked & ~left & ways.stops
        if rules.backhauls_last and not (alone[number] & brings).any():  # nothing is collected before something is brought
            alone[number] &= ~rules.of("pickups", np.zeros((instance.n, 1))).any(axis=1)
    return alone


def _nobody(instance: VrpInstance, kinds: list[Ways], possible: _Flags, asking: Asking) -> str:
    """Which client, or group, no vehicle can serve, and what is in the way."""
    lost = np.flatnonzero(~asking.able(possible).any(axis=0))
    if not len(lost):
        return ""
    nodes = asking.only(np.arange(len(asking.begin)) == lost[0]).nodes.tolist()
    names = ", ".join(instance.labels[node] for node in nodes[:10])
    who = f"client {names}" if len(nodes) == 1 else f"any of the group {names}"
    return f"no vehicle can serve {who}{_why(instance, kinds, nodes)} ({len(lost)} such)"


def _why(instance: VrpInstance, kinds: list[Ways], nodes: list[int]) -> str:
    """What is in the way of clients, to follow "no vehicle can serve them"."""
    limits = _irreducible(instance, kinds, nodes)
    if limits is None:
        return ": it hands something over, and nobody can be brought anything before"
    words = " and ".join(LIMITS[limit] for limit in LIMITS if limit in limits)
    return f": in the way is {words}" if len(limits) == 1 else f": in the way are {words}, together" if words else ""


def _irreducible(instance: VrpInstance, kinds: list[Ways], nodes: list[int]) -> set[str] | None:
    """Limits that keep all vehicles from these clients, of which each is needed for that; None where it is none of them."""
    limits, asked = set(LIMITS), np.zeros(instance.n, bool)
    asked[nodes] = True
    if any(able(ways, False, limits, asked).any() for ways in kinds):
        return None
    for limit in LIMITS:
        if not any(able(ways, False, limits - {limit}, asked).any() for ways in kinds):
            limits.remove(limit)
    return limits


def _apart(instance: VrpInstance, possible: _Flags) -> str:
    """A shipment of which no vehicle can serve both ends."""
    rules = instance.rules or NO_RULES
    for start, end in [] if rules.shipments is None else rules.shipments.tolist():
        if not (possible[:, start] & possible[:, end]).any():
            both = f"client {instance.labels[start]} and client {instance.labels[end]}"
            return f"no vehicle can serve both {both}, where its shipment goes"
    return ""
