"""Data structures of ruin and recreate: the instance as arrays, the current and best routes, and scratch arrays of one iteration.

In the shapes, n is the number of clients, reload nodes included. Nodes 0..n-1 are clients; node n + r is the depot of route slot
r, so that a route is a ring through its own depot node, and its ends are no special case. Each slot belongs to one vehicle type;
slots without clients are free.
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

OTHER = -1  # RoutingData.kind: the distance is not written out in routes.py
CURRENT, BEST = 0, 1  # indices of Plan.cost
USED, SERVED, DONE, IMPROVED = 0, 1, 2, 3  # indices of Plan.counts
REMOVED, LOGGED, TOUCHED, BLINK, UNSERVED = 0, 1, 2, 3, 4  # indices of Work.counts


class RoutingData(NamedTuple):
    """The constant data of an instance. Distances, times, costs and demands are in the instance's units (times its `scale`)."""

    clients: int
    kind: int
    """The metric's kind, if routes.py has its distance written out; OTHER for the rest, and if routes end at another place than
    they start.
    """
    slack: float
    """By how much rounding may violate the triangle inequality, both of its sides together; inf if it need not hold."""
    timed: bool
    """Whether there are time windows that `Plan.earliest_start` and `Plan.latest_start` check."""
    limited: bool
    """Whether some vehicle type has a maximum length of its routes."""
    has_optional: bool
    """Whether some client may stay unserved."""
    mixed: bool
    """Whether the cost of a unit of distance is not 1 for every type."""
    symmetric: bool
    metric: Metric
    metric_node: NDArray[np.int32]
    """int32 [n + 2 slots]: the node's number in `metric`; for a slot that of its first depot; then, for each slot, that of its
    last depot.
    """
    points: NDArray[np.float64]
    """float64 [n + slots, 2]: coordinates for Euclidean distances in the plane, rounded or not; empty for other kinds."""
    near_count: int
    """The number of leading columns of `near` that every insertion considers."""
    near: NDArray[np.int32]
    """int32 [n, K]: for each client the clients next to which it may be inserted."""
    near_distance: NDArray[np.float64]
    """float64 [n, K]: the distance from the client to each of them."""
    demand: NDArray[np.float64]
    """float64 [n]."""
    prize: NDArray[np.float64]
    """float64 [n]: the penalty for not serving a client; inf if it must be served."""
    earliest: NDArray[np.float64]
    latest: NDArray[np.float64]
    service: NDArray[np.float64]
    """float64 [n + slots] each if `timed`."""
    added_length: NDArray[np.float64]
    """float64 [n] if `limited`: what a client adds to the length of its route besides distance (its service time, if durations
    are limited).
    """
    fixed_cost: NDArray[np.float64]
    unit_cost: NDArray[np.float64]
    max_length: NDArray[np.float64]
    """float64 [types] each: cost of a route, cost of a unit of distance, maximum length of a route."""
    windows: bool
    """Whether clients have time windows, by which insertion orders may sort them."""
    rules: ConstraintTables | None
    """The side constraints, if there are any: loads and times are then in them, and `timed` is false."""


class Plan(NamedTuple):
    """The current routes, and the best ones."""

    next: NDArray[np.int32]
    prev: NDArray[np.int32]
    route: NDArray[np.int32]
    """int32 [n + slots] each: the next and the previous node, and the slot of the node's route; -1 for an unserved client."""
    leg: NDArray[np.float64]
    """float64 [n + slots]: the distance from a node to the next."""
    earliest_start: NDArray[np.float64]
    latest_start: NDArray[np.float64]
    """float64 [n + slots] each if timed: the earliest and the latest start of service (for a depot: of the departure, of the
    return).
    """
    spare_capacity: NDArray[np.float64]
    length: NDArray[np.float64]
    size: NDArray[np.int32]
    type: NDArray[np.int32]
    """[slots] each: spare capacity, length (distance and `added_length`), number of clients, vehicle type."""
    free: NDArray[np.int32]
    """int32 [slots]: a stack of free slots for each type."""
    free_size: NDArray[np.int32]
    """int32 [types]: the height of each stack."""
    stack_start: NDArray[np.int32]
    """int32 [types]: the index of each stack in `free`."""
    cost: NDArray[np.float64]
    """float64 [2]: the costs of the CURRENT and the BEST solution."""
    counts: NDArray[np.int64]
    """int64 [4]: routes USED, clients SERVED, iterations DONE, how often the best solution was IMPROVED."""
    best: NDArray[np.int32]
    """int32 [n]: `prev` of the clients in the best solution; -1 for unserved ones."""
    segments: Segments | None
    """Forward and backward data of the current routes, if there are side constraints."""


class Work(NamedTuple):
    """Scratch arrays of one iteration."""

    random: NDArray[np.uint64]
    counts: NDArray[np.int64]
    """int64 [5]: clients REMOVED, changes LOGGED, routes TOUCHED, positions until the next BLINK, clients UNSERVED."""
    removed: NDArray[np.int32]
    key: NDArray[np.float64]
    """[2 n] each: clients to be inserted, and their sort keys."""
    client: NDArray[np.int32]
    after: NDArray[np.int32]
    slot: NDArray[np.int32]
    spare_capacity: NDArray[np.float64]
    length: NDArray[np.float64]
    """[3 n] each, the log of changes: the client, its predecessor before it was removed (-1: it was inserted), the slot, and the
    slot's spare capacity and length before the change.
    """
    touched: NDArray[np.int32]
    """int32 [3 n]: slots that were changed; one may be listed more than once."""
    stamp: NDArray[np.int64]
    """int64 [slots]: the last iteration that removed a string from the slot's route."""
