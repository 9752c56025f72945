"""Features of a partial path with a plan for its rest: how the plan changes if each listed node comes next.

Lengths are in units of the plan's mean edge, scores are shares of the best completion's score. The features do not change when
the plane is rotated, mirrored, moved or scaled, or when the scores are scaled.
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
"""F: features of a token."""
_END, _LAST = range(TOKENS - 2, TOKENS)
"""Features that mark the token of the end and the token of the last node."""
PAIRS = 4
"""P: features of a pair of tokens: the distance on two scales, whether they are neighbours in the best completion, the same."""
_ROUNDING = 1e-9  # relative to the best score: smaller differences are rounding errors


def insertion(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return the tokens of InsertionEnvironment's observations: K slots, the last node, the end; K + 2 tokens.

    The unit is the score of the best completion. Raises UsageError for other observations.
    """
    if "collected" not in observation:
        raise UsageError("the features 'insertion' are for the environment 'insertion'; accepted for others: 'nodes'")
    mask, distances = observation["mask"], observation["distances"]
    rows, tokens = mask.shape
    unit = np.where(observation["edge"] > 0, observation["edge"], 1.0)
    best = np.where(observation["best"] > 0, observation["best"], 1.0)
    columns = np.stack(np.broadcast_arrays(*_columns(observation, unit[:, None], best[:, None])), axis=-1)
    x = np.zeros((rows, tokens, TOKENS), np.float32)
    x[:, :-2, : columns.shape[2]] = np.where(mask[:, :-2, None], np.clip(columns, -100.0, 100.0), 0.0)
    home = distances[:, -2, -1] / unit
    whole = [np.log1p(home), np.log1p(observation["left"] / unit), np.log1p(observation["remaining"])]
    whole += [np.log1p(observation["open"] / best)]
    x[:, -2, : len(whole)] = np.stack(whole, axis=1)
    x[:, -2, _LAST] = x[:, -1, _END] = 1.0
    lengths = distances / unit[:, None, None]
    same = np.broadcast_to(np.eye(tokens, dtype=bool), distances.shape)
    pairs = np.stack([np.log1p(lengths), np.exp(-lengths), observation["following"], same], axis=-1)
    pairs = np.where((mask[:, :, None] & mask[:, None, :])[..., None], pairs, 0.0).astype(np.float32)
    return Tokens(x, mask, pairs, best)


def _columns(observation: Mapping[str, NDArray[Any]], unit: NDArray[np.float64], best: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return the features of listed nodes, [R, K] each, for the units of length and of score, float64 [R, 1]."""
    mask, distances = observation["mask"][:, :-2], observation["distances"]
    left, scores, place = observation["left"][:, None] / unit, observation["scores"], observation["place"]
    way, home = distances[:, -2, :-2] / unit, distances[:, -1, :-2] / unit
    detour = way + home - distances[:, -2, -1, None] / unit
    mean = np.maximum(best / np.maximum(1.0, left), 1e-12)  # the mean score per edge
    worse = np.where(mask, best - observation["collected"], 0.0)
    tolerance = _ROUNDING * best[:, :, None]
    rank = (worse[:, None, :] < worse[:, :, None] - tolerance).sum(axis=2, where=mask[:, None, :])
    slots = distances.shape[1] - 2
    pair = mask[:, :, None] & mask[:, None, :] & ~np.eye(slots, dtype=bool)
    near = np.sort(np.where(pair, distances[:, :-2, :-2], np.inf), axis=2)[..., :2] / unit[..., None]
    near = np.minimum(np.where(np.isfinite(near), near, home[..., None]), 1e3)
    if near.shape[2] < 2:
        near = np.repeat(near, 2, axis=2)
    return [
        np.log1p(worse / mean), np.exp(-worse / mean), worse / best, worse <= _ROUNDING * best, np.minimum(rank, 12) / 6.0,
        np.clip(observation["spare"] / unit, -5.0, 5.0), place == 1, place > 0, np.minimum(place, 16) / 8.0, observation["share"],
        np.log1p(way), np.log1p(home), np.log1p(np.maximum(detour, 0.0)),
        detour / np.maximum(left, 1e-9), way / np.maximum(left, 1e-9),
        np.log1p(scores / mean), np.log1p(scores / mean / np.maximum(way, 0.05)), np.log1p(observation["around"] / mean),
        np.log1p(near[..., 0]), np.log1p(near[..., 1]), observation["following"][:, -2, :-2], np.log1p(left), np.exp(-way),
        np.arange(slots) / 8.0,
    ]  # fmt: skip
