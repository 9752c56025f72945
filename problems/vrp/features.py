"""Features of a partial solution: distances, what a vehicle has left, windows and prizes.

Everything is in units of the distances shown, so that the features do not change when the plane is rotated, moved or scaled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.vrp.transitions import (
    CAPACITY,
    DISTANCE,
    DURATION,
    ROUTE_COST,
    UNIT_COST,
    State,
    at_depot,
    serve,
    vehicle_position,
)
from corl.routing.graph_pool import distances_between, graph_metric
from corl.routing.metric import distance
from corl.tokens import Tokens

__all__ = ["PAIRS", "TOKENS", "Observation", "observe", "routes"]

TOKENS = 27
"""F: features of a token, in the order of `_columns`."""
PAIRS = 3
"""P: features of a pair of tokens: both distances, and whether they are the same node."""


class Observation(NamedTuple):
    """R rows of K action slots, then the origin (where the vehicle is) and the depot: K + 2 slots. Zero in empty slots."""

    clients: NDArray[np.int32]
    """[R, K + 2] nodes; -1 in empty slots; the depot also in the slot of action 0."""
    mask: NDArray[np.bool_]
    """[R, K + 2] whether a slot is taken."""
    fresh: NDArray[np.bool_]
    """[R, K] whether an action returns to the depot first."""
    distances: NDArray[np.float64]
    """[R, K + 2, K + 2] from slot to slot."""
    cost: NDArray[np.float64]
    """[R, K] the cost of an action, without prizes."""
    demand: NDArray[np.float64]
    """[R, K + 2] as a share of the capacity (0 where that is unlimited)."""
    room: NDArray[np.float64]
    """[R] what the vehicle under way may still carry, as a share of the capacity."""
    rest: NDArray[np.float64]
    """[R] the demand of all unvisited clients, as a share of the capacity."""
    prize: NDArray[np.float64]
    """[R, K + 2]"""
    required: NDArray[np.bool_]
    """[R, K + 2]"""
    wait: NDArray[np.float64]
    """[R, K] how long the vehicle would wait at the client."""
    slack: NDArray[np.float64]
    """[R, K] how much later its service could begin by its window; inf without a window."""
    service: NDArray[np.float64]
    """[R, K + 2]"""
    left: NDArray[np.float64]
    """[R, 2] the distance and the time that the vehicle under way has left, without the return; inf without limits."""
    remaining: NDArray[np.int32]
    """[R] unvisited clients."""
    timed: NDArray[np.bool_]
    """[R] whether there are windows."""

    @classmethod
    def empty(cls, rows: int, width: int) -> Observation:
        """Return empty arrays for this many rows and action slots."""
        slots = width + 2
        return cls(
            np.full((rows, slots), -1, np.int32), np.zeros((rows, slots), bool), np.zeros((rows, width), bool),
            np.zeros((rows, slots, slots)), np.zeros((rows, width)), np.zeros((rows, slots)), np.zeros(rows), np.zeros(rows),
            np.zeros((rows, slots)), np.zeros((rows, slots), bool), np.zeros((rows, width)), np.zeros((rows, width)),
            np.zeros((rows, slots)), np.zeros((rows, 2)), np.zeros(rows, np.int32), np.zeros(rows, bool),
        )  # fmt: skip


def routes(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return tokens of VrpEnvironment's observations: K slots, the origin, the depot. `scale` is about the cost of the rest."""
    mask, distances = observation["mask"], observation["distances"]
    unit = _unit(mask, distances)
    columns = np.stack(np.broadcast_arrays(*_columns(observation, unit)), axis=-1)
    x = np.where(mask[:, :, None], columns, 0.0).astype(np.float32)
    near = np.log1p(distances / unit[:, None, None])
    same = observation["clients"][:, :, None] == observation["clients"][:, None, :]
    pairs = np.stack([near, near.transpose(0, 2, 1), same], axis=-1)
    pairs = np.where((mask[:, :, None] & mask[:, None, :])[..., None], pairs, 0.0).astype(np.float32)
    return Tokens(x, mask, pairs, unit * (observation["remaining"] + 1.0))


def _unit(mask: NDArray[np.bool_], distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean distance to the nearest other place shown, float64 [R]; 1 if everything is in one place."""
    reach = np.where(mask[:, None, :] & (distances > 0), distances, np.inf).min(axis=2, initial=np.inf)
    there = mask & np.isfinite(reach)
    total = np.where(there, reach, 0.0).sum(axis=1)
    return np.where(total > 0, total / np.maximum(1, there.sum(axis=1)), 1.0)


def _columns(obs: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return [R, T] (or an array that broadcasts to it) for each feature."""
    rows, tokens = obs["mask"].shape
    width = tokens - 2
    lengths = unit[:, None]

    def log(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of lengths and times from 0; unlimited ones count as a million units."""
        return np.log1p(np.clip(values / lengths, 0.0, 1e6))

    def slots(values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the values in the action slots; 0 for origin and depot."""
        return np.concatenate([values, np.zeros((rows, 2))], axis=1)

    fresh, room = slots(obs["fresh"]), obs["room"][:, None]
    away, home = obs["distances"][:, width], obs["distances"][:, :, tokens - 1]
    kind = np.concatenate([np.zeros(width), [1.0, 2.0]])
    leaves_out = slots(obs["clients"][:, :width] == 0)
    after = np.where(fresh > 0, 1.0, room) - obs["demand"]
    prize, cost = np.log1p(np.minimum(obs["prize"] / lengths, 1e6)), slots(obs["cost"])
    timed = np.broadcast_to(obs["timed"][:, None], (rows, tokens)).astype(float)
    left = np.clip(obs["left"] / lengths, 0.0, 1e6)
    savings = np.clip((home[:, width, None] + home - away) / lengths, -1e6, 1e6)
    rank = np.cumsum(1 - fresh, axis=1) * (1 - fresh) + np.cumsum(fresh, axis=1) * fresh
    return [
        (kind == 0) * 1.0, (kind == 1) * 1.0, (kind == 2) * 1.0, fresh, leaves_out,
        log(cost), log(away), log(home), np.arcsinh(savings), rank / 16.0,
        obs["demand"], room, np.clip(after, -1.0, 1.0), np.log1p(obs["rest"])[:, None], np.log1p(obs["remaining"])[:, None],
        obs["required"] * 1.0, prize, np.arcsinh((obs["prize"] - cost) / lengths),
        timed, timed * log(slots(obs["wait"])), timed * log(slots(obs["slack"])), log(obs["service"]),
        np.isfinite(obs["left"][:, :1]) * 1.0, np.log1p(left[:, :1]),
        np.isfinite(obs["left"][:, 1:]) * 1.0, np.log1p(left[:, 1:]), (obs["room"] < obs["rest"])[:, None] * 1.0,
    ]  # fmt: skip


@kernel
def observe(state: State, rows: Any, actions: Any, observation: Any) -> None:
    """Write the observation of `rows` to `observation`, an Observation, in place.

    Args:
        state: State.
        rows: int [R].
        actions: int32 [R, K], the listed actions.
        observation: Observation of R rows, as `empty` returns it.
    """
    k = actions.shape[1]
    for r in range(len(rows)):
        row = rows[r]
        instance, t = state.instance[row], state.visited[row]
        n, first, capacity = state.graphs.size[instance], state.graphs.nodes_start[instance], state.limits[instance, CAPACITY]
        count = 0
        while count < k and actions[r, count] >= 0:
            count += 1
        origin = state.order[row, t - 1] if t > 0 else 0
        for i in range(count):
            observation.fresh[r, i] = actions[r, i] >= n
            observation.clients[r, i] = actions[r, i] - n if actions[r, i] >= n else actions[r, i]
        observation.clients[r, k], observation.clients[r, k + 1] = origin, 0
        observation.remaining[r] = n - 1 - t
        for client in state.order[row, t : n - 1]:
            observation.rest[r] += state.demand[first + client] / capacity
        for i in range(k + 2):
            node = observation.clients[r, i]
            if node < 0:
                continue
            observation.mask[r, i] = True
            observation.demand[r, i] = state.demand[first + node] / capacity
            observation.prize[r, i], observation.required[r, i] = state.prize[first + node], state.required[first + node]
            observation.service[r, i] = state.service[first + node]
        _observe_actions(state, row, origin, observation, r, count)
        distances_between(graph_metric(state.graphs, instance), observation.clients[r], observation.distances[r])


@kernel
def _observe_actions(state: Any, row: Any, origin: Any, observation: Any, r: Any, count: Any) -> None:
    """Write the costs, waiting and slack of a row's actions, and what the vehicle under way has left."""
    instance = state.instance[row]
    first, limits, metric = state.graphs.nodes_start[instance], state.limits[instance], graph_metric(state.graphs, instance)
    new = at_depot(state, instance)
    at = vehicle_position(state, row) if origin > 0 else new
    home = distance(metric, origin, 0) if origin > 0 else 0.0
    observation.room[r] = 1.0 - at.load / limits[CAPACITY]
    observation.left[r, 0] = limits[DISTANCE] - at.distance - home
    observation.left[r, 1] = min(limits[DURATION] - at.busy, state.latest[first] - at.ready) - home
    observation.timed[r] = state.latest[first] < np.inf
    for i in range(count):
        client = observation.clients[r, i]
        if client == 0:
            observation.cost[r, i] = limits[UNIT_COST] * home
            continue
        begins = observation.fresh[r, i] or origin == 0
        start = 0 if begins else origin
        before = new if begins else at
        way = distance(metric, start, client)
        _, after = serve(state, instance, metric, start, before, client)
        length = way + (home if observation.fresh[r, i] else 0.0)
        observation.cost[r, i] = limits[UNIT_COST] * length + (limits[ROUTE_COST] if begins else 0.0)
        begin = after.ready - state.service[first + client]
        observation.wait[r, i] = begin - before.ready - way
        observation.slack[r, i] = state.latest[first + client] - begin
