"""A binary heap of pairs (key, item) in two arrays, the least key first (Williams, Communications of the ACM 7, 1964).

The names are those of Python's `heapq`. A heap of `count` entries fills keys[:count] and items[:count]; the children of place k
are 2 k + 1 and 2 k + 2, and keys[0], items[0] is the first entry. All functions modify both arrays in place, in O(log count)
steps.

If `by_item` is true, entries with equal keys are ordered by item, so that the order of all entries is unique. Otherwise it
depends on the order of insertion. `by_item` must have the same value in all calls for a heap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel

__all__ = ["heap_pop", "heap_push", "heap_replace"]

_ZERO, _ONE = np.uint64(0), np.uint64(1)  # indices are unsigned, as numba then omits the check for negative ones


@kernel(inline=True, borrow=True)
def _precedes(key: Any, item: Any, other_key: Any, other_item: Any, by_item: Any) -> Any:
    """Return whether an entry comes before another one."""
    return key < other_key or (by_item and key == other_key and item < other_item)


@kernel(inline=True, borrow=True)
def heap_push(keys: Any, items: Any, count: Any, key: Any, item: Any, by_item: Any) -> Any:
    """Add an entry to a heap.

    Args:
        keys: array [> count], in place.
        items: integer array [> count], in place.
        count: number of entries before.
        key, item: the new entry.
        by_item: whether the lower item comes first if keys are equal.

    Returns:
        The number of entries, count + 1.
    """
    k = np.uint64(count)
    while k != _ZERO:
        parent = (k - _ONE) >> _ONE
        if not _precedes(key, item, keys[parent], items[parent], by_item):
            break
        keys[k], items[k] = keys[parent], items[parent]
        k = parent
    keys[k], items[k] = key, item
    return np.int64(count) + 1


@kernel(inline=True, borrow=True)
def heap_replace(keys: Any, items: Any, count: Any, key: Any, item: Any, by_item: Any) -> None:
    """Remove the first entry of a heap and add another one.

    Args:
        keys: array [>= count], in place.
        items: integer array [>= count], in place.
        count: number of entries, the removed one included.
        key, item: the new entry.
        by_item: whether the lower item comes first if keys are equal.
    """
    k, child, end = _ZERO, _ONE, np.uint64(count)
    while child < end:
        right = child + _ONE
        if right < end and _precedes(keys[right], items[right], keys[child], items[child], by_item):
            child = right
        if not _precedes(keys[child], items[child], key, item, by_item):
            break
        keys[k], items[k] = keys[child], items[child]
        k, child = child, child + child + _ONE
    keys[k], items[k] = key, item


@kernel(inline=True, borrow=True)
def heap_pop(keys: Any, items: Any, count: Any, by_item: Any) -> Any:
    """Remove the first entry of a heap. The caller reads it from keys[0] and items[0] before.

    Args:
        keys: array [>= count], in place.
        items: integer array [>= count], in place.
        count: number of entries before, at least 1.
        by_item: whether the lower item comes first if keys are equal.

    Returns:
        The number of entries, count - 1.
    """
    last = np.int64(count) - 1
    heap_replace(keys, items, last, keys[last], items[last], by_item)
    return last
