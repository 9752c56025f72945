"""What a network sees of a partial solution with capacities alone: plans by savings, and a relaxation of all that remains.

Lengths are in units of the plan's mean edge, loads in units of the capacity; turning, mirroring, moving or scaling the plane
changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.environments.savings.features import savings
from corl.tokens import Tokens

__all__ = ["PAIRS", "TOKENS", "priced"]

TOKENS = 28 + 20
"""F: features of a token, those of savings first."""
PAIRS = 4 + 1
"""P: features of a pair of tokens, those of savings first, and how often relaxed routes go from one to the other."""
_MOST = 8.0  # a reduced cost counts as no more, in mean edges


def priced(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Tokens of PricedEnvironment's observations: K slots, the origin, the depot. The unit `scale` is the plan's cost."""
    tokens = savings(observation)
    unit = tokens.scale / (observation["remaining"] + 1.0)
    mask = tokens.mask[:, :-2]
    columns = np.stack(np.broadcast_arrays(*_columns(observation, unit[:, None])), axis=-1)
    x = np.zeros((*tokens.x.shape[:2], TOKENS), np.float32)
    x[..., : tokens.x.shape[2]] = tokens.x
    more = x[..., tokens.x.shape[2] :]
    more[:, :-2, : columns.shape[2]] = np.where(mask[..., None], columns, 0.0)
    whole = _whole(observation, unit, tokens.scale)
    more[:, -2, : whole.shape[1]] = whole
    pairs = np.concatenate([tokens.pairs, observation["shares"][..., None].astype(np.float32)], axis=-1)
    return Tokens(x, tokens.mask, pairs, tokens.scale)


def _columns(seen: Mapping[str, NDArray[Any]], unit: NDArray[np.float64]) -> list[NDArray[Any]]:
    """[R, K] for each feature of an action."""
    mask, fresh, shares = seen["mask"][:, :-2], seen["fresh"], seen["shares"]
    reduced = np.where(mask, np.minimum(seen["reduced"] / unit, _MOST), _MOST)
    worse = reduced - reduced.min(axis=1, keepdims=True)
    begins = np.minimum(seen["fresh_reduced"] / unit, _MOST)
    onward, home, leaves = shares[:, -2, :-2], shares[:, :-2, -1], shares[:, -2, -1:]
    among = np.where(mask[:, None, :], shares[:, :-2, :-2], 0.0)
    return [
        np.log1p(np.maximum(worse, 0.0)), np.exp(-worse), np.exp(-5.0 * np.maximum(worse, 0.0)), worse <= 1e-9,
        np.log1p(np.maximum(reduced, 0.0)), np.clip(begins, -1.0, 4.0), np.exp(-5.0 * np.maximum(begins, 0.0)),
        onward, np.where(fresh, 0.0, onward), np.where(fresh, leaves, 1.0 - leaves), home, np.where(fresh, home * leaves, 0.0),
        seen["taken"], among.max(axis=2), seen["through"],
        np.clip(seen["price"] / unit, -2.0, 16.0) / 4.0, np.clip((seen["penalty"] - seen["price"]) / unit, -2.0, 2.0),
        np.clip(seen["price"] / np.maximum(2.0 * seen["distances"][:, :-2, -1], 0.1 * unit), -1.0, 4.0),
        np.where(fresh, 0.0, seen["taken"]),
    ]  # fmt: skip


def _whole(seen: Mapping[str, NDArray[Any]], unit: NDArray[np.float64], plan: NDArray[np.float64]) -> NDArray[np.float64]:
    """[R, 4] what the token of the origin has: of the rest of the route under way, and how far the plan is above the bound."""
    back = (seen["distances"][:, -2, -1] - seen["onward"]) / unit
    over = np.clip((plan - seen["bound"]) / plan, -0.5, 0.5)
    parts = [np.log1p(np.maximum(back, 0.0)), np.exp(-5.0 * np.maximum(back, 0.0)), seen["shares"][:, -2, -1], 10.0 * over]
    return np.stack(parts, axis=1)
