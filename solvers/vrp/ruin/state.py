"""Data structures of ruin and recreate: the instance as arrays, the current and the best routes, and the log of one iteration.

In the shapes, n is the number of clients, including reload nodes (visits to a depot between two trips of a vehicle).

A slot is a place for one route, and belongs to one vehicle type; a slot whose route has no clients is free. Nodes 0..n-1 are
clients, and node n + r is the depot of slot r. A route is a ring through the depot node of its slot, so that the first and the
last client need no special case.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.routing.metric import Metric
from corl.solvers.vrp.ruin.constraint_tables import ConstraintTables, Segments

__all__ = [
    "BEST",
    "BLINK",
    "CURRENT",
    "DONE",
    "IMPROVED",
    "LOGGED",
    "OTHER",
    "REMOVED",
    "SERVED",
    "TOUCHED",
    "UNSERVED",
    "USED",
    "Plan",
    "RoutingData",
    "Work",
]  # fmt: skip

OTHER = -1  # value of RoutingData.kind for distances that routes.py does not compute itself
CURRENT, BEST = 0, 1  # indices of Plan.cost
USED, SERVED, DONE, IMPROVED = 0, 1, 2, 3  # indices of Plan.counts
REMOVED, LOGGED, TOUCHED, BLINK, UNSERVED = 0, 1, 2, 3, 4  # indices of Work.counts


class RoutingData(NamedTuple):
    """The constant data of an instance. Distances, times, costs and demands are in the instance's units (times its `scale`)."""

    clients: int
    """n, the number of clients, including reload nodes."""
    kind: int
    """The metric's kind if routes.py computes its distances itself, otherwise OTHER. It is OTHER, too, if some vehicle ends its
    routes at another depot than it starts from.
    """
    slack: float
    """The most by which rounding may violate the triangle inequality (the rounding errors of all three distances together); inf
    if distances need not satisfy the inequality.
    """
    timed: bool
    """Whether there are time windows and no side constraints: `Plan.earliest_start` and `Plan.latest_start` then check the
    windows. With side constraints, the segments check them.
    """
    limited: bool
    """Whether some vehicle type has a maximum length of its routes."""
    has_optional: bool
    """Whether some client may stay unserved."""
    mixed: bool
    """Whether a unit of distance costs something else than 1 for some vehicle type."""
    symmetric: bool
    """Whether the distance from i to j equals the distance from j to i."""
    metric: Metric
    metric_node: NDArray[np.int32]
    """int32 [n + 2 slots]: the number in `metric` of each client, then of each slot's first depot, then of each slot's last depot
    (-1 if the vehicle does not return).
    """
    points: NDArray[np.float64]
    """float64 [n + slots, 2]: coordinates if `kind` is EUCLIDEAN, ROUNDED or TENTHS; empty for other kinds."""
    near_count: int
    """The number of leading columns of `near` that every insertion considers."""
    near: NDArray[np.int32]
    """int32 [n, K]: for each client, the clients next to which it may be inserted."""
    near_distance: NDArray[np.float64]
    """float64 [n, K]: the distance from the client to each client in `near`."""
    demand: NDArray[np.float64]
    """float64 [n]."""
    prize: NDArray[np.float64]
    """float64 [n]: the penalty for not serving a client; inf if the client must be served."""
    earliest: NDArray[np.float64]
    """float64 [n + slots], if `windows`: the earliest start of service; for a slot, the earliest departure."""
    latest: NDArray[np.float64]
    """float64 [n + slots], if `windows`: the latest start of service; for a slot, the latest return."""
    service: NDArray[np.float64]
    """float64 [n + slots], if `timed`: the service time."""
    added_length: NDArray[np.float64]
    """float64 [n], if `limited`: what a client adds to the length of its route besides distance (its service time, if durations
    are limited).
    """
    fixed_cost: NDArray[np.float64]
    """float64 [types]: the cost of using a vehicle."""
    unit_cost: NDArray[np.float64]
    """float64 [types]: the cost of a unit of distance."""
    max_length: NDArray[np.float64]
    """float64 [types]: the maximum length of a route."""
    windows: bool
    """Whether clients have time windows, with or without side constraints; insertion may then sort clients by their windows."""
    rules: ConstraintTables | None
    """The side constraints, or None. If there are any, loads and times are in these tables, and `timed` is False."""


class Plan(NamedTuple):
    """The current routes, and the best ones."""

    next: NDArray[np.int32]
    """int32 [n + slots]: the next node in the ring."""
    prev: NDArray[np.int32]
    """int32 [n + slots]: the previous node in the ring; -1 for an unserved client."""
    route: NDArray[np.int32]
    """int32 [n + slots]: the slot of the node's route; -1 for an unserved client."""
    leg: NDArray[np.float64]
    """float64 [n + slots]: the distance from a node to the next."""
    earliest_start: NDArray[np.float64]
    """float64 [n + slots], if `timed`: the earliest start of service that the visits before it allow; for a depot, the earliest
    departure.
    """
    latest_start: NDArray[np.float64]
    """float64 [n + slots], if `timed`: the latest start of service that the visits after it allow; for a depot, the latest
    return.
    """
    spare_capacity: NDArray[np.float64]
    """float64 [slots]: the vehicle's capacity minus its load; inf with side constraints."""
    length: NDArray[np.float64]
    """float64 [slots], if `limited`: the length of the route, that is, its distance and the `added_length` of its clients."""
    size: NDArray[np.int32]
    """int32 [slots]: the number of clients of the route."""
    type: NDArray[np.int32]
    """int32 [slots]: the vehicle type."""
    free: NDArray[np.int32]
    """int32 [slots]: for each vehicle type, a stack of its free slots."""
    free_size: NDArray[np.int32]
    """int32 [types]: the height of each stack."""
    stack_start: NDArray[np.int32]
    """int32 [types]: the index in `free` at which each stack begins."""
    cost: NDArray[np.float64]
    """float64 [2]: the costs of the CURRENT and the BEST solution."""
    counts: NDArray[np.int64]
    """int64 [4]: routes USED, clients SERVED, iterations DONE, how often the best solution was IMPROVED."""
    best: NDArray[np.int32]
    """int32 [n]: the previous node of each client in the best solution, as in `prev`."""
    segments: Segments | None
    """Forward and backward data of the current routes, if there are side constraints."""


class Work(NamedTuple):
    """Arrays that an iteration overwrites: the clients that it removes, and a log of its changes, by which it can be undone."""

    random: NDArray[np.uint64]
    """uint64 [1]: the state of the random number generator (corl.rng)."""
    counts: NDArray[np.int64]
    """int64 [5]: clients REMOVED, changes LOGGED, routes TOUCHED, clients UNSERVED, and the number of positions until the next
    BLINK, that is, until insertion skips a position at random.
    """
    removed: NDArray[np.int32]
    """int32 [2 n]: the removed clients, which are to be inserted again."""
    key: NDArray[np.float64]
    """float64 [2 n]: the sort keys of the removed clients; with side constraints, the last entry holds the cost that
    `recreate.best_position` found.
    """
    client: NDArray[np.int32]
    """int32 [5 n]: the client of each logged change."""
    after: NDArray[np.int32]
    """int32 [5 n]: for a removal, the predecessor that the client had; -1 for an insertion."""
    slot: NDArray[np.int32]
    """int32 [5 n]: the slot of each logged change."""
    spare_capacity: NDArray[np.float64]
    """float64 [5 n]: the slot's spare capacity before the change."""
    length: NDArray[np.float64]
    """float64 [5 n]: the slot's route length before the change."""
    touched: NDArray[np.int32]
    """int32 [5 n]: slots whose routes changed; a slot may be listed more than once."""
    stamp: NDArray[np.int64]
    """int64 [slots]: the last iteration that removed a string (consecutive clients) from the slot's route."""
