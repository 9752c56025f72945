"""Features of a partial solution: distances, remaining resources of the current vehicle, time windows and prizes.

Lengths and times are divided by a mean distance of the observed nodes, so that features do not change when the plane is
rotated, moved or scaled.
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
"""P: features of a pair of tokens: the distances in both directions, and whether both are the same node."""


class Observation(NamedTuple):
    """The observation of R rows. Each has K + 2 slots: K actions, the origin (where the current vehicle is) and the depot.

    Values in empty slots are 0. Distances, times, costs and prizes are multiplied by the instance's `scale`.
    """

    clients: NDArray[np.int32]
    """[R, K + 2] the node of each slot; -1 in empty slots. Action 0 has the depot."""
    mask: NDArray[np.bool_]
    """[R, K + 2] whether the slot is used."""
    fresh: NDArray[np.bool_]
    """[R, K] whether the action uses a new vehicle, so that the current one returns to the depot first."""
    distances: NDArray[np.float64]
    """[R, K + 2, K + 2] the distance from the node of the first slot to the node of the second."""
    cost: NDArray[np.float64]
    """[R, K] the cost of the action, without prizes."""
    demand: NDArray[np.float64]
    """[R, K + 2] the demand of the node, as a share of the capacity (0 if the capacity is unlimited)."""
    room: NDArray[np.float64]
    """[R] the free capacity of the current vehicle, as a share of the capacity."""
    rest: NDArray[np.float64]
    """[R] the demand of all unvisited clients, as a share of the capacity."""
    prize: NDArray[np.float64]
    """[R, K + 2] the prize of the node."""
    required: NDArray[np.bool_]
    """[R, K + 2] whether the node must be visited."""
    wait: NDArray[np.float64]
    """[R, K] how long the vehicle would wait at the action's client for the window to open."""
    slack: NDArray[np.float64]
    """[R, K] how much later the client's service could begin before the window closes; inf without a window."""
    service: NDArray[np.float64]
    """[R, K + 2] the duration of service at the node."""
    left: NDArray[np.float64]
    """[R, 2] the distance and the time that the current vehicle may still spend before it returns; inf without limits."""
    remaining: NDArray[np.int32]
    """[R] the number of unvisited clients."""
    timed: NDArray[np.bool_]
    """[R] whether the instance has time windows."""

    @classmethod
    def empty(cls, rows: int, width: int) -> Observation:
        """Return the observation of `rows` rows with `width` (K) action slots, all of them empty."""
        slots = width + 2
        return cls(
            np.full((rows, slots), -1, np.int32), np.zeros((rows, slots), bool), np.zeros((rows, width), bool),
            np.zeros((rows, slots, slots)), np.zeros((rows, width)), np.zeros((rows, slots)), np.zeros(rows), np.zeros(rows),
            np.zeros((rows, slots)), np.zeros((rows, slots), bool), np.zeros((rows, width)), np.zeros((rows, width)),
            np.zeros((rows, slots)), np.zeros((rows, 2)), np.zeros(rows, np.int32), np.zeros(rows, bool),
        )  # fmt: skip


def routes(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return the tokens of VrpEnvironment's observations: K slots, the origin, the depot.

    Their `scale` is an estimate of the remaining cost: the unit of length times (the number of unvisited clients + 1).
    """
    mask, distances = observation["mask"], observation["distances"]
    unit = _unit(mask, distances)
    columns = np.stack(np.broadcast_arrays(*_columns(observation, unit)), axis=-1)
    x = np.where(mask[:, :, None], columns, 0.0).astype(np.float32)
    log_distances = np.log1p(distances / unit[:, None, None])
    same = observation["clients"][:, :, None] == observation["clients"][:, None, :]
    pairs = np.stack([log_distances, log_distances.transpose(0, 2, 1), same], axis=-1)
    pairs = np.where((mask[:, :, None] & mask[:, None, :])[..., None], pairs, 0.0).astype(np.float32)
    return Tokens(x, mask, pairs, unit * (observation["remaining"] + 1.0))


def _unit(mask: NDArray[np.bool_], distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean distance from a used slot's node to the nearest other node, float64 [R]; 1 if all are at one place."""
    nearest = np.where(mask[:, None, :] & (distances > 0), distances, np.inf).min(axis=2, initial=np.inf)
    has_neighbour = mask & np.isfinite(nearest)
    total = np.where(has_neighbour, nearest, 0.0).sum(axis=1)
    return np.where(total > 0, total / np.maximum(1, has_neighbour.sum(axis=1)), 1.0)


def _columns(obs: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return one array per feature, each of shape [R, T], or broadcastable to it; T = K + 2 tokens."""
    rows, tokens = obs["mask"].shape
    width = tokens - 2
    unit_length = unit[:, None]

    def log_units(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log(1 + values in units); negative values count as 0, unlimited ones as a million units."""
        return np.log1p(np.clip(values / unit_length, 0.0, 1e6))

    def by_slot(values: NDArray[Any]) -> NDArray[np.float64]:
        """Return float64 [R, K + 2]: the values of the K action slots, then 0 for origin and depot."""
        return np.concatenate([values, np.zeros((rows, 2))], axis=1)

    fresh, room = by_slot(obs["fresh"]), obs["room"][:, None]
    from_origin, to_depot = obs["distances"][:, width], obs["distances"][:, :, tokens - 1]
    token_kind = np.concatenate([np.zeros(width), [1.0, 2.0]])
    skips_unvisited = by_slot(obs["clients"][:, :width] == 0)
    room_after = np.where(fresh > 0, 1.0, room) - obs["demand"]
    prize, cost = np.log1p(np.minimum(obs["prize"] / unit_length, 1e6)), by_slot(obs["cost"])
    timed = np.broadcast_to(obs["timed"][:, None], (rows, tokens)).astype(float)
    resources_left = np.clip(obs["left"] / unit_length, 0.0, 1e6)
    savings = np.clip((to_depot[:, width, None] + to_depot - from_origin) / unit_length, -1e6, 1e6)
    rank = np.cumsum(1 - fresh, axis=1) * (1 - fresh) + np.cumsum(fresh, axis=1) * fresh
    return [
        (token_kind == 0) * 1.0, (token_kind == 1) * 1.0, (token_kind == 2) * 1.0, fresh, skips_unvisited,
        log_units(cost), log_units(from_origin), log_units(to_depot), np.arcsinh(savings), rank / 16.0,
        obs["demand"], room, np.clip(room_after, -1.0, 1.0), np.log1p(obs["rest"])[:, None], np.log1p(obs["remaining"])[:, None],
        obs["required"] * 1.0, prize, np.arcsinh((obs["prize"] - cost) / unit_length),
        timed, timed * log_units(by_slot(obs["wait"])), timed * log_units(by_slot(obs["slack"])), log_units(obs["service"]),
        np.isfinite(obs["left"][:, :1]) * 1.0, np.log1p(resources_left[:, :1]),
        np.isfinite(obs["left"][:, 1:]) * 1.0, np.log1p(resources_left[:, 1:]), (obs["room"] < obs["rest"])[:, None] * 1.0,
    ]  # fmt: skip


@kernel
def observe(state: State, rows: Any, actions: Any, observation: Any) -> None:
    """Write the observation of `rows` to `observation`, in place.

    Args:
        state: The pool.
        rows: int [R], rows of the pool.
        actions: int32 [R, K], the listed actions.
        observation: Observation of R rows, as `Observation.empty` returns it.
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
    """Write costs, waiting times and slacks of a row's `count` actions, and the remaining resources of the current vehicle."""
    instance = state.instance[row]
    first, limits, metric = state.graphs.nodes_start[instance], state.limits[instance], graph_metric(state.graphs, instance)
    at_start = at_depot(state, instance)
    current = vehicle_position(state, row) if origin > 0 else at_start
    home = distance(metric, origin, 0) if origin > 0 else 0.0
    observation.room[r] = 1.0 - current.load / limits[CAPACITY]
    observation.left[r, 0] = limits[DISTANCE] - current.distance - home
    observation.left[r, 1] = min(limits[DURATION] - current.busy, state.latest[first] - current.ready) - home
    observation.timed[r] = state.latest[first] < np.inf
    for i in range(count):
        client = observation.clients[r, i]
        if client == 0:
            observation.cost[r, i] = limits[UNIT_COST] * home
            continue
        begins_route = observation.fresh[r, i] or origin == 0
        start = 0 if begins_route else origin
        position = at_start if begins_route else current
        leg = distance(metric, start, client)
        _, new_position = serve(state, instance, metric, start, position, client)
        length = leg + (home if observation.fresh[r, i] else 0.0)
        observation.cost[r, i] = limits[UNIT_COST] * length + (limits[ROUTE_COST] if begins_route else 0.0)
        begin = new_position.ready - state.service[first + client]
        observation.wait[r, i] = begin - position.ready - leg
        observation.slack[r, i] = state.latest[first + client] - begin
