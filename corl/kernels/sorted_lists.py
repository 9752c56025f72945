"""Short sorted lists in arrays: insertion into a list of limited length, and insertion sort.

A list of `count` entries is the beginning of two arrays, keys and items, sorted by ascending keys. (For descending order, negate
the keys.) An insertion takes O(count) steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel

__all__ = ["insert_nearest", "insert_sorted", "sort_keys", "sort_pairs", "too_far"]


@kernel(inline=True, borrow=True)
def insert_sorted(keys: Any, items: Any, count: Any, key: Any, item: Any) -> Any:
    """Insert an entry after all entries with smaller or equal keys, so that equal keys stay in the order of insertion.

    If the list is full, the last entry is dropped; nothing happens if the new entry would come after it.

    Args:
        keys: array [K], in place; K = len(items) is the greatest length of the list, at least 1.
        items: array [K], in place.
        count: number of entries before.
        key, item: the new entry.

    Returns:
        The number of entries.
    """
    i = np.int64(count)
    if i == len(items):
        i -= 1
        if key >= keys[i]:
            return i + 1
    end = i + 1
    while i > 0 and keys[i - 1] > key:
        keys[i], items[i] = keys[i - 1], items[i - 1]
        i -= 1
    keys[i], items[i] = key, item
    return end


@kernel(inline=True, borrow=True)
def too_far(lengths: Any, nodes: Any, count: Any, length: Any, node: Any) -> Any:
    """Return whether `insert_nearest` with the same arguments would change nothing."""
    return count == len(nodes) and (length > lengths[-1] or (length == lengths[-1] and node > nodes[-1]))


@kernel(inline=True, borrow=True)
def insert_nearest(lengths: Any, nodes: Any, count: Any, length: Any, node: Any) -> Any:
    """Insert a node into a list sorted by length and, for equal lengths, by node.

    If the list is full, the last entry is dropped; nothing happens if the new entry would come after it.

    Args:
        lengths: array [K], in place; K is the greatest length of the list, at least 1.
        nodes: integer array [K], in place.
        count: number of entries before.
        length, node: the new entry.

    Returns:
        The number of entries.
    """
    if too_far(lengths, nodes, count, length, node):
        return count
    count = min(count + 1, len(nodes))
    i = count - 1
    while i > 0 and (lengths[i - 1] > length or (lengths[i - 1] == length and nodes[i - 1] > node)):
        lengths[i], nodes[i] = lengths[i - 1], nodes[i - 1]
        i -= 1
    lengths[i], nodes[i] = length, node
    return count


@kernel(inline=True, borrow=True)
def sort_keys(keys: Any, count: Any) -> None:
    """Sort keys[:count] in place, ascending: insertion sort, for many keys after passes over distant keys (Shell's method).

    Args:
        keys: array [>= count], in place.
        count: number of keys.
    """
    gap = count if count > 40 else 2
    while gap > 1:
        gap = max(1, gap * 5 // 11)  # Gonnet & Baeza-Yates, Handbook of Algorithms and Data Structures, 1991
        for k in range(gap, count):
            key, i = keys[k], k
            while i >= gap and keys[i - gap] > key:
                keys[i] = keys[i - gap]
                i -= gap
            keys[i] = key


@kernel(inline=True, borrow=True)
def sort_pairs(keys: Any, items: Any, count: Any) -> None:
    """Sort the pairs (keys[k], items[k]), k < count, by ascending keys; equal keys keep their order (insertion sort).

    Args:
        keys: array [>= count], in place.
        items: array [>= count], in place.
        count: number of pairs; the time is quadratic in it, but linear for nearly sorted pairs.
    """
    for k in range(1, count):
        key, item, i = keys[k], items[k], k
        while i > 0 and keys[i - 1] > key:
            keys[i], items[i] = keys[i - 1], items[i - 1]
            i -= 1
        keys[i], items[i] = key, item
