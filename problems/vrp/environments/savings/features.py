"""Features of a partial solution with capacities alone: the cost of its completion by savings after each action.

Lengths are in units of the completion's mean edge, loads in units of the capacity; the features do not change when the plane is
rotated, mirrored, moved or scaled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.tokens import Tokens

__all__ = ["PAIRS", "TOKENS", "savings"]

TOKENS = 28
"""F: features of a token."""
_DEPOT, _ORIGIN = range(TOKENS - 2, TOKENS)
"""The features that mark the tokens of the depot and of the origin."""
PAIRS = 4
"""P: features of a pair of tokens: distance on two scales, neighbours in the completion, the same client."""
_TIE = 1e-7  # costs that differ by less, in mean edges, differ by rounding


def savings(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return tokens of SavingsEnvironment's observations: K slots, the origin, the depot; `scale` is the cost of the completion.

    Raises UsageError for other observations.
    """
    if "plans" not in observation:
        raise UsageError("the features 'savings' are for the environment 'savings'; accepted for others: 'routes'")
    mask, distances = observation["mask"], observation["distances"]
    rows, tokens = mask.shape
    plan = np.where(observation["plan"] > 0, observation["plan"], 1.0)
    unit = plan / (observation["remaining"] + 1.0)
    lengths = unit[:, None, None]
    columns = np.stack(np.broadcast_arrays(*_columns(observation, unit[:, None])), axis=-1)
    x = np.zeros((rows, tokens, TOKENS), np.float32)
    x[:, :-2, : columns.shape[2]] = np.where(mask[:, :-2, None], columns, 0.0)
    whole = _origin_columns(observation, unit)
    x[:, -2, _ORIGIN] = x[:, -1, _DEPOT] = 1.0
    x[:, -2, : whole.shape[1]] = whole
    same = observation["clients"][:, :, None] == observation["clients"][:, None, :]
    pairs = np.stack([np.log1p(distances / lengths), np.exp(-distances / lengths), observation["following"], same], axis=-1)
    pairs = np.where((mask[:, :, None] & mask[:, None, :])[..., None], pairs, 0.0).astype(np.float32)
    return Tokens(x, mask, pairs, plan)


def _columns(obs: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return [R, K] (or an array that broadcasts to it) for each feature of an action."""
    mask, room, fresh = obs["mask"][:, :-2], obs["room"][:, None], obs["fresh"]
    plans = np.where(mask, obs["plans"], np.inf)
    least = plans.min(axis=1, keepdims=True)
    least = np.where(np.isfinite(least), least, 0.0)
    worse = np.where(mask, plans - least, 0.0) / unit
    rank = (worse[:, None, :] < worse[:, :, None] - _TIE).sum(axis=2, where=mask[:, None, :])
    away, home = obs["distances"][:, -2, :-2], obs["distances"][:, :-2, -1]
    origin = obs["distances"][:, -2, -1:]
    demand = obs["demand"][:, :-2]
    after = np.where(fresh, 1.0, room) - demand
    neighbour = obs["following"][:, -2, :-2] & ~fresh
    saved = (origin + home - away) / unit
    near = obs["near"] / unit[..., None]
    return [
        np.log1p(worse), np.exp(-worse), np.exp(-5.0 * worse), worse <= _TIE, np.minimum(rank, 16) / 8.0,
        np.clip((plans - obs["plan"][:, None]) / unit, -2.0, 4.0), fresh, neighbour, obs["ends"], obs["joined"],
        obs["loads"], np.log1p(away / unit), np.log1p(home / unit), np.clip(saved, -8.0, 32.0) / 4.0,
        np.log1p(near[..., 0]), np.log1p(near[..., 1]),
        demand, after, room, np.where(fresh, room, 0.0), np.log1p(obs["cost"] / unit),
        0.2 * np.log(obs["remaining"][:, None] + 1.0),
        np.minimum(obs["routes"], 4.0)[:, None], (obs["remaining"] > 0)[:, None] & (origin == 0.0) & mask,
    ]  # fmt: skip


def _origin_columns(obs: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return [R, 7], the features of the origin's token: the current vehicle, and the remaining clients."""
    home, rest = obs["distances"][:, -2, -1] / unit, obs["rest"]
    joined = obs["following"][:, -2, :].any(axis=1)
    spare = np.ceil(rest - 1e-9) - rest
    parts = [np.log1p(home), obs["room"], joined, np.log1p(rest), spare, np.minimum(obs["routes"], 4.0)]
    parts += [np.log1p(obs["remaining"])]
    return np.stack(parts, axis=1)
