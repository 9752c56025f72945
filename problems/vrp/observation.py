"""What is observed of a partial solution: the reduced state of BQ-NCO, in the instance's units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.vrp.transitions import State, at_depot, look, under_way
from corl.routing.graph_pool import distances_between, graph_metric
from corl.routing.metric import distance

__all__ = ["Seen", "describe"]


class Seen(NamedTuple):
    """R rows of K action slots, then the origin (where the vehicle is) and the depot: K + 2 slots. Zero in empty slots."""

    clients: NDArray[np.int32]
    """[R, K + 2] nodes; -1 in empty slots; the depot also in the slot of action 0."""
    mask: NDArray[np.bool_]
    """[R, K + 2] whether a slot is taken."""
    fresh: NDArray[np.bool_]
    """[R, K] whether an action goes home first."""
    distances: NDArray[np.float64]
    """[R, K + 2, K + 2] from slot to slot."""
    cost: NDArray[np.float64]
    """[R, K] what an action costs, prizes not counted."""
    demand: NDArray[np.float64]
    """[R, K + 2] as a share of the capacity (0 where that is unlimited)."""
    room: NDArray[np.float64]
    """[R] what the vehicle under way may still carry, as a share of the capacity."""
    rest: NDArray[np.float64]
    """[R] the demand of all unvisited clients, likewise."""
    prize: NDArray[np.float64]
    """[R, K + 2]"""
    required: NDArray[np.bool_]
    """[R, K + 2]"""
    wait: NDArray[np.float64]
    """[R, K] how long the vehicle would wait at the client."""
    slack: NDArray[np.float64]
    """[R, K] how much later its service could begin by its window; inf without."""
    service: NDArray[np.float64]
    """[R, K + 2]"""
    left: NDArray[np.float64]
    """[R, 2] the distance and the time that the vehicle under way has left, the way home not counted; inf without limits."""
    remaining: NDArray[np.int32]
    """[R] unvisited clients."""
    timed: NDArray[np.bool_]
    """[R] whether there are windows."""

    @classmethod
    def empty(cls, rows: int, width: int) -> Seen:
        """For so many rows, nothing in them yet."""
        slots = width + 2
        return cls(
            np.full((rows, slots), -1, np.int32), np.zeros((rows, slots), bool), np.zeros((rows, width), bool),
            np.zeros((rows, slots, slots)), np.zeros((rows, width)), np.zeros((rows, slots)), np.zeros(rows), np.zeros(rows),
            np.zeros((rows, slots)), np.zeros((rows, slots), bool), np.zeros((rows, width)), np.zeros((rows, width)),
            np.zeros((rows, slots)), np.zeros((rows, 2)), np.zeros(rows, np.int32), np.zeros(rows, bool),
        )  # fmt: skip


@kernel
def describe(state: State, rows: Any, actions: Any, seen: Any) -> None:
    """Fill `seen` for `rows` [R], whose `actions` [R, K] are listed."""
    k = actions.shape[1]
    for r in range(len(rows)):
        row = rows[r]
        instance, t = state.instance[row], state.visited[row]
        n, first, capacity = state.graphs.size[instance], state.graphs.first[instance], state.limits[instance, 0]
        count = 0
        while count < k and actions[r, count] >= 0:
            count += 1
        origin = state.order[row, t - 1] if t > 0 else 0
        for i in range(count):
            seen.fresh[r, i] = actions[r, i] >= n
            seen.clients[r, i] = actions[r, i] - n if actions[r, i] >= n else actions[r, i]
        seen.clients[r, k], seen.clients[r, k + 1] = origin, 0
        seen.remaining[r] = n - 1 - t
        for client in state.order[row, t : n - 1]:
            seen.rest[r] += state.demand[first + client] / capacity
        for i in range(k + 2):
            node = seen.clients[r, i]
            if node < 0:
                continue
            seen.mask[r, i] = True
            seen.demand[r, i] = state.demand[first + node] / capacity
            seen.prize[r, i], seen.required[r, i] = state.prize[first + node], state.required[first + node]
            seen.service[r, i] = state.service[first + node]
        _actions_in_detail(state, row, origin, seen, r, count)
        distances_between(graph_metric(state.graphs, instance), seen.clients[r], seen.distances[r])


@kernel
def _actions_in_detail(state: Any, row: Any, origin: Any, seen: Any, r: Any, count: Any) -> None:
    """Costs, waiting and slack of a row's actions, and what the vehicle under way has left."""
    instance = state.instance[row]
    first, limits, metric = state.graphs.first[instance], state.limits[instance], graph_metric(state.graphs, instance)
    new = at_depot(state, instance)
    at = under_way(state, row) if origin > 0 else new
    home = distance(metric, origin, 0) if origin > 0 else 0.0
    seen.room[r] = 1.0 - at.load / limits[0]
    seen.left[r, 0] = limits[1] - at.distance - home
    seen.left[r, 1] = min(limits[2] - at.busy, state.latest[first] - at.ready) - home
    seen.timed[r] = state.latest[first] < np.inf
    for i in range(count):
        client = seen.clients[r, i]
        if client == 0:
            seen.cost[r, i] = limits[4] * home
            continue
        begins = seen.fresh[r, i] or origin == 0
        start = 0 if begins else origin
        before = new if begins else at
        way = distance(metric, start, client)
        _, after = look(state, instance, metric, start, before, client)
        length = way + (home if seen.fresh[r, i] else 0.0)
        seen.cost[r, i] = limits[4] * length + (limits[3] if begins else 0.0)
        begin = after.ready - state.service[first + client]
        seen.wait[r, i] = begin - before.ready - way
        seen.slack[r, i] = state.latest[first + client] - begin
