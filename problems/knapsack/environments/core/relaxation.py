"""The core of a knapsack with one capacity: which items are certain, and what the linear relaxation and greedy fillings say of
the others.

E. Balas and E. Zemel, An algorithm for large zero-one knapsack problems, Operations Research 28, 1980: only items whose density
is near the break item's are uncertain. Those certain are found as G. Ingargiola and J. Korsh do (Management Science 20, 1973):
an item is in every better solution than a known one where the relaxation without it is worth no more.
"""

from __future__ import annotations

from typing import Any

from corl.jit import kernel

__all__ = ["NONE", "break_item", "certain", "filling", "relaxation"]

_AROUND = 30  # items on either side of the break item that greedy fillings force in or out, for a known solution
NONE = -1
"""No item, where one may be left out."""


@kernel
def filling(values: Any, weights: Any, count: Any, left: Any, without: Any) -> Any:
    """What the items 0..count-1 but one are worth that are taken if each that fits is, in their order."""
    total = 0.0
    for i in range(count):
        if weights[i] <= left and i != without:
            left -= weights[i]
            total += values[i]
    return total


@kernel
def relaxation(values: Any, weights: Any, count: Any, left: Any, without: Any) -> Any:
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
def break_item(values: Any, weights: Any, count: Any, left: Any) -> Any:
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
    place, _ = break_item(values, weights, n, capacity)
    best, forced, without = filling(values, weights, n, capacity, NONE), NONE, False
    for i in range(max(0, place - _AROUND), min(n, place + _AROUND)):
        out = filling(values, weights, n, capacity, i)
        if out > best:
            best, forced, without = out, i, True
        into = values[i] + filling(values, weights, n, capacity - weights[i], i)
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
        taken[i] = i < place and relaxation(values, weights, n, capacity, i) < best * (1.0 - 1e-9)
