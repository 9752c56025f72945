"""Features of a partial path: scores and distances, in units of the length that is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.routing.graph_pool import distances_between, graph_metric
from corl.tokens import Tokens

__all__ = ["PAIRS", "TOKENS", "nodes", "observe"]

TOKENS = 9
"""F: features of a token."""
PAIRS = 2
"""P: features of a pair of tokens: the distance over the length left, and over the distances to their nearest nodes."""
_LAST, _END = 7, 8
"""Features that mark the token of the last node and the token of the end."""


def nodes(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return the tokens of OrienteeringEnvironment's observations: K listed nodes, the last node, the end; K + 2 tokens.

    Features of a node are its share of the listed scores (times their number); the distance to it, the distance from it to the
    end, the detour by it, and the distance to its nearest other slot, all divided by the length left; its share per distance and
    per detour; and its kind. They do not change when the plane is rotated or scaled. The unit is the sum of the listed scores.
    """
    mask, scores, distances = observation["mask"], observation["scores"], observation["distances"]
    rows, slots = scores.shape
    listed = mask[:, :slots]
    left = np.where(observation["left"] > 0, observation["left"], 1.0)[:, None]
    scale = scores.sum(axis=1)
    scale = np.where(scale > 0, scale, 1.0)
    way, rest = distances[:, slots, :slots] / left, distances[:, slots + 1, :slots] / left
    detour = way + rest - distances[:, slots, slots + 1, None] / left
    pair = mask[:, :, None] & mask[:, None, :] & ~np.eye(slots + 2, dtype=bool)
    near = np.where(pair, distances, np.inf).min(axis=2)
    near = np.where(np.isfinite(near), near, 0.0)
    share = scores / scale[:, None]
    x = np.zeros((rows, slots + 2, TOKENS), np.float32)
    count = np.maximum(1, listed.sum(axis=1))[:, None]
    parts = [share * count, way, rest, detour, near[:, :slots] / left]
    parts += [share / np.maximum(way, 1e-3), share / np.maximum(detour, 1e-3)]
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(listed, np.clip(part, -100.0, 100.0), 0.0)
    x[:, slots, _LAST] = x[:, slots + 1, _END] = 1.0
    unit = np.maximum(near[:, :, None] + near[:, None, :], 1e-9 * left[:, :, None])
    scales = [distances / left[:, :, None], np.minimum(distances / unit, 10.0)]
    pairs = np.stack([np.where(pair, each, 0.0) for each in scales], axis=-1).astype(np.float32)
    return Tokens(x, mask, pairs, scale)


@kernel
def observe(state: Any, rows: Any, actions: Any, scores: Any, distances: Any) -> None:
    """Write the scores and distances of the listed nodes, in place.

    Args:
        state: State, the pool.
        rows: int [R], rows of the pool.
        actions: int32 [R, K], listed nodes, -1 in empty slots.
        scores: float64 [R, K], receives their scores; empty slots are left unchanged.
        distances: float64 [R, K + 2, K + 2], receives the distances among listed nodes, the last node and the end.
    """
    k = actions.shape[1]
    nodes = np.empty(k + 2, np.int64)
    for i in range(len(rows)):
        row = rows[i]
        instance = state.instance[row]
        nodes[:k], nodes[k], nodes[k + 1] = actions[i], state.order[row, state.visited[row] - 1], state.end[instance]
        for slot in range(k):
            if nodes[slot] >= 0:
                scores[i, slot] = state.scores[state.graphs.nodes_start[instance] + nodes[slot]]
        distances_between(graph_metric(state.graphs, instance), nodes, distances[i])
