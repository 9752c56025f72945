"""Features of a partial path with a plan: for each listed node, how the plan changes if this node comes next.

A completion is a sequence of nodes from the path's last node to the end; the plan is the completion that the environment keeps.
The best completion is the one with the greatest score among the plan and the completions that begin with a listed node. Lengths
are in units of the plan's mean edge, and scores are shares of the best completion's score. The features do not change when the
plane is rotated, mirrored, moved or scaled, or when the scores are scaled. The arrays of the observation are explained in
`OrienteeringEnvironment._observe` and in `InsertionLookahead` (lookahead.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.tokens import Tokens

__all__ = ["PAIRS", "TOKENS", "insertion"]

TOKENS = 28
"""The number of features of a token."""
_END, _LAST = range(TOKENS - 2, TOKENS)
"""Indices of the features that mark the token of the end and the token of the last node."""
PAIRS = 4
"""The number of features of a pair of tokens: two for their distance, whether they are neighbours in the best completion, and
whether they are the same token.
"""
_ROUNDING = 1e-9  # differences of scores up to this share of the best score are rounding errors


def insertion(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K + 2 tokens for an observation of InsertionEnvironment: the K slots of listed nodes, the last node, the end.

    `Tokens.scale`, the unit of values and rewards, is the score of the best completion. Raises UsageError for other observations.
    """
    if "collected" not in observation:
        raise UsageError("the features 'insertion' are for the environment 'insertion'; accepted for others: 'nodes'")
    mask, distances = observation["mask"], observation["distances"]
    rows, tokens = mask.shape
    unit = np.where(observation["edge"] > 0, observation["edge"], 1.0)
    best_score = np.where(observation["best"] > 0, observation["best"], 1.0)
    columns = np.stack(np.broadcast_arrays(*_columns(observation, unit[:, None], best_score[:, None])), axis=-1)
    x = np.zeros((rows, tokens, TOKENS), np.float32)
    x[:, :-2, : columns.shape[2]] = np.where(mask[:, :-2, None], np.clip(columns, -100.0, 100.0), 0.0)
    to_end = distances[:, -2, -1] / unit
    # The length left within the limit, the number of nodes that can be visited, and below ("open") the sum of their scores.
    state_features = [np.log1p(to_end), np.log1p(observation["left"] / unit), np.log1p(observation["remaining"])]
    state_features += [np.log1p(observation["open"] / best_score)]
    x[:, -2, : len(state_features)] = np.stack(state_features, axis=1)
    x[:, -2, _LAST] = x[:, -1, _END] = 1.0
    lengths = distances / unit[:, None, None]
    same = np.broadcast_to(np.eye(tokens, dtype=bool), distances.shape)
    pairs = np.stack([np.log1p(lengths), np.exp(-lengths), observation["following"], same], axis=-1)
    pairs = np.where((mask[:, :, None] & mask[:, None, :])[..., None], pairs, 0.0).astype(np.float32)
    return Tokens(x, mask, pairs, best_score)


def _columns(
    observation: Mapping[str, NDArray[Any]], unit: NDArray[np.float64], best_score: NDArray[np.float64]
) -> list[NDArray[Any]]:
    """Return the features of the listed nodes, an array for each feature, which can be broadcast to [R, K].

    Args:
        observation: The observation.
        unit: float64 [R, 1], the unit of length.
        best_score: float64 [R, 1], the unit of scores.
    """
    mask, distances = observation["mask"][:, :-2], observation["distances"]
    length_left, scores, place = observation["left"][:, None] / unit, observation["scores"], observation["place"]
    distance, to_end = distances[:, -2, :-2] / unit, distances[:, -1, :-2] / unit
    detour = distance + to_end - distances[:, -2, -1, None] / unit
    mean = np.maximum(best_score / np.maximum(1.0, length_left), 1e-12)  # the mean score per edge
    shortfall = np.where(mask, best_score - observation["collected"], 0.0)
    tolerance = _ROUNDING * best_score[:, :, None]
    rank = (shortfall[:, None, :] < shortfall[:, :, None] - tolerance).sum(axis=2, where=mask[:, None, :])
    slots = distances.shape[1] - 2
    pair = mask[:, :, None] & mask[:, None, :] & ~np.eye(slots, dtype=bool)
    nearest = np.sort(np.where(pair, distances[:, :-2, :-2], np.inf), axis=2)[..., :2] / unit[..., None]
    nearest = np.minimum(np.where(np.isfinite(nearest), nearest, to_end[..., None]), 1e3)
    if nearest.shape[2] < 2:
        nearest = np.repeat(nearest, 2, axis=2)
    return [
        np.log1p(shortfall / mean), np.exp(-shortfall / mean), shortfall / best_score, shortfall <= _ROUNDING * best_score,
        np.minimum(rank, 12) / 6.0,
        np.clip(observation["spare"] / unit, -5.0, 5.0), place == 1, place > 0, np.minimum(place, 16) / 8.0, observation["share"],
        np.log1p(distance), np.log1p(to_end), np.log1p(np.maximum(detour, 0.0)),
        detour / np.maximum(length_left, 1e-9), distance / np.maximum(length_left, 1e-9),
        np.log1p(scores / mean), np.log1p(scores / mean / np.maximum(distance, 0.05)), np.log1p(observation["around"] / mean),
        np.log1p(nearest[..., 0]), np.log1p(nearest[..., 1]), observation["following"][:, -2, :-2],
        np.log1p(length_left), np.exp(-distance),
        np.arange(slots) / 8.0,
    ]  # fmt: skip
