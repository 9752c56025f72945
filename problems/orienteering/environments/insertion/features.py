"""What a network sees of a partial path with a plan for the rest: what becomes of the plan by each listed node.

Lengths are in units of the plan's mean edge, scores in shares of what the best plan collects; turning, mirroring, moving or
scaling the plane, or scaling the scores, changes nothing.
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
"""Those that say which token it is."""
PAIRS = 4
"""P: features of a pair of tokens: distance on two scales, neighbours in the best plan, the same token."""
_ALIKE = 1e-9  # of the best score: plans that differ by less differ by rounding


def insertion(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Tokens of InsertionEnvironment's observations: K slots, the last node, the end. The unit is what the best plan collects.

    Raises UsageError for other observations.
    """
    if "collected" not in observation:
        raise UsageError("the features 'insertion' are for the environment 'insertion'; accepted for others: 'nodes'")
    mask, apart = observation["mask"], observation["distances"]
    rows, tokens = mask.shape
    unit = np.where(observation["edge"] > 0, observation["edge"], 1.0)
    best = np.where(observation["best"] > 0, observation["best"], 1.0)
    columns = np.stack(np.broadcast_arrays(*_columns(observation, unit[:, None], best[:, None])), axis=-1)
    x = np.zeros((rows, tokens, TOKENS), np.float32)
    x[:, :-2, : columns.shape[2]] = np.where(mask[:, :-2, None], np.clip(columns, -100.0, 100.0), 0.0)
    home = apart[:, -2, -1] / unit
    whole = [np.log1p(home), np.log1p(observation["left"] / unit), np.log1p(observation["remaining"])]
    whole += [np.log1p(observation["open"] / best)]
    x[:, -2, : len(whole)] = np.stack(whole, axis=1)
    x[:, -2, _LAST] = x[:, -1, _END] = 1.0
    lengths = apart / unit[:, None, None]
    same = np.broadcast_to(np.eye(tokens, dtype=bool), apart.shape)
    pairs = np.stack([np.log1p(lengths), np.exp(-lengths), observation["following"], same], axis=-1)
    pairs = np.where((mask[:, :, None] & mask[:, None, :])[..., None], pairs, 0.0).astype(np.float32)
    return Tokens(x, mask, pairs, best)


def _columns(seen: Mapping[str, NDArray[Any]], unit: NDArray[np.float64], best: NDArray[np.float64]) -> list[NDArray[Any]]:
    """[R, K] for each feature of a listed node."""
    mask, apart = seen["mask"][:, :-2], seen["distances"]
    left, scores, place = seen["left"][:, None] / unit, seen["scores"], seen["place"]
    way, home = apart[:, -2, :-2] / unit, apart[:, -1, :-2] / unit
    detour = way + home - apart[:, -2, -1, None] / unit
    mean = np.maximum(best / np.maximum(1.0, left), 1e-12)  # score of an edge
    worse = np.where(mask, best - seen["collected"], 0.0)
    alike = _ALIKE * best[:, :, None]
    rank = (worse[:, None, :] < worse[:, :, None] - alike).sum(axis=2, where=mask[:, None, :])
    slots = apart.shape[1] - 2
    pair = mask[:, :, None] & mask[:, None, :] & ~np.eye(slots, dtype=bool)
    near = np.sort(np.where(pair, apart[:, :-2, :-2], np.inf), axis=2)[..., :2] / unit[..., None]
    near = np.minimum(np.where(np.isfinite(near), near, home[..., None]), 1e3)
    if near.shape[2] < 2:
        near = np.repeat(near, 2, axis=2)
    return [
        np.log1p(worse / mean), np.exp(-worse / mean), worse / best, worse <= _ALIKE * best, np.minimum(rank, 12) / 6.0,
        np.clip(seen["spare"] / unit, -5.0, 5.0), place == 1, place > 0, np.minimum(place, 16) / 8.0, seen["share"],
        np.log1p(way), np.log1p(home), np.log1p(np.maximum(detour, 0.0)),
        detour / np.maximum(left, 1e-9), way / np.maximum(left, 1e-9),
        np.log1p(scores / mean), np.log1p(scores / mean / np.maximum(way, 0.05)), np.log1p(seen["around"] / mean),
        np.log1p(near[..., 0]), np.log1p(near[..., 1]), seen["following"][:, -2, :-2], np.log1p(left), np.exp(-way),
        np.arange(slots) / 8.0,
    ]  # fmt: skip
