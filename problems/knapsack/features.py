"""Features of a partly filled knapsack, relative to what is left: the unused capacities and their greedy filling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.tokens import Tokens

__all__ = ["TOKENS", "items", "observe"]

TOKENS = 9
"""F: features of a token."""
_PLACE, _SACK, _REMAINING = range(6, TOKENS)
"""The columns after those of an item's value and shares."""


def items(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the listed items and one for the sack.

    The unit of values is the value of the greedy filling of the unused capacities. Features of an item: its value; the largest
    and the mean share that it uses of the unused capacities; its density; the share used by it and the items listed before it
    together, and whether they still fit (as in the linear relaxation); its position in the list. Features of the sack: a mark of
    its token, and the number of items that fit (logarithm).
    """
    mask, values, weights = observation["mask"], observation["values"], observation["weights"]
    rows, slots = mask.shape
    left, constraints = observation["left"][:, None, :], observation["constraints"][:, None]
    share = np.where(weights > 0, weights / np.where(left > 0, left, 1.0), 0.0)
    most, mean = share.max(axis=2), share.sum(axis=2) / constraints
    filled = np.cumsum(share, axis=1).max(axis=2)
    inside = mask & (filled <= 1.0)
    rest = np.where(mask & ~inside, values, 0.0).max(axis=1, initial=0.0)
    scale = np.maximum((values * inside).sum(axis=1), rest)
    scale = np.where(scale > 0, scale, 1.0)
    value = values / scale[:, None]
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    parts = [value * np.sqrt(slots), most, mean, value / np.maximum(mean, 1e-6), np.minimum(filled, 4.0), inside]
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(mask, np.minimum(part, 100.0), 0.0)
    x[:, :slots, _PLACE] = np.where(mask, np.arange(slots) / max(1, slots), 0.0)
    x[:, slots, _SACK] = 1.0
    x[:, slots, _REMAINING] = np.log1p(observation["remaining"]) / 5.0
    token_mask = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, token_mask, None, scale)


@kernel
def observe(state: Any, rows: Any, actions: Any, values: Any, weights: Any, left: Any) -> None:
    """Write the arrays of KnapsackEnvironment._observe, in place.

    Args:
        state: The pool.
        rows: int64 [R].
        actions: int32 [R, K], the listed items; -1 after the last.
        values: float64 [R, K], zeros at first.
        weights: float64 [R, K, M], zeros at first.
        left: float64 [R, M], zeros at first: the unused part of each capacity.
    """
    for k in range(len(rows)):
        row = rows[k]
        instance = state.instance[row]
        m, limits = state.constraints[instance], state.limits_start[instance]
        for i in range(m):
            left[k, i] = max(0.0, state.limits[limits + i] - state.used[row, i])
        for slot in range(actions.shape[1]):
            item = actions[k, slot]
            if item < 0:
                break
            values[k, slot] = state.values[state.items_start[instance] + item]
            for i in range(m):
                weights[k, slot, i] = state.weights[state.weights_start[instance] + item * m + i]
