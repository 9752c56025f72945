"""Features of a partial solution with two lookaheads: more of plans by savings, and reduced costs in a linear relaxation.

Lengths are in units of the mean edge of the state's plan, loads in units of the capacity. So the features do not change when the
plane is rotated, mirrored, moved or scaled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.vrp.environments.savings.features import PAIRS as SAVINGS_PAIRS
from corl.problems.vrp.environments.savings.features import TOKENS as SAVINGS_TOKENS
from corl.problems.vrp.environments.savings.features import savings
from corl.problems.vrp.environments.savings.savings import SHAPES
from corl.tokens import Tokens

__all__ = ["PAIRS", "TOKENS", "priced"]

TOKENS = SAVINGS_TOKENS + 20 + len(SHAPES)
"""F: features of a token, those of `savings` first."""
PAIRS = SAVINGS_PAIRS + 1
"""P: features of a pair of tokens: those of `savings`, and how often relaxed routes lead from one to the other."""
_MAX_REDUCED = 8.0  # larger reduced costs, in mean edges, are replaced by this


def priced(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return the tokens of PricedEnvironment's observations: K slots, the origin (the current vehicle), the depot.

    Their `scale` is the cost of the state's plan. Raises UsageError for observations of other environments.
    """
    if "reduced" not in observation:
        raise UsageError("the features 'priced' are for the environment 'priced'; accepted for others: 'routes'")
    tokens = savings(observation)
    unit = tokens.scale / (observation["remaining"] + 1.0)
    mask = tokens.mask[:, :-2]
    columns = np.stack(np.broadcast_arrays(*_columns(observation, unit[:, None])), axis=-1)
    x = np.zeros((*tokens.x.shape[:2], TOKENS), np.float32)
    x[..., :SAVINGS_TOKENS] = tokens.x
    more = x[..., SAVINGS_TOKENS:]
    more[:, :-2, : columns.shape[2]] = np.where(mask[..., None], columns, 0.0)
    origin_features = _origin_columns(observation, unit, tokens.scale)
    more[:, -2, : origin_features.shape[1]] = origin_features
    pairs = np.concatenate([tokens.pairs, observation["shares"][..., None].astype(np.float32)], axis=-1)
    return Tokens(x, tokens.mask, pairs, tokens.scale)


def _columns(obs: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return one array per feature of an action, each of shape [R, K], or broadcastable to it."""
    mask, fresh, shares = obs["mask"][:, :-2], obs["fresh"], obs["shares"]
    reduced = np.where(mask, np.minimum(obs["reduced"] / unit, _MAX_REDUCED), _MAX_REDUCED)
    excess = reduced - reduced.min(axis=1, keepdims=True)
    fresh_reduced = np.minimum(obs["fresh_reduced"] / unit, _MAX_REDUCED)
    from_origin, to_depot, origin_to_depot = shares[:, -2, :-2], shares[:, :-2, -1], shares[:, -2, -1:]
    between_actions = np.where(mask[:, None, :], shares[:, :-2, :-2], 0.0)
    best_plan = np.where(mask, obs["plans"], np.inf).min(axis=1, keepdims=True)
    excess_by_shape = np.where(mask[..., None], obs["by_shape"] - best_plan[..., None], 0.0) / unit[..., None]
    home = np.maximum(2.0 * obs["distances"][:, :-2, -1], 0.1 * unit)
    return [
        np.log1p(excess), np.exp(-excess), np.exp(-5.0 * excess), excess <= 1e-9,
        np.log1p(np.maximum(reduced, 0.0)), np.clip(fresh_reduced, -1.0, 4.0), np.exp(-5.0 * np.maximum(fresh_reduced, 0.0)),
        from_origin, np.where(fresh, 0.0, from_origin), np.where(fresh, origin_to_depot, 1.0 - origin_to_depot),
        to_depot, np.where(fresh, to_depot * origin_to_depot, 0.0),
        obs["taken"], between_actions.max(axis=2), obs["through"],
        np.clip(obs["price"] / unit, -2.0, 16.0) / 4.0, np.clip((obs["penalty"] - obs["price"]) / unit, -2.0, 2.0),
        np.clip(obs["price"] / home, -1.0, 4.0), np.where(fresh, 0.0, obs["taken"]),
        *np.log1p(np.maximum(np.moveaxis(excess_by_shape, 2, 0), 0.0)),
    ]  # fmt: skip


def _origin_columns(obs: Mapping[str, NDArray[Any]], unit: NDArray[np.float64], plan: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64 [R, 4], further features of the origin's token: the rest of the current route, and the plan's gap in tenths.

    `plan` is float64 [R], the cost of the state's plan.
    """
    saved = np.maximum((obs["distances"][:, -2, -1] - obs["onward"]) / unit, 0.0)
    gap = np.clip((plan - obs["bound"]) / plan, -0.5, 0.5)
    return np.stack([np.log1p(saved), np.exp(-5.0 * saved), obs["shares"][:, -2, -1], 10.0 * gap], axis=1)
