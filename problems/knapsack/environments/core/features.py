"""Features of a partly filled knapsack with one capacity, from the linear relaxation and greedy fillings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.knapsack.environments.core.relaxation import NONE, break_item, filling, relaxation
from corl.tokens import Tokens

__all__ = ["TOKENS", "CoreLookahead", "core", "observe"]

TOKENS = 21
"""F: features of a token, first those of an item and then those of the sack."""
_SACK, _REMAINING, _SHORT, _GAP = range(TOKENS - 4, TOKENS)


class CoreLookahead(NamedTuple):
    """Bounds and greedy fillings for R states with K listed items; values are in the instance's units, 0 in empty slots."""

    bound: NDArray[np.float64]
    """[R] the value of the linear relaxation of the remaining knapsack."""
    best: NDArray[np.float64]
    """[R] the largest value in `fillings`."""
    price: NDArray[np.float64]
    """[R] the density of the break item; 0 if all items that fit also fit together."""
    gap: NDArray[np.float64]
    """[R] the capacity that remains after the items before the break item."""
    place: NDArray[np.int32]
    """[R] the number of items before the break item."""
    bounds: NDArray[np.float64]
    """[R, K, 2] the value of the linear relaxation without and with each listed item."""
    fillings: NDArray[np.float64]
    """[R, K, 2] the value of the greedy filling by density, without and with each listed item."""

    @classmethod
    def empty(cls, rows: int, width: int) -> CoreLookahead:
        """Return zeros for `rows` states with `width` listed items."""
        one, each = (np.zeros(rows) for _ in range(4)), (np.zeros((rows, width, 2)) for _ in range(2))
        bound, best, price, gap = one
        return cls(bound, best, price, gap, np.zeros(rows, np.int32), *each)


def core(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the listed items and one for the sack, from the observations of CoreEnvironment.

    Features of an item: its reduced value; its weight relative to the unused capacity and to the gap that the break item leaves;
    its position relative to the break item. And twice, without and with the item: by how much the relaxation and the greedy
    filling fall short of the bound, on the scale of the best filling's shortfall and of the mean value; by how much its greedy
    filling falls short of the best one. The unit of values is the bound: changing the unit of values or weights changes nothing.
    Raises UsageError for other observations.
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
    token_mask = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, token_mask, None, np.maximum(observation["bound"], 1e-300))


@kernel
def observe(state: Any, rows: Any, actions: Any, lookahead: Any) -> None:
    """Compute the lookahead of knapsacks with one capacity, in place.

    Args:
        state: The pool.
        rows: int64 [R].
        actions: int32 [R, K], the listed items; -1 after the last.
        lookahead: A CoreLookahead of zeros, which is filled.
    """
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
        lookahead.place[r], lookahead.gap[r] = place, gap
        lookahead.price[r] = values[place] / weights[place] if place < count else 0.0
        lookahead.bound[r] = relaxation(values, weights, count, left, NONE)
        best = filling(values, weights, count, left, NONE)
        for i in range(min(count, actions.shape[1])):
            after = left - weights[i]
            lookahead.bounds[r, i, 0] = relaxation(values, weights, count, left, i)
            lookahead.bounds[r, i, 1] = values[i] + relaxation(values, weights, count, after, i)
            lookahead.fillings[r, i, 0] = filling(values, weights, count, left, i)
            lookahead.fillings[r, i, 1] = values[i] + filling(values, weights, count, after, i)
            best = max(best, max(lookahead.fillings[r, i, 0], lookahead.fillings[r, i, 1]))
        lookahead.best[r] = best
