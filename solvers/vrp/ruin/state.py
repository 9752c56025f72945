"""What the kernels of ruin and recreate work on: the data of the instance, the present plan, and room for one iteration.

Nodes 0..n-1 are clients; node n + r stands for the depot of route slot r, so that a route is a ring through its own depot
node and no end of it is a special case. A slot belongs to a type of vehicle for good; slots without clients are free.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.routing.metric import Metric
from corl.solvers.vrp.ruin.terms import Segments, Terms

__all__ = [
    "BEST",
    "BLINK",
    "CURRENT",
    "DONE",
    "FOUND",
    "LOGGED",
    "MISSED",
    "OTHER",
    "REMOVED",
    "SERVED",
    "TOUCHED",
    "USED",
    "Plan",
    "RoutingData",
    "Work",
]  # fmt: skip

OTHER = -1  # RoutingData.kind
CURRENT, BEST = 0, 1  # places in Plan.value
USED, SERVED, DONE, FOUND = 0, 1, 2, 3  # places in Plan.counts
REMOVED, LOGGED, TOUCHED, BLINK, MISSED = 0, 1, 2, 3, 4  # places in Work.counts


class RoutingData(NamedTuple):
    """What does not change. Distances, times, costs and demands are as the instance holds them (times its `scale`)."""

    clients: int
    kind: int
    """The metric's, see corl.routing.metric, where routes.py has it written out; else, or where vehicles end elsewhere, OTHER."""
    slack: float
    """How far roundings may bend the triangle inequality, on both sides of it together; inf where it need not hold."""
    timed: bool
    """Whether there are time windows."""
    limited: bool
    """Whether some route has a longest length."""
    prizes: bool
    """Whether some client need not be served."""
    mixed: bool
    """Whether a unit of distance costs more than another, or not 1."""
    symmetric: bool
    metric: Metric
    place: NDArray[np.int32]
    """int32 [n + 2 slots]: a node's number in `metric`, of a slot that of its first depot; then those of the last depots."""
    points: NDArray[np.float64]
    """float64 [n + slots, 2] for Euclidean distances in the plane, rounded or not."""
    close: int
    """How many of the clients in `near` are always looked at."""
    near: NDArray[np.int32]
    """int32 [n, K]: the clients beside which a client may be inserted."""
    apart: NDArray[np.float64]
    """float64 [n, K]: distance from the client to each of them."""
    demand: NDArray[np.float64]
    """float64 [n]."""
    prize: NDArray[np.float64]
    """float64 [n]: what it costs to leave a client out; inf where it must be served."""
    earliest: NDArray[np.float64]
    latest: NDArray[np.float64]
    service: NDArray[np.float64]
    """float64 [n + slots] each where `timed`."""
    burden: NDArray[np.float64]
    """float64 [n] where `limited`: what a client adds to the length of a route, beside distance."""
    fixed: NDArray[np.float64]
    unit: NDArray[np.float64]
    longest: NDArray[np.float64]
    """float64 [types] each: what a route costs, what a unit of distance costs, and the longest length of a route."""
    windows: bool
    """Whether clients have windows, by which they may be sorted."""
    rules: Terms | None
    """Where there are any, loads and times are in them, and `timed` is false."""


class Plan(NamedTuple):
    """The present routes and the best ones."""

    next: NDArray[np.int32]
    prev: NDArray[np.int32]
    route: NDArray[np.int32]
    """int32 [n + slots]: the slot of a node's route, -1 for a client without one."""
    leg: NDArray[np.float64]
    """float64 [n + slots]: distance from a node to the next."""
    begin: NDArray[np.float64]
    last: NDArray[np.float64]
    """float64 [n + slots] where timed: the earliest and the latest start of service (of a depot: departure, return)."""
    room: NDArray[np.float64]
    length: NDArray[np.float64]
    size: NDArray[np.int32]
    type: NDArray[np.int32]
    """[slots] each: load that still fits, length (and burdens), number of clients, type of vehicle."""
    free: NDArray[np.int32]
    """int32 [slots]: a stack of free slots for each type, at the places of that type's slots."""
    free_size: NDArray[np.int32]
    """int32 [types]."""
    first: NDArray[np.int32]
    """int32 [types]: where in `free` the stack of a type begins."""
    value: NDArray[np.float64]
    """float64 [2]: CURRENT and BEST cost."""
    counts: NDArray[np.int64]
    """int64 [4]: routes USED, clients SERVED, iterations DONE, times that a best was FOUND."""
    best: NDArray[np.int32]
    """int32 [n]: `prev` of the clients in the best plan (of one without a route: -1)."""
    segments: Segments | None
    """Where there are rules."""


class Work(NamedTuple):
    """Room for one iteration."""

    random: NDArray[np.uint64]
    counts: NDArray[np.int64]
    """int64 [5]: clients REMOVED, changes LOGGED, routes TOUCHED, positions to go before the next BLINK, clients MISSED."""
    removed: NDArray[np.int32]
    key: NDArray[np.float64]
    """[2 n] each: clients to be inserted, and what they are sorted by."""
    client: NDArray[np.int32]
    after: NDArray[np.int32]
    slot: NDArray[np.int32]
    room: NDArray[np.float64]
    length: NDArray[np.float64]
    """[3 n] each, the log: a client, the node it stood behind (-1: it was inserted), the slot, and what the slot's
    room and length were before."""
    touched: NDArray[np.int32]
    """int32 [3 n]: slots, maybe more than once."""
    stamp: NDArray[np.int64]
    """int64 [slots]: the last iteration that took a string out of it."""
