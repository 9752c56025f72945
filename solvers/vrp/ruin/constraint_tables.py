"""The side constraints of an instance as arrays for the kernels, and the data of route segments by which kernels check them.

A reload is a visit to a depot at which the vehicle loads again; it ends one trip and begins the next. A slot is a place for one
route (see state.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.solvers.vrp.ruin.schedule_tables import schedule_columns, schedule_tables
from corl.solvers.vrp.ruin.structure_tables import StructureState, StructureTables, new_structure_state, structure_tables
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

# Columns of `Segments.head` and `Segments.tail`. Times are three columns: duration, earliest start, latest start.
BEFORE = AFTER = 0  # times of the trips before the current one (head) or after it (tail)
TRIP = 3  # times of the current trip, from its depot (head) or to its depot (tail)
RELEASE = 6  # the latest release time of the current trip's clients
RELOADS = 7  # the number of reloads
DELIVERS, COLLECTS = 8, 9  # if `linehaul_first`: 1 if the current trip delivers, or collects, something; otherwise 0
OPEN = 10  # pickups minus deliveries of shipments; not 0 in a complete route that is invalid
LATE = 11  # the sum of lateness
LOADS = 12  # 3 columns for each dimension of load, of the current trip: delivered, collected, greatest load on board
SCRATCH_ROWS = 4  # additional rows of `Segments.head`, for candidate routes

_EASE = 0.25 * LIMIT  # relative tolerance of limits: a quarter of the judge's
_LABELS = 48  # greatest number of labels, that is, of break schedules that breaks.py follows at once


class ConstraintTables(NamedTuple):
    """The side constraints. Nodes are numbered as in state.py. In the shapes, `clients` counts clients and reload nodes."""

    first_reload: int
    """The number of clients, not counting reload nodes. Node i is a reload node if first_reload <= i < clients."""
    dimensions: int
    """Q, the number of dimensions of load."""
    timed: bool
    """Whether there are windows, release times, shifts, maximum durations or costs of time."""
    has_time_costs: bool
    """Whether the duration of a route costs something."""
    linehaul_first: bool
    """Whether a trip delivers everything before it collects anything."""
    has_breaks: bool
    """Whether there are breaks, rests, or several windows of a client: breaks.py then checks routes, too."""
    multi_trip: bool
    """Whether some vehicle may reload."""
    has_shipments: bool
    """Whether some load is picked up at one client and delivered to another."""
    has_groups: bool
    """Whether there are groups of clients of which at most one is served."""
    restricted: bool
    """Whether some vehicle type may not visit some node: see `allowed`."""
    has_durations: bool
    """Whether travel times differ from distances."""
    delivery: NDArray[np.float64]
    """float64 [clients, Q]: the load delivered to the client."""
    pickup: NDArray[np.float64]
    """float64 [clients, Q]: the load collected at the client. At the first node of a shipment, its amount; at its second
    node, minus its amount.
    """
    pickup_only: NDArray[np.bool_]
    """bool [clients]: whether something is collected and nothing delivered."""
    capacity: NDArray[np.float64]
    """float64 [types, Q]: the capacity."""
    initial_load: NDArray[np.float64]
    """float64 [types, Q]: the load on board at the start."""
    release: NDArray[np.float64]
    """float64 [clients]: release time; -inf if there is none."""
    earliest: NDArray[np.float64]
    """float64 [clients + slots]: the earliest start of service; for a slot the first departure."""
    latest: NDArray[np.float64]
    """float64 [clients + slots]: the latest start of service; for a slot the last return."""
    service: NDArray[np.float64]
    """float64 [clients + slots]: the service time; 0 for a slot."""
    leave_by: NDArray[np.float64]
    """float64 [types]: the last departure."""
    return_from: NDArray[np.float64]
    """float64 [types]: the first time at which the depot is open for a return; a vehicle that is back earlier waits."""
    partner: NDArray[np.int32]
    """int32 [clients]: the other node of the node's shipment; -1 if the node belongs to none."""
    is_pickup: NDArray[np.bool_]
    """bool [clients]: whether a shipment is picked up at the node."""
    group: NDArray[np.int32]
    """int32 [clients]: the client's group; -1 if it belongs to none."""
    member_start: NDArray[np.int32]
    """int32 [G + 1]: the clients of group g are members[member_start[g] : member_start[g + 1]]."""
    members: NDArray[np.int32]
    """int32 [sum of the groups' sizes]: the clients of all groups, group by group."""
    group_required: NDArray[np.bool_]
    """bool [G]: whether one client of the group must be served."""
    allowed: NDArray[np.bool_]
    """bool [types, clients], if `restricted`: whether the type may serve the client or, for a reload node, reload there."""
    locked: NDArray[np.bool_]
    """bool [clients]: whether the client belongs to the fixed beginning of a route."""
    reloads: NDArray[np.int64]
    """int64 [types]: the greatest number of reloads of a route."""
    max_duration: NDArray[np.float64]
    """float64 [types]: the maximum duration of a route."""
    time_rate: NDArray[np.float64]
    """float64 [types]: the cost of a unit of duration."""
    overtime_from: NDArray[np.float64]
    """float64 [types]: the duration after which overtime begins."""
    overtime_rate: NDArray[np.float64]
    """float64 [types]: the additional cost of a unit of overtime."""
    profile: NDArray[np.int64]
    """int64 [types]: the index of the type's matrix in `durations`."""
    durations: NDArray[np.float64]
    """float64 [P, N, N], if `has_durations`: matrices of travel times between the instance's N nodes (depots, then clients)."""
    closed_start: NDArray[np.int32]
    """int32 [clients + 1]: the rows of node i in `closed` are closed_start[i] : closed_start[i + 1]."""
    closed: NDArray[np.float64]
    """float64 [rows, 2]: begin and end of the intervals between a client's windows, in order of time."""
    breaks_start: NDArray[np.int32]
    """int32 [types + 1]: the rows of type t in `breaks` are breaks_start[t] : breaks_start[t + 1]."""
    breaks: NDArray[np.float64]
    """float64 [rows, 3]: earliest start, latest start and duration of a break."""
    max_driving: NDArray[np.float64]
    """float64 [types]: the greatest driving time without a rest."""
    rest_duration: NDArray[np.float64]
    """float64 [types]: the duration of a rest; inf if the type takes none."""
    # ---------------------------------------------------------------- soft windows and travel times by the hour (schedules.py)
    has_schedule: bool
    """Whether there are soft windows or travel times by the hour. schedules.py then checks all times, and `timed` is False."""
    has_soft_windows: bool
    """Whether some service costs more outside its soft window."""
    hourly: bool
    """Whether travel times depend on the hour."""
    hourly_matrices: bool
    """Whether there is a matrix of travel times for each period: `period_durations`; otherwise `speed_factors` apply."""
    schedule_column: int
    """The column of segments at which the points of schedule_points.py begin."""
    schedule_width: int
    """The number of points for which a row of segments has room."""
    schedule_points: int
    """The greatest number of points of a function; a row has room for more while it is computed."""
    last_event: float
    """The last of all finite times of windows and periods: to depart later is never better."""
    schedule_rate: NDArray[np.float64]
    """float64 [types]: the cost of a unit of time in the functions: that of the duration; without soft windows 1, or 0 if
    durations neither cost anything nor are limited.
    """
    soft_begin: NDArray[np.float64]
    """float64 [clients]: the begin of the soft window."""
    soft_end: NDArray[np.float64]
    """float64 [clients]: the end of the soft window."""
    early_rate: NDArray[np.float64]
    """float64 [clients]: the cost of a unit of time before the soft window; 0 if it begins at 0."""
    late_rate: NDArray[np.float64]
    """float64 [clients]: the cost of a unit of time after the soft window; 0 if it never ends."""
    period_starts: NDArray[np.float64]
    """float64 [H]: when each period begins."""
    speed_factors: NDArray[np.float64]
    """float64 [types, H]: the speed of a type in each period, as a multiple of that of `durations` or distances."""
    period_durations: NDArray[np.float64]
    """float64 [H, N, N], if `hourly_matrices`: the travel times between the instance's N nodes in each period."""
    structure: StructureTables
    """Clusters, balance and rosters."""


class Segments(NamedTuple):
    """Data of the current routes, from their beginnings (heads) and to their ends (tails), in the F columns defined above."""

    head: NDArray[np.float64]
    """float64 [clients + slots + SCRATCH_ROWS, F]: the part of a route from its depot up to and including a node."""
    tail: NDArray[np.float64]
    """float64 [clients + slots, F]: the part of a route from a node to its end; for the depot of a slot, the return alone."""
    time_cost: NDArray[np.float64]
    """float64 [slots]: the cost of the route's duration."""
    served: NDArray[np.int32]
    """int32 [G]: the number of served clients of the group."""
    mark: NDArray[np.int64]
    """int64 [slots + 1]: the number of the last search for a shipment's position that considered the slot's route; the last entry
    is the number of searches so far.
    """
    found: NDArray[np.int32]
    """int32 [4]: the first two entries are the predecessors of a shipment's two nodes at the best position found."""
    sequence: NDArray[np.int32]
    """int32 [clients + 2]: the nodes of a candidate route."""
    travel_times: NDArray[np.float64]
    """float64 [clients + 2]: the travel times of the legs of the candidate route."""
    labels: NDArray[np.float64]
    """float64 [2, labels, 3]: [0] holds the labels of breaks.py (time, remaining breaks, driving time since the last rest);
    [1, :, 0] is 1 for labels that are to be dropped.
    """
    structure: StructureState
    """The state of clusters, balance and rosters."""


def reload_nodes(instance: VrpInstance) -> NDArray[np.int64]:
    """Return int64 [reload nodes]: the depot of each reload node. A depot has one for each reload that routes can make there."""
    rules, vehicles = instance.rules, instance.vehicles
    if rules is None or rules.reloads is None or not rules.reloads.any():
        return np.zeros(0, np.int64)
    count = np.where(vehicles.count < 0, instance.clients, np.minimum(vehicles.count, instance.clients))
    nodes = []
    for depot, types in enumerate(_reload_depots(instance).T):
        max_reloads = min(instance.clients, int((np.minimum(rules.reloads, instance.clients) * count)[types].sum()))
        nodes.append(np.full(max_reloads, depot))
    return np.concatenate(nodes).astype(np.int64)


def _reload_depots(instance: VrpInstance) -> NDArray[np.bool_]:
    """Return bool [types, D]: whether the type may reload at the depot."""
    rules, vehicles = instance.rules, instance.vehicles
    assert rules is not None and rules.reloads is not None
    start_depot = np.arange(instance.depots) == vehicles.start[:, None]
    return np.asarray(rules.of("reload_depots", start_depot) & (rules.reloads > 0)[:, None])


def constraint_tables(instance: VrpInstance, owner: NDArray[np.int64]) -> ConstraintTables | None:
    """Return the side constraints as arrays; None if the instance has none.

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
    closed = _grouped_rows(rules.of("closed", np.zeros((0, 3))), nodes, depots)
    breaks = rules.of("breaks", np.zeros((0, 4)))
    breaks = _grouped_rows(breaks[np.lexsort((breaks[:, 1], breaks[:, 2]))], types, 0)
    has_time_costs = rules.prices_times
    max_driving = rules.of("max_driving", np.full(types, np.inf))
    has_breaks = bool(len(closed[1]) or len(breaks[1]) or np.isfinite(max_driving).any())
    return ConstraintTables(
        first_reload=instance.clients,
        dimensions=q,
        timed=not (rules.hourly or rules.soft_windows is not None)
        and (
            instance.timed
            or rules.release is not None
            or rules.shift is not None
            or has_time_costs
            or has_breaks
            or rules.measures_duration
        ),
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
        capacity=_with_tolerance(rules.of("capacities", np.repeat(vehicles.capacity[:, None], q, axis=1))),
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
        max_duration=_with_tolerance(vehicles.max_duration),
        time_rate=np.array(rules.of("duration_cost", np.zeros(types))),
        overtime_from=np.array(rules.of("overtime_from", np.full(types, np.inf))),
        overtime_rate=np.array(rules.of("overtime_cost", np.zeros(types))),
        profile=np.array(rules.of("profile", np.zeros(types, np.int64))),
        durations=np.array(rules.of("durations", np.zeros((0, 0, 0)))),
        closed_start=closed[0],
        closed=closed[1],
        breaks_start=breaks[0],
        breaks=breaks[1],
        max_driving=_with_tolerance(max_driving),
        rest_duration=np.array(rules.of("rest", np.full(types, np.inf))),
        **schedule_tables(instance, rules, extra, LOADS + 3 * q),
        structure=structure_tables(instance, owner, nodes),
    )


def _padded(instance: VrpInstance, values: NDArray[Any], extra: int, value: float) -> NDArray[Any]:
    """Return the clients' rows of `values`, [depots + clients, ...], then `extra` rows with `value`, for reload nodes."""
    return np.concatenate([values[instance.depots :], np.full((extra, *values.shape[1:]), value)])


def _shipments(instance: VrpInstance, pickup: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return `ConstraintTables.partner` and `is_pickup`; write the amounts of shipments to `pickup`, in place."""
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
    """Return bool [nodes]: whether the node belongs to the fixed beginning of a route."""
    locked = np.zeros(nodes, bool)
    for begun in (instance.rules and instance.rules.begun) or ():
        locked[begun - instance.depots] = True
    return locked


def _hours(
    instance: VrpInstance, owner: NDArray[np.int64], reload: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return `earliest`, `latest`, `leave_by` and `return_from` of `ConstraintTables`.

    Args:
        instance: The instance.
        owner: int64 [slots], the vehicle type of each slot.
        reload: int64 [reload nodes], the depot of each reload node.
    """
    rules, vehicles = instance.rules, instance.vehicles
    assert rules is not None
    opens = np.zeros(instance.n) if instance.earliest is None else instance.earliest
    closes = np.full(instance.n, np.inf) if instance.latest is None else _with_tolerance(instance.latest)
    leave_from, return_by, return_from = opens[vehicles.start], closes[vehicles.end], opens[vehicles.end]
    if rules.stays_out is not None:
        return_by, return_from = np.where(rules.stays_out, np.inf, return_by), np.where(rules.stays_out, 0.0, return_from)
    if rules.shift is not None:
        leave_from = np.maximum(leave_from, rules.shift[:, 0])
        return_by = np.minimum(return_by, _with_tolerance(rules.shift[:, 1]))
    clients = slice(instance.depots, None)
    return (
        np.concatenate([opens[clients], opens[reload], leave_from[owner]]),
        np.concatenate([closes[clients], closes[reload], return_by[owner]]),
        closes[vehicles.start],
        return_from,
    )


def _grouped_rows(table: NDArray[np.float64], owners: int, first_owner: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Group the rows of a table by their owner.

    Args:
        table: float64 [rows, 1 + k], the owner of each row, then the row's values.
        owners: The number of owners.
        first_owner: The number of the first owner.

    Returns:
        starts: int32 [owners + 1], the rows of owner i in `values` are starts[i] : starts[i + 1].
        values: float64 [rows, k], the values, sorted by owner.
    """
    order = np.argsort(table[:, 0], kind="stable")
    counts = np.bincount((table[:, 0] - first_owner).astype(np.int64), minlength=owners)
    return np.cumsum([0, *counts]).astype(np.int32), np.ascontiguousarray(table[order, 1:])


def _with_tolerance(limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return limits, float64, with a tolerance for rounding in sums; too small to matter if all values are integers."""
    return np.asarray(limit + np.where(np.isfinite(limit), _EASE * np.abs(limit), 0.0))


def new_segments(rules: ConstraintTables, slots: int) -> Segments:
    """Return the segments of empty routes, to be filled by `refresh_all`."""
    nodes, columns = len(rules.partner) + slots, LOADS + 3 * rules.dimensions + schedule_columns(rules.schedule_width)
    return Segments(
        head=np.zeros((nodes + SCRATCH_ROWS, columns)),
        tail=np.zeros((nodes, columns)),
        time_cost=np.zeros(slots),
        served=np.zeros(len(rules.group_required), np.int32),
        mark=np.zeros(slots + 1, np.int64),
        found=np.zeros(4, np.int32),
        sequence=np.zeros(len(rules.partner) + 2, np.int32),
        travel_times=np.zeros(len(rules.partner) + 2),
        labels=np.zeros((2, _LABELS, 3)),
        structure=new_structure_state(rules.structure, len(rules.partner), slots),
    )
