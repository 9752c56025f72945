"""Binary search in a part of a sorted array, or in a part of a list whose items are sorted by their values ("_by").

The names are those of Python's `bisect`: `left` finds the first place at which a key could be inserted, `right` the last one. A
place is an int64 from `begin` to `end`. A search takes O(log(end - begin)) comparisons and modifies nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel

__all__ = ["bisect_left", "bisect_left_by", "bisect_left_falling_by", "bisect_right", "bisect_right_by"]


@kernel(inline=True, borrow=True)
def bisect_left(values: Any, begin: Any, end: Any, key: Any) -> Any:
    """Return the first place in begin..end - 1 whose value is at least `key`; `end` if there is none.

    Args:
        values: array [>= end], ascending over begin..end - 1.
        begin, end: the part to search.
        key: a number.
    """
    low, high = np.int64(begin), np.int64(end)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(inline=True, borrow=True)
def bisect_right(values: Any, begin: Any, end: Any, key: Any) -> Any:
    """Return the first place in begin..end - 1 whose value is above `key`; `end` if there is none.

    Args:
        values: array [>= end], ascending over begin..end - 1.
        begin, end: the part to search.
        key: a number.
    """
    low, high = np.int64(begin), np.int64(end)
    while low < high:
        middle = (low + high) // 2
        if values[middle] > key:
            high = middle
        else:
            low = middle + 1
    return low


@kernel(inline=True, borrow=True)
def bisect_left_by(values: Any, items: Any, begin: Any, end: Any, key: Any) -> Any:
    """Return the first place in begin..end - 1 whose item has a value of at least `key`; `end` if there is none.

    Args:
        values: array [V], by item.
        items: integer array [>= end] of indices into `values`; values[items[begin:end]] ascends.
        begin, end: the part to search.
        key: a number.
    """
    low, high = np.int64(begin), np.int64(end)
    while low < high:
        middle = (low + high) // 2
        if values[items[middle]] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(inline=True, borrow=True)
def bisect_left_falling_by(values: Any, items: Any, begin: Any, end: Any, key: Any) -> Any:
    """Return the first place in begin..end - 1 whose item has a value of at most `key`; `end` if there is none.

    Args:
        values: array [V], by item.
        items: integer array [>= end] of indices into `values`; values[items[begin:end]] descends.
        begin, end: the part to search.
        key: a number.
    """
    low, high = np.int64(begin), np.int64(end)
    while low < high:
        middle = (low + high) // 2
        if values[items[middle]] > key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(inline=True, borrow=True)
def bisect_right_by(values: Any, items: Any, begin: Any, end: Any, key: Any) -> Any:
    """Return the first place in begin..end - 1 whose item has a value above `key`; `end` if there is none.

    Args:
        values: array [V], by item.
        items: integer array [>= end] of indices into `values`; values[items[begin:end]] ascends.
        begin, end: the part to search.
        key: a number.
    """
    low, high = np.int64(begin), np.int64(end)
    while low < high:
        middle = (low + high) // 2
        if values[items[middle]] > key:
            high = middle
        else:
            low = middle + 1
    return low
