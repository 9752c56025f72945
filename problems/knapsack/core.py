"""The core of a knapsack with one capacity: which items are certain, and what the linear relaxation and greedy fillings say of
the others.

E. Balas and E. Zemel, An algorithm for large zero-one knapsack problems, Operations Research 28, 1980: only items whose density
is near the break item's are uncertain. Those certain are found as G. Ingargiola and J. Korsh do (Management Science 20, 1973):
an item is in every better solution than a known one where the relaxation without it is worth no more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["Outlook", "certain", "look_ahead"]

_AROUND = 30  # items on either side of the break item that greedy fillings force in or out, for a known solution
_NEVER = -1


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


@kernel
def _filling(values: Any, weights: Any, count: Any, left: Any, without: Any) -> Any:
    """What the items 0..count-1 but one are worth that are taken if each that fits is, in their order."""
    total = 0.0
    for i in range(count):
        if weights[i] <= left and i != without:
            left -= weights[i]
            total += values[i]
    return total


@kernel
def _relaxation(values: Any, weights: Any, count: Any, left: Any, without: Any) -> Any:
    """What the items 0..count-1 but one are worth in their order if the last one is taken as far as it fits."""
    total = 0.0
    for i in range(count):
        if i == without:
            continue
        if weights[i] > left:
            return total + values[i] * left / weights[i]
        left -= weights[i]
        total += values[i]
    return total


@kernel
def _break(values: Any, weights: Any, count: Any, left: Any) -> Any:
    """How many items fit together in their order, and what they leave."""
    for i in range(count):
        if weights[i] > left:
            return i, left
        left -= weights[i]
    return count, left


@kernel
def certain(values: Any, weights: Any, capacity: Any, taken: Any, known: Any) -> None:
    """Mark in `taken` [n] items that every solution better than a known one has, and in `known` [n] those of the known one.

    values, weights: float64 [n], those that fit alone, the densest first.
    """
    n = len(values)
    place, _ = _break(values, weights, n, capacity)
    best, forced, without = _filling(values, weights, n, capacity, _NEVER), _NEVER, False
    for i in range(max(0, place - _AROUND), min(n, place + _AROUND)):
        out = _filling(values, weights, n, capacity, i)
        if out > best:
            best, forced, without = out, i, True
        into = values[i] + _filling(values, weights, n, capacity - weights[i], i)
        if into > best:
            best, forced, without = into, i, False
    left = capacity
    known[:] = False
    if forced >= 0 and not without:
        known[forced] = True
        left -= weights[forced]
    for i in range(n):
        if i != forced and weights[i] <= left:
            known[i] = True
            left -= weights[i]
    for i in range(n):
        taken[i] = i < place and _relaxation(values, weights, n, capacity, i) < best * (1.0 - 1e-9)


@kernel
def look_ahead(state: Any, rows: Any, width: Any, seen: Any) -> None:
    """Fill `seen`, an Outlook, for `rows` of a pool of knapsacks with one capacity."""
    most = state.open.shape[1]
    values, weights = np.empty(most), np.empty(most)
    for r in range(len(rows)):
        row = rows[r]
        instance, count = state.instance[row], state.fitting[row]
        first, weights_first = state.first[instance], state.weights_first[instance]
        left = max(0.0, state.limits[state.limits_first[instance]] - state.used[row, 0])
        for i in range(count):
            values[i] = state.values[first + state.open[row, i]]
            weights[i] = state.weights[weights_first + state.open[row, i]]
        place, gap = _break(values, weights, count, left)
        seen.place[r], seen.gap[r] = place, gap
        seen.price[r] = values[place] / weights[place] if place < count else 0.0
        seen.bound[r] = _relaxation(values, weights, count, left, _NEVER)
        best = _filling(values, weights, count, left, _NEVER)
        for i in range(min(count, width)):
            after = left - weights[i]
            seen.bounds[r, i, 0] = _relaxation(values, weights, count, left, i)
            seen.bounds[r, i, 1] = values[i] + _relaxation(values, weights, count, after, i)
            seen.fillings[r, i, 0] = _filling(values, weights, count, left, i)
            seen.fillings[r, i, 1] = values[i] + _filling(values, weights, count, after, i)
            best = max(best, max(seen.fillings[r, i, 0], seen.fillings[r, i, 1]))
        seen.best[r] = best
