"""The side constraints of an instance as arrays for the kernels, and the data of route segments by which kernels check them.

A reload is a visit to a depot at which the vehicle loads again; it ends one trip and begins the next. A slot is a place for one
route (see state.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.solvers.vrp.ruin.schedule_tables import schedule_columns
from corl.solvers.vrp.ruin.structure_tables import StructureState, StructureTables, new_structure_state

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
    "new_segments",
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
