"""The kernels' view of an instance's rules, and the segments of routes that it is checked with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.tolerance import LIMIT

__all__ = [
    "AFTER", "BEFORE", "BRINGS", "COLLECTS", "LATE", "LOADS", "OPEN", "REGISTERS", "RELEASE", "RELOADS", "TRIP",
    "Segments", "Terms", "new_segments", "reload_nodes", "terms_of",
]  # fmt: skip

# Places in a row of Segments. A duration, an earliest and a latest start are three places each.
BEFORE = AFTER = 0  # three: of the trips before this one (head), or after it (tail)
TRIP = 3  # three: of this trip, from its depot (head) or to its depot (tail)
RELEASE, RELOADS, BRINGS, COLLECTS, OPEN, LATE = 6, 7, 8, 9, 10, 11
LOADS = 12  # then for each dimension: delivered, collected, the most that is aboard
REGISTERS = 4  # rows for routes that are tried

_EASE = 0.25 * LIMIT
_LABELS = 48  # ways to pause that are followed at once


class Terms(NamedTuple):
    """Rules. Clients are 0..real-1, behind them come `reload` nodes, which are clients too where nothing else is said."""

    real: int
    dimensions: int
    clocked: bool
    """Whether windows, releases, shifts or durations are to be kept."""
    lasting: bool
    """Whether time costs."""
    ordered: bool
    """Whether deliveries come before what is collected."""
    paused: bool
    trips: bool
    paired: bool
    grouped: bool
    owned: bool
    travelled: bool
    """Whether the way takes another time than the distance."""
    delivery: NDArray[np.float64]
    pickup: NDArray[np.float64]
    """float64 [clients, Q] each; of a shipment's first node its amount is in `pickup`, of its second one minus that."""
    collects: NDArray[np.bool_]
    """bool [clients]: whether something is collected and nothing brought."""
    capacity: NDArray[np.float64]
    aboard: NDArray[np.float64]
    """float64 [types, Q] each."""
    release: NDArray[np.float64]
    """float64 [clients]; -inf where there is none."""
    earliest: NDArray[np.float64]
    latest: NDArray[np.float64]
    service: NDArray[np.float64]
    """float64 [clients + slots] each; of a slot the first departure and the last return."""
    leave_by: NDArray[np.float64]
    back_from: NDArray[np.float64]
    """float64 [types] each: the last departure, and the first return, before which a vehicle waits."""
    partner: NDArray[np.int32]
    first: NDArray[np.bool_]
    """[clients] each: the other node of a shipment, -1 for none; whether it is picked up here."""
    group: NDArray[np.int32]
    """int32 [clients], -1 for none."""
    member_from: NDArray[np.int32]
    members: NDArray[np.int32]
    """int32 [G + 1] and [..]: the clients of group g are members[member_from[g] : member_from[g + 1]]."""
    needed: NDArray[np.bool_]
    """bool [G]: whether one of the group must be served."""
    allowed: NDArray[np.bool_]
    """bool [types, clients] where `owned`; of a reload node: whether the type may reload there."""
    locked: NDArray[np.bool_]
    """bool [clients]: on a fixed beginning."""
    reloads: NDArray[np.int64]
    """int64 [types]."""
    longest: NDArray[np.float64]
    rate: NDArray[np.float64]
    over: NDArray[np.float64]
    over_rate: NDArray[np.float64]
    """float64 [types] each: longest duration, cost of a unit of it, and from which duration on what a unit costs more."""
    profile: NDArray[np.int64]
    durations: NDArray[np.float64]
    """int64 [types]; float64 [P, n, n] where `travelled`."""
    closed_from: NDArray[np.int32]
    closed: NDArray[np.float64]
    """int32 [clients + 1], float64 [.., 2]: between a client's windows, by time."""
    breaks_from: NDArray[np.int32]
    breaks: NDArray[np.float64]
    """int32 [types + 1], float64 [.., 3]: from, to, how long."""
    driving: NDArray[np.float64]
    rest: NDArray[np.float64]
    """float64 [types] each."""


class Segments(NamedTuple):
    """Of the present routes."""

    head: NDArray[np.float64]
    """float64 [clients + slots + REGISTERS, F]: from the depot to a node, this one included."""
    tail: NDArray[np.float64]
    """float64 [clients + slots, F]: from a node to the end; of a slot's depot the end alone."""
    extra: NDArray[np.float64]
    """float64 [slots]: what the time of a route costs."""
    served: NDArray[np.int32]
    """int32 [G]: how many clients of a group are served."""
    mark: NDArray[np.int64]
    """int64 [slots + 1]: the last search that looked at a route; the number of searches."""
    found: NDArray[np.int32]
    """int32 [4]: what a search found."""
    sequence: NDArray[np.int32]
    """int32 [clients + 1]: a route that is tried."""
    ways: NDArray[np.float64]
    """float64 [clients + 2]: how long its ways take."""
    labels: NDArray[np.float64]
    """float64 [2, labels, 3]: time, breaks to come, driven since the last rest; and which of them are dropped."""


def reload_nodes(instance: VrpInstance) -> NDArray[np.int64]:
    """int64: the depot of each reload node: as many of each depot as there can be trips after the first."""
    rules, vehicles = instance.rules, instance.vehicles
    if rules is None or rules.reloads is None or not rules.reloads.any():
        return np.zeros(0, np.int64)
    count = np.where(vehicles.count < 0, instance.clients, np.minimum(vehicles.count, instance.clients))
    nodes = []
    for depot, may in enumerate(_reload_depots(instance).T):
        most = min(instance.clients, int((np.minimum(rules.reloads, instance.clients) * count)[may].sum()))
        nodes.append(np.full(most, depot))
    return np.concatenate(nodes).astype(np.int64)


def _reload_depots(instance: VrpInstance) -> NDArray[np.bool_]:
    """bool [types, D]: where a type may reload."""
    rules, vehicles = instance.rules, instance.vehicles
    assert rules is not None and rules.reloads is not None
    own = np.arange(instance.depots) == vehicles.start[:, None]
    return np.asarray(rules.of("reload_depots", own) & (rules.reloads > 0)[:, None])


def terms_of(instance: VrpInstance, owner: NDArray[np.int64]) -> Terms | None:
    """The kernels' view of the rules; None without rules. owner: int64 [slots], the type of each slot."""
    rules, vehicles, depots = instance.rules, instance.vehicles, instance.depots
    if rules is None:
        return None
    reload, types, q = reload_nodes(instance), vehicles.types, rules.dimensions
    extra = len(reload)
    nodes = instance.clients + extra
    delivery = _padded(instance, rules.of("demands", instance.demand[:, None]), extra, 0.0)
    pickup = _padded(instance, rules.of("pickups", np.zeros((instance.n, q))), extra, 0.0)
    partner, first = _shipments(instance, pickup)
    early, late, leave_by, back_from = _hours(instance, owner, reload)
    service = np.zeros(instance.n) if instance.service is None else instance.service
    groups = np.full(instance.n, -1) if rules.groups is None else rules.groups
    needed = np.zeros(0, bool) if rules.group_required is None else rules.group_required.copy()
    members = [np.flatnonzero(groups[depots:] == g) for g in range(len(needed))]
    closed = _runs(rules.of("closed", np.zeros((0, 3))), nodes, depots)
    breaks = rules.of("breaks", np.zeros((0, 4)))
    breaks = _runs(breaks[np.lexsort((breaks[:, 1], breaks[:, 2]))], types, 0)
    lasting = rules.lasting
    driving = rules.of("max_driving", np.full(types, np.inf))
    paused = bool(len(closed[1]) or len(breaks[1]) or np.isfinite(driving).any())
    return Terms(
        real=instance.clients,
        dimensions=q,
        clocked=instance.timed or rules.release is not None or rules.shift is not None or lasting or paused,
        lasting=lasting,
        ordered=rules.backhauls_last,
        paused=paused,
        trips=extra > 0,
        paired=rules.shipments is not None,
        grouped=rules.groups is not None,
        owned=rules.allowed is not None or extra > 0,
        travelled=rules.durations is not None,
        delivery=delivery,
        pickup=pickup,
        collects=np.asarray((pickup > 0.0).any(axis=1) & ~(delivery > 0.0).any(axis=1)),
        capacity=_eased(rules.of("capacities", np.repeat(vehicles.capacity[:, None], q, axis=1))),
        aboard=np.array(rules.of("aboard", np.zeros((types, q)))),
        release=_padded(instance, rules.of("release", np.full(instance.n, -np.inf)), extra, -np.inf),
        earliest=early,
        latest=late,
        service=np.concatenate([_padded(instance, service, extra, 0.0), np.zeros(len(owner))]),
        leave_by=leave_by,
        back_from=back_from,
        partner=partner,
        first=first,
        group=_padded(instance, groups, extra, -1).astype(np.int32),
        member_from=np.cumsum([0, *map(len, members)]).astype(np.int32),
        members=np.concatenate([np.zeros(0), *members]).astype(np.int32),
        needed=needed,
        allowed=_allowed(instance, reload),
        locked=_locked(instance, nodes),
        reloads=np.array(rules.of("reloads", np.zeros(types, np.int64))),
        longest=_eased(vehicles.max_duration),
        rate=np.array(rules.of("duration_cost", np.zeros(types))),
        over=np.array(rules.of("overtime_from", np.full(types, np.inf))),
        over_rate=np.array(rules.of("overtime_cost", np.zeros(types))),
        profile=np.array(rules.of("profile", np.zeros(types, np.int64))),
        durations=np.array(rules.of("durations", np.zeros((0, 0, 0)))),
        closed_from=closed[0],
        closed=closed[1],
        breaks_from=breaks[0],
        breaks=breaks[1],
        driving=_eased(driving),
        rest=np.array(rules.of("rest", np.full(types, np.inf))),
    )


def _padded(instance: VrpInstance, values: NDArray[Any], extra: int, value: float) -> NDArray[Any]:
    """Values [n, ...] of the clients, then `value` for each of the `extra` reload nodes: [clients + extra, ...]."""
    return np.concatenate([values[instance.depots :], np.full((extra, *values.shape[1:]), value)])


def _shipments(instance: VrpInstance, pickup: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """`partner` and `first` of Terms; writes the amounts of shipments into `pickup`."""
    rules, partner, first = instance.rules, np.full(len(pickup), -1, np.int32), np.zeros(len(pickup), bool)
    if rules is not None and rules.shipments is not None and rules.amounts is not None:
        start, end = (rules.shipments - instance.depots).T
        partner[start], partner[end], first[start] = end, start, True
        pickup[start], pickup[end] = rules.amounts, -rules.amounts
    return partner, first


def _allowed(instance: VrpInstance, reload: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool [types, clients + reload nodes]: which type may visit which node."""
    allowed = np.ones((instance.vehicles.types, instance.clients + len(reload)), bool)
    if instance.rules is not None and instance.rules.allowed is not None:
        allowed[:, : instance.clients] = instance.rules.allowed[:, instance.depots :]
    if len(reload):
        allowed[:, instance.clients :] = _reload_depots(instance)[:, reload]
    return allowed


def _locked(instance: VrpInstance, nodes: int) -> NDArray[np.bool_]:
    """bool [nodes]: whether a node is on a fixed beginning."""
    locked = np.zeros(nodes, bool)
    for begun in (instance.rules and instance.rules.begun) or ():
        locked[begun - instance.depots] = True
    return locked


def _hours(
    instance: VrpInstance, owner: NDArray[np.int64], reload: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """When service may begin at the earliest and the latest; of a slot: the first departure and the last return. And of each
    type the last departure and the first return."""
    rules, vehicles = instance.rules, instance.vehicles
    assert rules is not None
    opens = np.zeros(instance.n) if instance.earliest is None else instance.earliest
    closes = np.full(instance.n, np.inf) if instance.latest is None else _eased(instance.latest)
    leave, back, home = opens[vehicles.start], closes[vehicles.end], opens[vehicles.end]
    if rules.stays_out is not None:
        back, home = np.where(rules.stays_out, np.inf, back), np.where(rules.stays_out, 0.0, home)
    if rules.shift is not None:
        leave, back = np.maximum(leave, rules.shift[:, 0]), np.minimum(back, _eased(rules.shift[:, 1]))
    clients = slice(instance.depots, None)
    return (
        np.concatenate([opens[clients], opens[reload], leave[owner]]),
        np.concatenate([closes[clients], closes[reload], back[owner]]),
        closes[vehicles.start],
        home,
    )


def _runs(table: NDArray[np.float64], owners: int, least: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Lines (owner, ...) sorted by owner: where each owner's lines begin, and the lines without it."""
    order = np.argsort(table[:, 0], kind="stable")
    counts = np.bincount((table[:, 0] - least).astype(np.int64), minlength=owners)
    return np.cumsum([0, *counts]).astype(np.int32), np.ascontiguousarray(table[order, 1:])


def _eased(limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """A limit that sums of whole numbers keep exactly, and others to within rounding."""
    return np.asarray(limit + np.where(np.isfinite(limit), _EASE * np.abs(limit), 0.0))


def new_segments(terms: Terms, slots: int) -> Segments:
    """Room for routes; nobody is served."""
    nodes, places = len(terms.partner) + slots, LOADS + 3 * terms.dimensions
    return Segments(
        head=np.zeros((nodes + REGISTERS, places)),
        tail=np.zeros((nodes, places)),
        extra=np.zeros(slots),
        served=np.zeros(len(terms.needed), np.int32),
        mark=np.zeros(slots + 1, np.int64),
        found=np.zeros(4, np.int32),
        sequence=np.zeros(len(terms.partner) + 2, np.int32),
        ways=np.zeros(len(terms.partner) + 2),
        labels=np.zeros((2, _LABELS, 3)),
    )
