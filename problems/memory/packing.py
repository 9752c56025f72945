"""Offsets for rectangles whose operations are fixed, so that they do not overlap in fast memory: first fit in several orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel
from corl.kernels.rotate import rotate
from corl.problems.memory.timing import HIGH, LOW, OFFSET, SIZE, lowest_offset

__all__ = ["pack"]

_MAX_ORDERS = 200  # the largest number of orders that are tried
_MAX_PAIRS = 6_000_000  # the largest number of orders times pairs of rectangles, which limits the time for large programs


@kernel
def pack(rects: Any, same_offset_as: Any, count: Any, capacity: Any) -> Any:
    """Choose offsets for rectangles by first fit in several orders, in place. The order that leaves the fewest unplaced is kept.

    The first order is by decreasing size. In every further order, the first rectangle for which there was no offset is moved
    forward. A chain of rectangles that must have the same offset is placed as a whole.

    Args:
        rects: int64 [>= count, 4], columns LOW, HIGH, OFFSET and SIZE of timing.py; only offsets are written (-1: none found).
        same_offset_as: int64 [>= count], an earlier rectangle that must have the same offset; -1: none. The rectangle may overlap
            the earlier one at its own first operation.
        count: The number of rectangles.
        capacity: The size of the memory, in bytes.

    Returns:
        The number of chains without an offset.
    """
    root, size = np.empty(count, np.int64), np.zeros(count)  # root: first rectangle of the chain; size: the largest in the chain
    for r in range(count):
        root[r] = r if same_offset_as[r] < 0 else root[same_offset_as[r]]
        size[root[r]] = max(size[root[r]], float(rects[r, SIZE]))
    order, placed, fewest = np.argsort(-size), np.empty((count, 4), np.int64), count + 1
    best = np.zeros(count, np.int64)
    for number in range(max(2, min(_MAX_ORDERS, _MAX_PAIRS // (count * count + 1)))):
        placed_count, unplaced, first = 0, 0, -1
        for q in range(count):
            r = order[q]
            if root[r] != r:
                continue
            offset = _offset(rects, root, count, placed, placed_count, r, capacity)
            for m in range(r, count):
                if root[m] == r:
                    rects[m, OFFSET] = offset
                    if offset >= 0:
                        placed[placed_count] = rects[m]
                        placed_count += 1
            if offset < 0:
                unplaced += 1
                first = q if first < 0 else first
        if unplaced < fewest:
            fewest = unplaced
            best[:] = rects[:count, OFFSET]
        if unplaced == 0:
            break
        rotate(order, first, first // 2 if number % 2 == 0 else 0)
    rects[:count, OFFSET] = best
    return fewest


@kernel
def _offset(rects: Any, root: Any, count: Any, placed: Any, placed_count: Any, r: Any, capacity: Any) -> Any:
    """Return the lowest offset at which the chain with root r overlaps none of placed[:placed_count]; -1 if there is none."""
    offset, before = 0, -1
    while offset >= 0 and offset != before:
        before = offset
        for m in range(r, count):
            if root[m] == r and offset >= 0:
                offset = lowest_offset(placed, placed_count, rects[m, LOW], rects[m, HIGH], rects[m, SIZE], capacity, offset)
    return offset
