"""What a network sees of a partly filled knapsack: shares of what is left, the greedy filling of it, or a relaxation's view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.tokens import Tokens

__all__ = ["CORE", "TOKENS", "core", "items", "observe"]

TOKENS = 9
"""F of `items`: features of a token."""
CORE = 21
"""F of `core`."""


def items(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """K tokens of the listed items and one of the sack. The unit is the value of the greedy filling of what is left.

    Of an item: its value; the largest and the mean share that it uses of what is left of a capacity; its density; the share
    used by it and those listed before it together, and whether that still fits (as in the relaxation); its place in the
    list. Of the sack: which token it is, and how many items there are (logarithm).
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
    worth = values / scale[:, None]
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    parts = [worth * np.sqrt(slots), most, mean, worth / np.maximum(mean, 1e-6), np.minimum(filled, 4.0), inside]
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(mask, np.minimum(part, 100.0), 0.0)
    x[:, :slots, 6] = np.where(mask, np.arange(slots) / max(1, slots), 0.0)
    x[:, slots, 7] = 1.0
    x[:, slots, 8] = np.log1p(observation["remaining"]) / 5.0
    there = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, there, None, scale)


def core(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """K tokens of the listed items and one of the sack, of CoreEnvironment's observations. The unit is the bound.

    Of an item, without and with it: what the relaxation and the greedy filling fall short of the bound, on the scale of the best
    filling's shortfall and of the mean value; what its greedy filling falls short of the best one. Its reduced value, its weight
    beside what is left and beside the gap that the break item leaves, its place beside the break item. Changing the unit of
    values or of weights changes nothing. Raises UsageError for other observations.
    """
    if "fillings" not in observation:
        raise UsageError("the features 'core' are for the environment 'core'; accepted for others: 'items'")
    mask, values, weights = observation["mask"], observation["values"], observation["weights"][:, :, 0]
    rows, slots = mask.shape
    bound, price = observation["bound"][:, None], observation["price"][:, None]
    left, gap = np.maximum(observation["left"], 1e-300), observation["gap"][:, None]
    listed = np.maximum(1, mask.sum(axis=1))[:, None]
    mean = np.maximum(values.sum(axis=1, keepdims=True) / listed, 1e-300)
    heavy = np.maximum(weights.sum(axis=1, keepdims=True) / listed, 1e-300)
    short = np.maximum(bound - observation["best"][:, None], 1e-3 * mean)
    reduced = values - price * weights
    order = np.arange(slots) - observation["place"][:, None]
    parts = [reduced / mean, np.log1p(np.abs(reduced) / short), values / mean, weights / left, weights / heavy]
    parts += [np.arcsinh((weights - gap) / (0.1 * heavy)), weights <= gap, order < 0, np.clip(order / 8.0, -4.0, 4.0)]
    for side in (0, 1):
        fall, filled = bound - observation["bounds"][:, :, side], bound - observation["fillings"][:, :, side]
        worse = observation["best"][:, None] - observation["fillings"][:, :, side]
        parts += [np.log1p(np.maximum(fall, 0.0) / short), np.log1p(np.maximum(filled, 0.0) / short)]
        parts += [np.log1p(np.maximum(worse, 0.0) / short), worse <= 1e-9 * bound]
    x = np.zeros((rows, slots + 1, CORE), np.float32)
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(mask, np.clip(part, -100.0, 100.0), 0.0)
    k = len(parts)
    x[:, slots, k] = 1.0
    x[:, slots, k + 1] = np.log1p(observation["remaining"]) / 5.0
    x[:, slots, k + 2], x[:, slots, k + 3] = np.log(short / mean)[:, 0], np.minimum(gap / heavy, 10.0)[:, 0]
    there = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, there, None, np.maximum(observation["bound"], 1e-300))


@kernel
def observe(state: Any, rows: Any, actions: Any, values: Any, weights: Any, left: Any) -> None:
    """Fill values [R, K] and weights [R, K, M] of the listed actions, and left [R, M], as KnapsackEnvironment.observe says."""
    for k in range(len(rows)):
        row = rows[k]
        instance = state.instance[row]
        m, limits = state.constraints[instance], state.limits_first[instance]
        for i in range(m):
            left[k, i] = max(0.0, state.limits[limits + i] - state.used[row, i])
        for slot in range(actions.shape[1]):
            item = actions[k, slot]
            if item < 0:
                break
            values[k, slot] = state.values[state.first[instance] + item]
            for i in range(m):
                weights[k, slot, i] = state.weights[state.weights_first[instance] + item * m + i]
