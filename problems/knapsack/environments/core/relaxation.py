"""The certain items of a knapsack with one capacity, and the linear relaxation and greedy fillings.

The break item is the first item, by density (value over weight), that does not fit with all items before it. Only items whose
density is near that of the break item are uncertain; they are called the core (E. Balas and E. Zemel, An algorithm for large
zero-one knapsack problems, Operations Research 28, 1980). If the linear relaxation without an item is not better than a known
solution, every better solution contains the item: it is certain (G. Ingargiola and J. Korsh, Management Science 20, 1973).
"""

from __future__ import annotations

from typing import Any

from corl.jit import kernel

__all__ = ["NONE", "break_item", "certain", "filling", "relaxation"]

_FORCED_AROUND = 30  # items before and after the break item that are forced in or out, to find the best greedy filling
NONE = -1
"""The argument `without` if no item is excluded."""


@kernel
def filling(values: Any, weights: Any, count: Any, capacity_left: Any, without: Any) -> Any:
    """Return the value of the greedy filling: each item that fits is taken, in the given order.

    Args:
        values: float64 [k], the values of the items.
        weights: float64 [k], the weights of the items.
        count: Only the items 0..count-1 are considered.
        capacity_left: The capacity.
        without: An item to exclude, or NONE.
    """
    total = 0.0
    for i in range(count):
        if weights[i] <= capacity_left and i != without:
            capacity_left -= weights[i]
            total += values[i]
    return total


@kernel
def relaxation(values: Any, weights: Any, count: Any, capacity_left: Any, without: Any) -> Any:
    """Return the value of the linear relaxation: items are taken in order, and of the first that does not fit, a part.

    Args:
        values: float64 [k], the values of the items, by decreasing density.
        weights: float64 [k], the weights of the items.
        count: Only the items 0..count-1 are considered.
        capacity_left: The capacity.
        without: An item to exclude, or NONE.
    """
    total = 0.0
    for i in range(count):
        if i == without:
            continue
        if weights[i] > capacity_left:
            return total + values[i] * capacity_left / weights[i]
        capacity_left -= weights[i]
        total += values[i]
    return total


@kernel
def break_item(values: Any, weights: Any, count: Any, capacity_left: Any) -> Any:
    """Return the index of the break item, and the capacity that the items before it leave.

    Args:
        values: float64 [k], the values of the items, by decreasing density.
        weights: float64 [k], the weights of the items.
        count: Only the items 0..count-1 are considered; `count` is returned if all of them fit together.
        capacity_left: The capacity.
    """
    for i in range(count):
        if weights[i] > capacity_left:
            return i, capacity_left
        capacity_left -= weights[i]
    return count, capacity_left


@kernel
def certain(values: Any, weights: Any, capacity: Any, is_certain: Any, known_items: Any) -> None:
    """Find the items that belong to every solution better than a known solution.

    The known solution is the best of several greedy fillings, each with one item forced in or out.

    Args:
        values: float64 [n], the values of items that fit alone, by decreasing density.
        weights: float64 [n], the weights of the items.
        capacity: The capacity.
        is_certain: bool [n], receives whether each item is certain, in place.
        known_items: bool [n], receives whether each item belongs to the known solution, in place.
    """
    n = len(values)
    break_place, _ = break_item(values, weights, n, capacity)
    best, forced, without = filling(values, weights, n, capacity, NONE), NONE, False
    for i in range(max(0, break_place - _FORCED_AROUND), min(n, break_place + _FORCED_AROUND)):
        value_without = filling(values, weights, n, capacity, i)
        if value_without > best:
            best, forced, without = value_without, i, True
        value_with = values[i] + filling(values, weights, n, capacity - weights[i], i)
        if value_with > best:
            best, forced, without = value_with, i, False
    capacity_left = capacity
    known_items[:] = False
    if forced >= 0 and not without:
        known_items[forced] = True
        capacity_left -= weights[forced]
    for i in range(n):
        if i != forced and weights[i] <= capacity_left:
            known_items[i] = True
            capacity_left -= weights[i]
    for i in range(n):
        is_certain[i] = i < break_place and relaxation(values, weights, n, capacity, i) < best * (1.0 - 1e-9)
