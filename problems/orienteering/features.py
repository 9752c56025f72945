"""Features of a partial path: scores and distances. The unit of distances is the limit minus the length of the path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.routing.graph_pool import distances_between, graph_metric
from corl.tokens import Tokens

__all__ = ["PAIRS", "TOKENS", "nodes", "observe"]

TOKENS = 9
"""The number of features of a token."""
PAIRS = 2
"""The number of features of a pair of tokens: the distance over the length left, and over the sum of the two tokens' distances to
their nearest tokens.
"""
_LAST, _END = 7, 8
"""Indices of the features that mark the token of the last node and the token of the end."""


def nodes(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K + 2 tokens for an observation of OrienteeringEnvironment: the K listed nodes, the last node, the end.

    Nodes are listed as actions by the environment. The features of a listed node are:

    - its score over the mean score of the listed nodes;
    - the distance to it from the last node, from it to the end, the detour by it, and the distance to the nearest other of
      the K + 2 nodes, all divided by the length left;
    - its share of the sum of the listed scores, divided by the distance from the last node, and divided by the detour.

    Features do not change when the plane is rotated or scaled. The unit of the returned tokens is the sum of the listed scores.
    Raises UsageError for observations without distances.
    """
    if "distances" not in observation:
        raise UsageError("the features 'nodes' need distances; accepted for the environment 'plane': 'plane'")
    mask, scores, distances = observation["mask"], observation["scores"], observation["distances"]
    rows, slots = scores.shape
    listed = mask[:, :slots]
    length_left = np.where(observation["left"] > 0, observation["left"], 1.0)[:, None]
    listed_score = scores.sum(axis=1)
    listed_score = np.where(listed_score > 0, listed_score, 1.0)
    distance, to_end = distances[:, slots, :slots] / length_left, distances[:, slots + 1, :slots] / length_left
    detour = distance + to_end - distances[:, slots, slots + 1, None] / length_left
    pair = mask[:, :, None] & mask[:, None, :] & ~np.eye(slots + 2, dtype=bool)
    nearest = np.where(pair, distances, np.inf).min(axis=2)
    nearest = np.where(np.isfinite(nearest), nearest, 0.0)
    share = scores / listed_score[:, None]
    x = np.zeros((rows, slots + 2, TOKENS), np.float32)
    count = np.maximum(1, listed.sum(axis=1))[:, None]
    parts = [share * count, distance, to_end, detour, nearest[:, :slots] / length_left]
    parts += [share / np.maximum(distance, 1e-3), share / np.maximum(detour, 1e-3)]
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(listed, np.clip(part, -100.0, 100.0), 0.0)
    x[:, slots, _LAST] = x[:, slots + 1, _END] = 1.0
    nearest_sum = np.maximum(nearest[:, :, None] + nearest[:, None, :], 1e-9 * length_left[:, :, None])
    scaled = [distances / length_left[:, :, None], np.minimum(distances / nearest_sum, 10.0)]
    pairs = np.stack([np.where(pair, each, 0.0) for each in scaled], axis=-1).astype(np.float32)
    return Tokens(x, mask, pairs, listed_score)


@kernel
def observe(state: Any, rows: Any, actions: Any, scores: Any, distances: Any) -> None:
    """Write the scores and distances of the listed nodes, in place.

    Args:
        state: State, the pool.
        rows: int [R], rows of the pool.
        actions: int32 [R, K], the listed nodes, -1 in empty slots.
        scores: float64 [R, K], receives the scores of the listed nodes; empty slots are not changed.
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
