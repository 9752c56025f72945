"""What a network sees of a partly filled knapsack with one capacity: what the linear relaxation and greedy fillings say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.knapsack.environments.core.relaxation import NONE, break_item, filling, relaxation
from corl.tokens import Tokens

__all__ = ["TOKENS", "Outlook", "core", "observe"]

TOKENS = 21
"""F: features of a token, of an item and then of the sack."""
_SACK, _REMAINING, _SHORT, _GAP = range(TOKENS - 4, TOKENS)


class Outlook(NamedTuple):
    """Of R states with K listed items; values in the instance's units, 0 in empty slots."""

    bound: NDArray[np.float64]
    """[R] the linear relaxation of what is left."""
    best: NDArray[np.float64]
    """[R] the best of the fillings below."""
    price: NDArray[np.float64]
    """[R] the density of the break item, 0 where all that fits alone fits together."""
    gap: NDArray[np.float64]
    """[R] the capacity that the items before the break item leave."""
    place: NDArray[np.int32]
    """[R] how many items are before the break item."""
    bounds: NDArray[np.float64]
    """[R, K, 2] the linear relaxation without and with each listed item."""
    fillings: NDArray[np.float64]
    """[R, K, 2] what the greedy filling by density is worth, likewise."""

    @classmethod
    def empty(cls, rows: int, width: int) -> Outlook:
        """For so many rows, nothing in them yet."""
        one, each = (np.zeros(rows) for _ in range(4)), (np.zeros((rows, width, 2)) for _ in range(2))
        bound, best, price, gap = one
        return cls(bound, best, price, gap, np.zeros(rows, np.int32), *each)


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
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(mask, np.clip(part, -100.0, 100.0), 0.0)
    x[:, slots, _SACK] = 1.0
    x[:, slots, _REMAINING] = np.log1p(observation["remaining"]) / 5.0
    x[:, slots, _SHORT], x[:, slots, _GAP] = np.log(short / mean)[:, 0], np.minimum(gap / heavy, 10.0)[:, 0]
    there = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, there, None, np.maximum(observation["bound"], 1e-300))


@kernel
def observe(state: Any, rows: Any, actions: Any, seen: Any) -> None:
    """Fill `seen`, an Outlook, for `rows` of a pool of knapsacks with one capacity, whose `actions` [R, K] are listed."""
    most = state.open.shape[1]
    values, weights = np.empty(most), np.empty(most)
    for r in range(len(rows)):
        row = rows[r]
        instance, count = state.instance[row], state.fitting[row]
        first, weights_start = state.items_start[instance], state.weights_start[instance]
        left = max(0.0, state.limits[state.limits_start[instance]] - state.used[row, 0])
        for i in range(count):
            values[i] = state.values[first + state.open[row, i]]
            weights[i] = state.weights[weights_start + state.open[row, i]]
        place, gap = break_item(values, weights, count, left)
        seen.place[r], seen.gap[r] = place, gap
        seen.price[r] = values[place] / weights[place] if place < count else 0.0
        seen.bound[r] = relaxation(values, weights, count, left, NONE)
        best = filling(values, weights, count, left, NONE)
        for i in range(min(count, actions.shape[1])):
            after = left - weights[i]
            seen.bounds[r, i, 0] = relaxation(values, weights, count, left, i)
            seen.bounds[r, i, 1] = values[i] + relaxation(values, weights, count, after, i)
            seen.fillings[r, i, 0] = filling(values, weights, count, left, i)
            seen.fillings[r, i, 1] = values[i] + filling(values, weights, count, after, i)
            best = max(best, max(seen.fillings[r, i, 0], seen.fillings[r, i, 1]))
        seen.best[r] = best
