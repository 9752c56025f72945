"""Features of a partial solution with a lookahead: the cost of its completion by the savings heuristic after each action.

A plan is such a completion. Lengths are in units of the mean edge of the state's plan, loads in units of the capacity. So the
features do not change when the plane is rotated, mirrored, moved or scaled.
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
"""P: features of a pair of tokens: log(1 + distance), exp(-distance), neighbours in the plan, the same client."""
_TIE = 1e-7  # costs whose difference is smaller, in mean edges, count as equal: they differ by rounding


def savings(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return the tokens of SavingsEnvironment's observations: K slots, the origin (the current vehicle), the depot.

    Their `scale` is the cost of the state's plan. Raises UsageError for observations of other environments.
    """
    if "plans" not in observation:
        raise UsageError("the features 'savings' are for the environment 'savings'; accepted for others: 'routes'")
    mask, distances = observation["mask"], observation["distances"]
    rows, tokens = mask.shape
    plan_cost = np.where(observation["plan"] > 0, observation["plan"], 1.0)
    unit = plan_cost / (observation["remaining"] + 1.0)
    lengths = unit[:, None, None]
    columns = np.stack(np.broadcast_arrays(*_columns(observation, unit[:, None])), axis=-1)
    x = np.zeros((rows, tokens, TOKENS), np.float32)
    x[:, :-2, : columns.shape[2]] = np.where(mask[:, :-2, None], columns, 0.0)
    origin_features = _origin_columns(observation, unit)
    x[:, -2, _ORIGIN] = x[:, -1, _DEPOT] = 1.0
    x[:, -2, : origin_features.shape[1]] = origin_features
    same = observation["clients"][:, :, None] == observation["clients"][:, None, :]
    pairs = np.stack([np.log1p(distances / lengths), np.exp(-distances / lengths), observation["following"], same], axis=-1)
    pairs = np.where((mask[:, :, None] & mask[:, None, :])[..., None], pairs, 0.0).astype(np.float32)
    return Tokens(x, mask, pairs, plan_cost)


def _columns(obs: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return one array per feature of an action, each of shape [R, K], or broadcastable to it."""
    mask, room, fresh = obs["mask"][:, :-2], obs["room"][:, None], obs["fresh"]
    plans = np.where(mask, obs["plans"], np.inf)
    best_plan = plans.min(axis=1, keepdims=True)
    best_plan = np.where(np.isfinite(best_plan), best_plan, 0.0)
    excess = np.where(mask, plans - best_plan, 0.0) / unit
    rank = (excess[:, None, :] < excess[:, :, None] - _TIE).sum(axis=2, where=mask[:, None, :])
    away, home = obs["distances"][:, -2, :-2], obs["distances"][:, :-2, -1]
    origin = obs["distances"][:, -2, -1:]
    demand = obs["demand"][:, :-2]
    room_after = np.where(fresh, 1.0, room) - demand
    neighbour = obs["following"][:, -2, :-2] & ~fresh
    saved = (origin + home - away) / unit
    nearest_two = obs["near"] / unit[..., None]
    return [
        np.log1p(excess), np.exp(-excess), np.exp(-5.0 * excess), excess <= _TIE, np.minimum(rank, 16) / 8.0,
        np.clip((plans - obs["plan"][:, None]) / unit, -2.0, 4.0), fresh, neighbour, obs["ends"], obs["joined"],
        obs["loads"], np.log1p(away / unit), np.log1p(home / unit), np.clip(saved, -8.0, 32.0) / 4.0,
        np.log1p(nearest_two[..., 0]), np.log1p(nearest_two[..., 1]),
        demand, room_after, room, np.where(fresh, room, 0.0), np.log1p(obs["cost"] / unit),
        0.2 * np.log(obs["remaining"][:, None] + 1.0),
        np.minimum(obs["routes"], 4.0)[:, None], (obs["remaining"] > 0)[:, None] & (origin == 0.0) & mask,
    ]  # fmt: skip


def _origin_columns(obs: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64 [R, 7], the features of the origin's token: the current vehicle and the unvisited clients."""
    home, rest = obs["distances"][:, -2, -1] / unit, obs["rest"]
    joined = obs["following"][:, -2, :].any(axis=1)
    spare = np.ceil(rest - 1e-9) - rest
    parts = [np.log1p(home), obs["room"], joined, np.log1p(rest), spare, np.minimum(obs["routes"], 4.0)]
    parts += [np.log1p(obs["remaining"])]
    return np.stack(parts, axis=1)
