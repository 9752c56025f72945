"""What a network sees of a partial solution with capacities alone: what the plan by savings costs after each action.

Lengths are in units of the plan's mean edge, loads in units of the capacity; turning, mirroring, moving or scaling the plane
changes nothing.
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
"""Those that say which token it is."""
PAIRS = 4
"""P: features of a pair of tokens: distance on two scales, neighbours in the plan, the same client."""
_ALIKE = 1e-7  # plans that differ by less, in mean edges, differ by rounding


def savings(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Tokens of SavingsEnvironment's observations: K slots, the origin, the depot. The unit `scale` is the plan's cost.

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
    whole = _whole(observation, unit)
    x[:, -2, _ORIGIN] = x[:, -1, _DEPOT] = 1.0
    x[:, -2, : whole.shape[1]] = whole
    same = observation["clients"][:, :, None] == observation["clients"][:, None, :]
    pairs = np.stack([np.log1p(distances / lengths), np.exp(-distances / lengths), observation["following"], same], axis=-1)
    pairs = np.where((mask[:, :, None] & mask[:, None, :])[..., None], pairs, 0.0).astype(np.float32)
    return Tokens(x, mask, pairs, plan)


def _columns(seen: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> list[NDArray[Any]]:
    """[R, K] for each feature of an action."""
    mask, room, fresh = seen["mask"][:, :-2], seen["room"][:, None], seen["fresh"]
    plans = np.where(mask, seen["plans"], np.inf)
    least = plans.min(axis=1, keepdims=True)
    least = np.where(np.isfinite(least), least, 0.0)
    worse = np.where(mask, plans - least, 0.0) / unit
    rank = (worse[:, None, :] < worse[:, :, None] - _ALIKE).sum(axis=2, where=mask[:, None, :])
    away, home = seen["distances"][:, -2, :-2], seen["distances"][:, :-2, -1]
    origin = seen["distances"][:, -2, -1:]
    demand = seen["demand"][:, :-2]
    after = np.where(fresh, 1.0, room) - demand
    neighbour = seen["following"][:, -2, :-2] & ~fresh
    saved = (origin + home - away) / unit
    near = seen["near"] / unit[..., None]
    return [
        np.log1p(worse), np.exp(-worse), np.exp(-5.0 * worse), worse <= _ALIKE, np.minimum(rank, 16) / 8.0,
        np.clip((plans - seen["plan"][:, None]) / unit, -2.0, 4.0), fresh, neighbour, seen["ends"], seen["joined"],
        seen["loads"], np.log1p(away / unit), np.log1p(home / unit), np.clip(saved, -8.0, 32.0) / 4.0,
        np.log1p(near[..., 0]), np.log1p(near[..., 1]),
        demand, after, room, np.where(fresh, room, 0.0), np.log1p(seen["cost"] / unit),
        0.2 * np.log(seen["remaining"][:, None] + 1.0),
        np.minimum(seen["routes"], 4.0)[:, None], (seen["remaining"] > 0)[:, None] & (origin == 0.0) & mask,
    ]  # fmt: skip


def _whole(seen: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """[R, 7] what the token of the origin has: of the vehicle under way, and of what is left."""
    home, rest = seen["distances"][:, -2, -1] / unit, seen["rest"]
    joined = seen["following"][:, -2, :].any(axis=1)
    spare = np.ceil(rest - 1e-9) - rest
    parts = [np.log1p(home), seen["room"], joined, np.log1p(rest), spare, np.minimum(seen["routes"], 4.0)]
    parts += [np.log1p(seen["remaining"])]
    return np.stack(parts, axis=1)
