"""The core of a knapsack with one capacity: certain items, and the linear relaxation and greedy fillings of the others.

E. Balas and E. Zemel, An algorithm for large zero-one knapsack problems, Operations Research 28, 1980: only items whose density
is near the break item's are uncertain. Certain items are found as by G. Ingargiola and J. Korsh (Management Science 20, 1973):
if the relaxation without an item is not better than a known solution, every better solution contains the item.
"""

from __future__ import annotations

from typing import Any

from corl.jit import kernel

__all__ = ["NONE", "break_item", "certain", "filling", "relaxation"]

_AROUND = 30  # items on either side of the break item that are forced in or out for the best known greedy filling
NONE = -1
"""The argument `without` if no item is excluded."""


@kernel
def filling(values: Any, weights: Any, count: Any, left: Any, without: Any) -> Any:
    """Return the value of the greedy filling: each item that fits is taken, in the given order.

    Args:
        values: float64 [k].
        weights: float64 [k].
        count: Only the items 0..count-1 are considered.
        left: The capacity.
        without: An item to exclude, or NONE.
    """
    total = 0.0
    for i in range(count):
        if weights[i] <= left and i != without:
            left -= weights[i]
            total += values[i]
    return total


@kernel
def relaxation(values: Any, weights: Any, count: Any, left: Any, without: Any) -> Any:
    """Return the value of the linear relaxation, of items by decreasing density: the last item is taken fractionally.

    Args:
        values: float64 [k].
        weights: float64 [k].
        count: Only the items 0..count-1 are considered.
        left: The capacity.
        without: An item to exclude, or NONE.
    """
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
    """Return the index of the break item, the first that does not fit with all before it, and the capacity before it.

    Args:
        values: float64 [k].
        weights: float64 [k].
        count: Only the items 0..count-1 are considered; `count` is returned if all of them fit together.
        left: The capacity.
    """
    for i in range(count):
        if weights[i] > left:
            return i, left
        left -= weights[i]
    return count, left


@kernel
def certain(values: Any, weights: Any, capacity: Any, taken: Any, known: Any) -> None:
    """Find the items that belong to every solution better than a known one.

    Args:
        values: float64 [n], of items that fit alone, by decreasing density.
        weights: float64 [n].
        capacity: The capacity.
        taken: bool [n], written in place: the certain items.
        known: bool [n], written in place: the items of the known solution.
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
