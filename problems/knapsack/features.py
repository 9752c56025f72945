"""Features of a partly filled knapsack, relative to the unused capacities and the value of their greedy filling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.tokens import Tokens

__all__ = ["TOKENS", "items", "observe"]

TOKENS = 9
"""The number of features of a token."""
_POSITION, _SACK, _REMAINING = range(6, TOKENS)
"""Indices of the last features: an item's position in the list; the mark of the sack; the number of items that fit."""


def items(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the listed items, and one for the sack, that is, for the state as a whole.

    Items are listed as actions by the environment. Features of an item:

    - its value, in units of the value of the greedy filling of the unused capacities;
    - the largest and the mean share that it uses of the unused capacities, and its value over the mean share;
    - the largest share that it and the items listed before it use together, and whether they fit together;
    - its position in the list.

    Features of the sack are a mark of its token, and the logarithm of the number of items that fit.
    """
    mask, values, weights = observation["mask"], observation["values"], observation["weights"]
    rows, slots = mask.shape
    capacity_left, constraints = observation["left"][:, None, :], observation["constraints"][:, None]
    share = np.where(weights > 0, weights / np.where(capacity_left > 0, capacity_left, 1.0), 0.0)
    max_share, mean_share = share.max(axis=2), share.sum(axis=2) / constraints
    cumulated = np.cumsum(share, axis=1).max(axis=2)
    fits_together = mask & (cumulated <= 1.0)
    best_other = np.where(mask & ~fits_together, values, 0.0).max(axis=1, initial=0.0)
    filling_value = np.maximum((values * fits_together).sum(axis=1), best_other)
    filling_value = np.where(filling_value > 0, filling_value, 1.0)
    value = values / filling_value[:, None]
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    parts = [
        value * np.sqrt(slots),
        max_share,
        mean_share,
        value / np.maximum(mean_share, 1e-6),
        np.minimum(cumulated, 4.0),
        fits_together,
    ]
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(mask, np.minimum(part, 100.0), 0.0)
    x[:, :slots, _POSITION] = np.where(mask, np.arange(slots) / max(1, slots), 0.0)
    x[:, slots, _SACK] = 1.0
    x[:, slots, _REMAINING] = np.log1p(observation["remaining"]) / 5.0
    token_mask = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, token_mask, None, filling_value)


@kernel
def observe(state: Any, rows: Any, actions: Any, values: Any, weights: Any, capacity_left: Any) -> None:
    """Write arrays of `KnapsackEnvironment._observe`, in place.

    Args:
        state: The pool.
        rows: int64 [R], rows of the pool.
        actions: int32 [R, K], the listed items; -1 after the last one.
        values: float64 [R, K], zeros at first.
        weights: float64 [R, K, M], zeros at first.
        capacity_left: float64 [R, M], zeros at first: the unused part of each capacity.
    """
    for k in range(len(rows)):
        row = rows[k]
        instance = state.instance[row]
        m, limits = state.constraints[instance], state.limits_start[instance]
        for i in range(m):
            capacity_left[k, i] = max(0.0, state.limits[limits + i] - state.used[row, i])
        for slot in range(actions.shape[1]):
            item = actions[k, slot]
            if item < 0:
                break
            values[k, slot] = state.values[state.items_start[instance] + item]
            for i in range(m):
                weights[k, slot, i] = state.weights[state.weights_start[instance] + item * m + i]
