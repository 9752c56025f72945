"""Features of a partly filled knapsack with one capacity, from the linear relaxation and greedy fillings (relaxation.py).

The break item is the first item, by density (value over weight), that does not fit with all items before it.
"""

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
"""The number of features of a token: first those of an item, then those of the sack, that is, of the state as a whole."""
_SACK, _REMAINING, _SHORTFALL, _GAP = range(TOKENS - 4, TOKENS)


class CoreLookahead(NamedTuple):
    """Bounds and greedy fillings for R states with K listed items. Values are in the instance's unit, 0 in empty slots."""

    bound: NDArray[np.float64]
    """[R] the value of the linear relaxation of the remaining knapsack."""
    best: NDArray[np.float64]
    """[R] the largest value in `fillings`."""
    price: NDArray[np.float64]
    """[R] the density of the break item; 0 if all remaining items fit together."""
    gap: NDArray[np.float64]
    """[R] the capacity that the items before the break item leave."""
    place: NDArray[np.int32]
    """[R] the number of items before the break item."""
    bounds: NDArray[np.float64]
    """[R, K, 2] the value of the linear relaxation without and with each listed item."""
    fillings: NDArray[np.float64]
    """[R, K, 2] the value of the greedy filling by density, without and with each listed item."""

    @classmethod
    def empty(cls, rows: int, width: int) -> CoreLookahead:
        """Return the arrays for `rows` states with `width` listed items, filled with zeros."""
        zeros, pairs = (np.zeros(rows) for _ in range(4)), (np.zeros((rows, width, 2)) for _ in range(2))
        bound, best, price, gap = zeros
        return cls(bound, best, price, gap, np.zeros(rows, np.int32), *pairs)


def core(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K tokens for the listed items and one for the sack, from an observation of CoreEnvironment.

    Items are listed as actions by the environment. Features of an item:

    - its reduced value (value minus the price of its weight), its value and its weight, in several units;
    - the difference between its weight and the gap before the break item, and its position relative to the break item;
    - twice, without and with the item: how far the relaxation and the greedy filling are below the bound, and the filling below
      the best filling, in units of the distance between the bound and the best filling.

    Features do not change with the unit of values or of weights. The unit of the returned tokens is the bound. Raises UsageError
    for other observations.
    """
    if "fillings" not in observation:
        raise UsageError("the features 'core' are for the environment 'core'; accepted for others: 'items'")
    mask, values, weights = observation["mask"], observation["values"], observation["weights"][:, :, 0]
    rows, slots = mask.shape
    bound, price = observation["bound"][:, None], observation["price"][:, None]
    capacity_left, gap = np.maximum(observation["left"], 1e-300), observation["gap"][:, None]
    listed = np.maximum(1, mask.sum(axis=1))[:, None]
    mean_value = np.maximum(values.sum(axis=1, keepdims=True) / listed, 1e-300)
    mean_weight = np.maximum(weights.sum(axis=1, keepdims=True) / listed, 1e-300)
    shortfall = np.maximum(bound - observation["best"][:, None], 1e-3 * mean_value)
    reduced = values - price * weights
    break_offset = np.arange(slots) - observation["place"][:, None]
    parts = [
        reduced / mean_value,
        np.log1p(np.abs(reduced) / shortfall),
        values / mean_value,
        weights / capacity_left,
        weights / mean_weight,
    ]
    parts += [
        np.arcsinh((weights - gap) / (0.1 * mean_weight)),
        weights <= gap,
        break_offset < 0,
        np.clip(break_offset / 8.0, -4.0, 4.0),
    ]
    for side in (0, 1):
        bound_loss, filling_loss = bound - observation["bounds"][:, :, side], bound - observation["fillings"][:, :, side]
        filling_worse = observation["best"][:, None] - observation["fillings"][:, :, side]
        parts += [np.log1p(np.maximum(bound_loss, 0.0) / shortfall), np.log1p(np.maximum(filling_loss, 0.0) / shortfall)]
        parts += [np.log1p(np.maximum(filling_worse, 0.0) / shortfall), filling_worse <= 1e-9 * bound]
    x = np.zeros((rows, slots + 1, TOKENS), np.float32)
    for k, part in enumerate(parts):
        x[:, :slots, k] = np.where(mask, np.clip(part, -100.0, 100.0), 0.0)
    x[:, slots, _SACK] = 1.0
    x[:, slots, _REMAINING] = np.log1p(observation["remaining"]) / 5.0
    x[:, slots, _SHORTFALL], x[:, slots, _GAP] = np.log(shortfall / mean_value)[:, 0], np.minimum(gap / mean_weight, 10.0)[:, 0]
    token_mask = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    return Tokens(x, token_mask, None, np.maximum(observation["bound"], 1e-300))


@kernel
def observe(state: Any, rows: Any, actions: Any, lookahead: Any) -> None:
    """Write the bounds and greedy fillings of knapsacks with one capacity to `lookahead`, in place.

    Args:
        state: The pool.
        rows: int64 [R], rows of the pool.
        actions: int32 [R, K], the listed items; -1 after the last one.
        lookahead: CoreLookahead.empty(R, K), which receives the results.
    """
    max_items = state.open.shape[1]
    values, weights = np.empty(max_items), np.empty(max_items)
    for r in range(len(rows)):
        row = rows[r]
        instance, count = state.instance[row], state.fitting[row]
        first, weights_start = state.items_start[instance], state.weights_start[instance]
        capacity_left = max(0.0, state.limits[state.limits_start[instance]] - state.used[row, 0])
        for i in range(count):
            values[i] = state.values[first + state.open[row, i]]
            weights[i] = state.weights[weights_start + state.open[row, i]]
        break_place, gap = break_item(values, weights, count, capacity_left)
        lookahead.place[r], lookahead.gap[r] = break_place, gap
        lookahead.price[r] = values[break_place] / weights[break_place] if break_place < count else 0.0
        lookahead.bound[r] = relaxation(values, weights, count, capacity_left, NONE)
        best = filling(values, weights, count, capacity_left, NONE)
        for i in range(min(count, actions.shape[1])):
            capacity_after = capacity_left - weights[i]
            lookahead.bounds[r, i, 0] = relaxation(values, weights, count, capacity_left, i)
            lookahead.bounds[r, i, 1] = values[i] + relaxation(values, weights, count, capacity_after, i)
            lookahead.fillings[r, i, 0] = filling(values, weights, count, capacity_left, i)
            lookahead.fillings[r, i, 1] = values[i] + filling(values, weights, count, capacity_after, i)
            best = max(best, max(lookahead.fillings[r, i, 0], lookahead.fillings[r, i, 1]))
        lookahead.best[r] = best
