"""Features of a partial path: scores and distances, in units of what is left."""

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
"""P: features of a pair of tokens: the distance over what is left, and over the nearest ones."""
_LAST, _END = 7, 8
"""Features of a token that say which kind it is."""


def nodes(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """K tokens of the listed nodes, one of the last node and one of the end; turning or scaling the plane changes nothing.

    Of a node: its share of the listed scores; the way to it, the way from it to the end, and the detour of both, over what is
    left; its nearest other listed node; score over way and over detour; which kind it is. Of a pair: the distance over what
    is left, and over their nearest distances. The unit is the sum of the listed scores.
    """
    mask, scores, apart = observation["mask"], observation["scores"], observation["distances"]
    rows, slots = scores.shape
    there = mask[:, :slots]
    left = np.where(observation["left"] > 0, observation["left"], 1.0)[:, None]
    scale = scores.sum(axis=1)
    scale = np.where(scale > 0, scale, 1.0)
    way, rest = apart[:, slots, :slots] / left, apart[:, slots + 1, :slots] / left
    detour = way + rest - apart[:, slots, slots + 1, None] / left
    pair = mask[:, :, None] & mask[:, None, :] & ~np.eye(slots + 2, dtype=bool)
    near = np.where(pair, apart, np.inf).min(axis=2)
    near = np.where(np.isfinite(near), near, 0.0)
    share = scores / scale[:, None]
    x = np.zeros((rows, slots + 2, TOKENS), np.float32)
    count = np.maximum(1, there.sum(axis=1))[:, None]
    parts = [share * count, way, rest, detour, near[:, :slots] / left]
    parts += [share / np.maximum(way, 1e-3), share / np.maximum(detour, 1e-3)]
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(there, np.clip(part, -100.0, 100.0), 0.0)
    x[:, slots, _LAST] = x[:, slots + 1, _END] = 1.0
    unit = np.maximum(near[:, :, None] + near[:, None, :], 1e-9 * left[:, :, None])
    scales = [apart / left[:, :, None], np.minimum(apart / unit, 10.0)]
    pairs = np.stack([np.where(pair, each, 0.0) for each in scales], axis=-1).astype(np.float32)
    return Tokens(x, mask, pairs, scale)


@kernel
def observe(state: Any, rows: Any, actions: Any, scores: Any, apart: Any) -> None:
    """Fill scores [R, K] and apart [R, K + 2, K + 2] of the listed actions, as OrienteeringEnvironment.observe says."""
    k = actions.shape[1]
    nodes = np.empty(k + 2, np.int64)
    for i in range(len(rows)):
        row = rows[i]
        instance = state.instance[row]
        nodes[:k], nodes[k], nodes[k + 1] = actions[i], state.order[row, state.visited[row] - 1], state.end[instance]
        for slot in range(k):
            if nodes[slot] >= 0:
                scores[i, slot] = state.scores[state.graphs.nodes_start[instance] + nodes[slot]]
        distances_between(graph_metric(state.graphs, instance), nodes, apart[i])
