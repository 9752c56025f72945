"""Proofs that an instance has no solution, where they are cheap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import Rules
from corl.tolerance import keeps

__all__ = ["in_the_way", "unservable"]

_LIMITS = {  # what may stand between a client and every vehicle, in words
    "capacity": "what it is to be brought or hands over", "allowed": "the vehicles that may serve it", "window": "its window",
    "release": "its release time", "hours": "the hours of depots and vehicles", "distance": "the longest distance",
    "duration": "the longest duration",
}  # fmt: skip
_NO_RULES = Rules()

_Floats = NDArray[np.float64]


def unservable(instance: VrpInstance) -> str:
    """Why nothing fits, one line; "" where that is not proven (then there may still be no solution).

    Looked at: the demand of all required clients against the whole fleet, and whether any vehicle could bring each of them
    what it needs in time, by the shortest way over whatever other nodes (rounded distances need not obey the triangle
    inequality). Of the limits in the way of a client those are named which no other of them makes superfluous.
    """
    there = instance.vehicles.count != 0
    needed = _needed(instance)
    if not needed.any():
        return ""
    if reason := _too_much(instance, there):
        return reason
    kinds = [_Ways(instance, int(kind)) for kind in np.flatnonzero(there)]
    open_clients = needed
    for direct in (True, False):
        for ways in kinds:
            open_clients = open_clients & ~_servable(instance, ways, direct, set(_LIMITS))
        if not open_clients.any():
            return ""
    node = int(open_clients.argmax())
    why = _words(_irreducible(instance, kinds, node))
    return f"no vehicle can serve client {instance.labels[node]}{why} ({int(open_clients.sum())} such)"


def in_the_way(instance: VrpInstance, clients: NDArray[np.bool_]) -> dict[int, str]:
    """Of those of some clients (bool [n]) that no vehicle can serve whatever the routes are: the reason, by node."""
    kinds = [_Ways(instance, int(kind)) for kind in np.flatnonzero(instance.vehicles.count != 0)]
    closed = clients.copy()
    closed[: instance.depots] = False
    for direct in (True, False):
        for ways in kinds if closed.any() else []:
            closed &= ~_servable(instance, ways, direct, set(_LIMITS))
    found = np.flatnonzero(closed).tolist() if kinds else []
    return {node: f"no vehicle can serve it{_words(_irreducible(instance, kinds, node))}" for node in found}


def _words(limits: set[str]) -> str:
    """What is in the way of a client, to follow "no vehicle can serve it"."""
    words = " and ".join(_LIMITS[limit] for limit in _LIMITS if limit in limits)
    return f": in the way is {words}" if len(limits) == 1 else f": in the way are {words}, together" if words else ""


def _needed(instance: VrpInstance) -> NDArray[np.bool_]:
    """bool [n]: the clients that must be served themselves; of a group, where it is the only one."""
    rules = instance.rules
    if rules is None or rules.groups is None or rules.group_required is None:
        return instance.required
    sizes = np.bincount(rules.groups[rules.groups >= 0], minlength=len(rules.group_required))
    alone = np.append((sizes == 1) & rules.group_required, False)
    return np.asarray(instance.required | alone[rules.groups])


def _too_much(instance: VrpInstance, there: NDArray[np.bool_]) -> str:
    """Whether all vehicles, on all their trips, carry less than the required clients' demand."""
    vehicles, rules = instance.vehicles, instance.rules or _NO_RULES
    if (vehicles.count < 0).any():
        return ""
    trips = vehicles.count * (1 + np.where(there, rules.of("reloads", np.zeros(vehicles.types, np.int64)), 0))
    most, demand = float(vehicles.capacity[there] @ trips[there]), float(instance.demand[instance.required].sum())
    if keeps(demand, most) and there.any():
        return ""
    return f"the required clients' demand {demand:.10g} is above what all vehicles carry, {most:.10g}"


def _irreducible(instance: VrpInstance, kinds: list[_Ways], node: int) -> set[str]:
    """Limits that keep all vehicles from a client, of which each is needed for that."""
    limits = set(_LIMITS)
    for limit in _LIMITS:
        if not any(_servable(instance, ways, False, limits - {limit})[node] for ways in kinds):
            limits.remove(limit)
    return limits


def _servable(instance: VrpInstance, ways: _Ways, direct: bool, limits: set[str]) -> NDArray[np.bool_]:
    """bool [n]: the nodes that a vehicle of this type could serve under these limits, on a route of their own or (not `direct`)
    over the shortest ways."""
    vehicles, rules, kind = instance.vehicles, instance.rules or _NO_RULES, ways.kind
    start, end, n = int(vehicles.start[kind]), int(vehicles.end[kind]), instance.n
    good = _carried(instance, rules, kind) if "capacity" in limits else np.ones(n, bool)
    if "allowed" in limits and rules.allowed is not None:
        good &= rules.allowed[kind]
    if "distance" in limits:
        good &= keeps(ways.to(start, direct, False) + ways.back(end, direct, False), vehicles.max_distance[kind])
    to, back = ways.to(start, direct, True), ways.back(end, direct, True)
    service = np.zeros(n) if instance.service is None else instance.service
    opens = np.zeros(n) if instance.earliest is None else instance.earliest
    closes = np.full(n, np.inf) if instance.latest is None else instance.latest
    shift = np.array([0.0, np.inf]) if rules.shift is None else rules.shift[kind]
    leave, home = (max(opens[start], shift[0]), min(closes[end], shift[1])) if "hours" in limits else (0.0, np.inf)
    if ways.out:
        home = shift[1] if "hours" in limits else np.inf
    if "release" in limits and rules.release is not None:
        leave = np.maximum(leave, rules.release)
    begin = np.maximum(opens, leave + to) if "window" in limits else leave + to
    ready = begin + service
    good &= keeps(begin, closes) if "window" in limits else True
    good &= keeps(ready + back, home)
    if "duration" in limits:
        good &= keeps(to + service + back, vehicles.max_duration[kind], ready + back)
    return np.asarray(good)


def _carried(instance: VrpInstance, rules: Rules, kind: int) -> NDArray[np.bool_]:
    """bool [n]: whether what a client is brought, hands over or sends fits into the vehicle, in every dimension."""
    q = rules.dimensions
    capacity = rules.of("capacities", np.repeat(instance.vehicles.capacity[:, None], q, axis=1))[kind]
    good = keeps(rules.of("demands", instance.demand[:, None]), capacity).all(axis=1)
    if rules.pickups is not None:
        good &= keeps(rules.pickups, capacity).all(axis=1)
    if rules.shipments is not None and rules.amounts is not None:
        good[rules.shipments] &= keeps(rules.amounts, capacity).all(axis=1)[:, None]
    return np.asarray(good)


class _Ways:
    """Lengths and times of ways from a vehicle's first depot and to its last."""

    def __init__(self, instance: VrpInstance, kind: int) -> None:
        rules = instance.rules or _NO_RULES
        profile = 0 if rules.profile is None else int(rules.profile[kind])
        lengths = instance.matrix if rules.distances is None else rules.distances[profile]
        self.kind = kind
        self.out = rules.stays_out is not None and bool(rules.stays_out[kind])
        self._instance = instance
        self._matrices = {False: lengths, True: lengths if rules.durations is None else rules.durations[profile]}
        self._known: dict[tuple[bool, int, bool], _Floats] = {}

    def to(self, node: int, direct: bool, time: bool) -> _Floats:
        """float64 [n]: from a node to all."""
        return self._row(time, node, False) if direct else self._shortest(time, node, False)

    def back(self, node: int, direct: bool, time: bool) -> _Floats:
        """float64 [n]: from all to a node."""
        if self.out:
            return np.zeros(self._instance.n)
        return self._row(time, node, True) if direct else self._shortest(time, node, True)

    def _row(self, time: bool, node: int, towards: bool) -> _Floats:
        if (matrix := self._matrices[time]) is None:
            return self._instance.distances_from(node)
        return matrix[:, node] if towards else matrix[node]

    def _shortest(self, time: bool, node: int, towards: bool) -> _Floats:
        """Dijkstra on the complete graph, n rows of distances."""
        if (known := self._known.get((time, node, towards))) is not None:
            return known
        length = self._row(time, node, towards).copy()
        done = np.zeros(len(length), bool)
        done[node] = True
        while not done.all():
            nearest = int(np.where(done, np.inf, length).argmin())
            done[nearest] = True
            length = np.minimum(length, length[nearest] + self._row(time, nearest, towards))
        self._known[time, node, towards] = length
        return length
