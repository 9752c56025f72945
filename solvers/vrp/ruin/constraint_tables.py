"""The side constraints of an instance as arrays for the kernels, and the segments of routes that check them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.tolerance import LIMIT

__all__ = [
    "AFTER",
    "BEFORE",
    "COLLECTS",
    "DELIVERS",
    "LATE",
    "LOADS",
    "OPEN",
    "RELEASE",
    "RELOADS",
    "SCRATCH_ROWS",
    "TRIP",
    "ConstraintTables",
    "Segments",
    "constraint_tables",
    "new_segments",
    "reload_nodes",
]  # fmt: skip

# Columns of a row of Segments. Three columns each: duration, earliest start, latest start.
BEFORE = AFTER = 0  # three columns: of the trips before the current one (head), or after it (tail)
TRIP = 3  # three columns: of the current trip, from its depot (head) or to its depot (tail)
RELEASE, RELOADS, DELIVERS, COLLECTS, OPEN, LATE = 6, 7, 8, 9, 10, 11
LOADS = 12  # three columns for each dimension of load: delivered, collected, greatest load on board
SCRATCH_ROWS = 4  # rows of `Segments.head` for candidate routes

_EASE = 0.25 * LIMIT
_LABELS = 48  # greatest number of labels, that is, of break schedules followed at once


class ConstraintTables(NamedTuple):
    """The side constraints. `clients` counts reload nodes too, which follow the clients proper: see `first_reload`."""

    first_reload: int
    """The number of clients proper, and the first reload node: node i is a reload node if first_reload <= i < clients."""
    dimensions: int
    """Q, the number of dimensions of load."""
    timed: bool
    """Whether there are windows, release times, shifts, maximum durations or costs of time."""
    has_time_costs: bool
    """Whether the duration of a route costs something."""
    linehaul_first: bool
    """Whether a trip delivers everything before it collects anything."""
    has_breaks: bool
    """Whether there are breaks, rests, or several windows of a client: routes are then checked by breaks.py."""
    multi_trip: bool
    has_shipments: bool
    has_groups: bool
    restricted: bool
    has_durations: bool
    """Whether travel times differ from distances."""
    delivery: NDArray[np.float64]
    pickup: NDArray[np.float64]
    """float64 [clients, Q] each. For a shipment, `pickup` holds its amount at its first node, and minus that at its second."""
    pickup_only: NDArray[np.bool_]
    """bool [clients]: whether something is collected and nothing delivered."""
    capacity: NDArray[np.float64]
    initial_load: NDArray[np.float64]
    """float64 [types, Q] each: the capacity, and the load on board at the start."""
    release: NDArray[np.float64]
    """float64 [clients]: release time; -inf if there is none."""
    earliest: NDArray[np.float64]
    latest: NDArray[np.float64]
    service: NDArray[np.float64]
    """float64 [clients + slots] each; for a slot the first departure and the last return."""
    leave_by: NDArray[np.float64]
    return_from: NDArray[np.float64]
    """float64 [types] each: the last departure, and the first return, until which a vehicle waits."""
    partner: NDArray[np.int32]
    is_pickup: NDArray[np.bool_]
    """[clients] each: the other node of a shipment (-1: none), and whether it is picked up here."""
    group: NDArray[np.int32]
    """int32 [clients]: the client's group; -1: none."""
    member_start: NDArray[np.int32]
    members: NDArray[np.int32]
    """int32 [G + 1] and [..]: the clients of group g are members[member_start[g] : member_start[g + 1]]."""
    group_required: NDArray[np.bool_]
    """bool [G]: whether one client of the group must be served."""
    allowed: NDArray[np.bool_]
    """bool [types, clients], if `restricted`: whether the type may serve the client or, for a reload node, reload there."""
    locked: NDArray[np.bool_]
    """bool [clients]: whether the client is on a fixed beginning of a route."""
    reloads: NDArray[np.int64]
    """int64 [types]: the greatest number of reloads of a route."""
    max_duration: NDArray[np.float64]
    time_rate: NDArray[np.float64]
    overtime_from: NDArray[np.float64]
    overtime_rate: NDArray[np.float64]
    """float64 [types] each: maximum duration, cost of a unit of it, the duration after which overtime begins, and the additional
    cost of a unit of overtime.
    """
    profile: NDArray[np.int64]
    durations: NDArray[np.float64]
    """int64 [types]: the matrix of each type; float64 [P, n, n], if `has_durations`: matrices of travel times."""
    closed_start: NDArray[np.int32]
    closed: NDArray[np.float64]
    """int32 [clients + 1], float64 [.., 2]: the intervals between a client's windows, in order of time."""
    breaks_start: NDArray[np.int32]
    breaks: NDArray[np.float64]
    """int32 [types + 1], float64 [.., 3]: earliest and latest start, duration."""
    max_driving: NDArray[np.float64]
    rest_duration: NDArray[np.float64]
    """float64 [types] each: the greatest driving time without a rest, and the duration of a rest."""


class Segments(NamedTuple):
    """Forward and backward data of the current routes, F columns each: see the constants above."""

    head: NDArray[np.float64]
    """float64 [clients + slots + SCRATCH_ROWS, F]: from the depot to a node, which is included."""
    tail: NDArray[np.float64]
    """float64 [clients + slots, F]: from a node to the end of its route; for a slot's depot the end alone."""
    time_cost: NDArray[np.float64]
    """float64 [slots]: the cost of the route's duration."""
    served: NDArray[np.int32]
    """int32 [G]: how many clients of the group are served."""
    mark: NDArray[np.int64]
    """int64 [slots + 1]: the last search that considered the route; the last entry counts the searches."""
    found: NDArray[np.int32]
    """int32 [4]: the predecessors of both nodes of a shipment at the best position found."""
    sequence: NDArray[np.int32]
    """int32 [clients + 2]: the nodes of a candidate route."""
    ways: NDArray[np.float64]
    """float64 [clients + 2]: the travel times of its legs."""
    labels: NDArray[np.float64]
    """float64 [2, labels, 3]: time, remaining breaks, driving time since the last rest; the second layer marks labels to be
    dropped.
    """


def reload_nodes(instance: VrpInstance) -> NDArray[np.int64]:
    """Return int64: the depot of each reload node. A depot has as many as there can be trips after the first."""
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
    """Return bool [types, D]: whether the type may reload at the depot."""
    rules, vehicles = instance.rules, instance.vehicles
    assert rules is not None and rules.reloads is not None
    own = np.arange(instance.depots) == vehicles.start[:, None]
    return np.asarray(rules.of("reload_depots", own) & (rules.reloads > 0)[:, None])


def constraint_tables(instance: VrpInstance, owner: NDArray[np.int64]) -> ConstraintTables | None:
    """Return the side constraints as arrays; None if there are none.

    Args:
        instance: The instance.
        owner: int64 [slots], the vehicle type of each slot.
    """
    rules, vehicles, depots = instance.rules, instance.vehicles, instance.depots
    if rules is None:
        return None
    reload, types, q = reload_nodes(instance), vehicles.types, rules.dimensions
    extra = len(reload)
    nodes = instance.clients + extra
    delivery = _padded(instance, rules.of("demands", instance.demand[:, None]), extra, 0.0)
    pickup = _padded(instance, rules.of("pickups", np.zeros((instance.n, q))), extra, 0.0)
    partner, is_pickup = _shipments(instance, pickup)
    earliest, latest, leave_by, return_from = _hours(instance, owner, reload)
    service = np.zeros(instance.n) if instance.service is None else instance.service
    groups = np.full(instance.n, -1) if rules.groups is None else rules.groups
    group_required = np.zeros(0, bool) if rules.group_required is None else rules.group_required.copy()
    members = [np.flatnonzero(groups[depots:] == g) for g in range(len(group_required))]
    closed = _runs(rules.of("closed", np.zeros((0, 3))), nodes, depots)
    breaks = rules.of("breaks", np.zeros((0, 4)))
    breaks = _runs(breaks[np.lexsort((breaks[:, 1], breaks[:, 2]))], types, 0)
    has_time_costs = rules.lasting
    max_driving = rules.of("max_driving", np.full(types, np.inf))
    has_breaks = bool(len(closed[1]) or len(breaks[1]) or np.isfinite(max_driving).any())
    return ConstraintTables(
        first_reload=instance.clients,
        dimensions=q,
        timed=instance.timed or rules.release is not None or rules.shift is not None or has_time_costs or has_breaks,
        has_time_costs=has_time_costs,
        linehaul_first=rules.backhauls_last,
        has_breaks=has_breaks,
        multi_trip=extra > 0,
        has_shipments=rules.shipments is not None,
        has_groups=rules.groups is not None,
        restricted=rules.allowed is not None or extra > 0,
        has_durations=rules.durations is not None,
        delivery=delivery,
        pickup=pickup,
        pickup_only=np.asarray((pickup > 0.0).any(axis=1) & ~(delivery > 0.0).any(axis=1)),
        capacity=_eased(rules.of("capacities", np.repeat(vehicles.capacity[:, None], q, axis=1))),
        initial_load=np.array(rules.of("aboard", np.zeros((types, q)))),
        release=_padded(instance, rules.of("release", np.full(instance.n, -np.inf)), extra, -np.inf),
        earliest=earliest,
        latest=latest,
        service=np.concatenate([_padded(instance, service, extra, 0.0), np.zeros(len(owner))]),
        leave_by=leave_by,
        return_from=return_from,
        partner=partner,
        is_pickup=is_pickup,
        group=_padded(instance, groups, extra, -1).astype(np.int32),
        member_start=np.cumsum([0, *map(len, members)]).astype(np.int32),
        members=np.concatenate([np.zeros(0), *members]).astype(np.int32),
        group_required=group_required,
        allowed=_allowed(instance, reload),
        locked=_locked(instance, nodes),
        reloads=np.array(rules.of("reloads", np.zeros(types, np.int64))),
        max_duration=_eased(vehicles.max_duration),
        time_rate=np.array(rules.of("duration_cost", np.zeros(types))),
        overtime_from=np.array(rules.of("overtime_from", np.full(types, np.inf))),
        overtime_rate=np.array(rules.of("overtime_cost", np.zeros(types))),
        profile=np.array(rules.of("profile", np.zeros(types, np.int64))),
        durations=np.array(rules.of("durations", np.zeros((0, 0, 0)))),
        closed_start=closed[0],
        closed=closed[1],
        breaks_start=breaks[0],
        breaks=breaks[1],
        max_driving=_eased(max_driving),
        rest_duration=np.array(rules.of("rest", np.full(types, np.inf))),
    )


def _padded(instance: VrpInstance, values: NDArray[Any], extra: int, value: float) -> NDArray[Any]:
    """Return the clients' rows of `values`, [n, ...], then `value` for each of `extra` reload nodes: [clients + extra, ...]."""
    return np.concatenate([values[instance.depots :], np.full((extra, *values.shape[1:]), value)])


def _shipments(instance: VrpInstance, pickup: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return `partner` and `is_pickup` of the tables; write the amounts of shipments into `pickup`, in place."""
    rules, partner, is_pickup = instance.rules, np.full(len(pickup), -1, np.int32), np.zeros(len(pickup), bool)
    if rules is not None and rules.shipments is not None and rules.amounts is not None:
        start, end = (rules.shipments - instance.depots).T
        partner[start], partner[end], is_pickup[start] = end, start, True
        pickup[start], pickup[end] = rules.amounts, -rules.amounts
    return partner, is_pickup


def _allowed(instance: VrpInstance, reload: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return bool [types, clients]: whether the type may visit the node."""
    allowed = np.ones((instance.vehicles.types, instance.clients + len(reload)), bool)
    if instance.rules is not None and instance.rules.allowed is not None:
        allowed[:, : instance.clients] = instance.rules.allowed[:, instance.depots :]
    if len(reload):
        allowed[:, instance.clients :] = _reload_depots(instance)[:, reload]
    return allowed


def _locked(instance: VrpInstance, nodes: int) -> NDArray[np.bool_]:
    """Return bool [nodes]: whether the node is on a fixed beginning of a route."""
    locked = np.zeros(nodes, bool)
    for begun in (instance.rules and instance.rules.begun) or ():
        locked[begun - instance.depots] = True
    return locked


def _hours(
    instance: VrpInstance, owner: NDArray[np.int64], reload: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return (earliest, latest, leave_by, return_from) of the tables.

    The first two are float64 [clients + slots], the others float64 [types]. reload: int64, the depot of each reload node.
    """
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
    """Return a table (owner, ...) sorted by owner.

    Returns:
        int32 [owners + 1], where each owner's rows begin; float64, the rows without the owner.
    """
    order = np.argsort(table[:, 0], kind="stable")
    counts = np.bincount((table[:, 0] - least).astype(np.int64), minlength=owners)
    return np.cumsum([0, *counts]).astype(np.int32), np.ascontiguousarray(table[order, 1:])


def _eased(limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a limit that is exact for sums of integers, and tolerates rounding in other sums."""
    return np.asarray(limit + np.where(np.isfinite(limit), _EASE * np.abs(limit), 0.0))


def new_segments(rules: ConstraintTables, slots: int) -> Segments:
    """Return the segments of empty routes, to be filled by `refresh_all`."""
    nodes, places = len(rules.partner) + slots, LOADS + 3 * rules.dimensions
    return Segments(
        head=np.zeros((nodes + SCRATCH_ROWS, places)),
        tail=np.zeros((nodes, places)),
        time_cost=np.zeros(slots),
        served=np.zeros(len(rules.group_required), np.int32),
        mark=np.zeros(slots + 1, np.int64),
        found=np.zeros(4, np.int32),
        sequence=np.zeros(len(rules.partner) + 2, np.int32),
        ways=np.zeros(len(rules.partner) + 2),
        labels=np.zeros((2, _LABELS, 3)),
    )
