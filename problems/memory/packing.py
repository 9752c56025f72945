"""Offsets for rectangles whose times are fixed, so that they do not overlap in a memory: first fit in several orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel
from corl.kernels.rotate import rotate
from corl.problems.memory.timing import HIGH, LOW, OFFSET, SIZE, lowest_offset

__all__ = ["pack"]

_TRIES = 200  # the largest number of orders,
_WORK = 6_000_000  # and of orders times pairs of rectangles


@kernel
def pack(rects: Any, over: Any, count: Any, capacity: Any) -> Any:
    """Give rectangles offsets, by first fit in several orders, in place. The best order counts.

    The first order is by size; then rectangles that found no place are moved forward, as in the repacking of compilers.

    Args:
        rects: int64 [>= count, 4], from, to, offset, size; only offsets are written, -1 for rectangles without a place.
        over: int64 [>= count], an earlier rectangle with the same offset, with which this one may share its first operation;
            -1: none.
        count: The number of rectangles.
        capacity: The size of the memory.

    Returns:
        The number of rectangles without a place.
    """
    root, size = np.empty(count, np.int64), np.zeros(count)
    for r in range(count):
        root[r] = r if over[r] < 0 else root[over[r]]
        size[root[r]] = max(size[root[r]], float(rects[r, SIZE]))
    order, placed, least = np.argsort(-size), np.empty((count, 4), np.int64), count + 1
    best = np.zeros(count, np.int64)
    for number in range(max(2, min(_TRIES, _WORK // (count * count + 1)))):
        found, missed, first = 0, 0, -1
        for q in range(count):
            r = order[q]
            if root[r] != r:
                continue
            offset = _offset(rects, root, count, placed, found, r, capacity)
            for m in range(r, count):
                if root[m] == r:
                    rects[m, OFFSET] = offset
                    if offset >= 0:
                        placed[found] = rects[m]
                        found += 1
            if offset < 0:
                missed += 1
                first = q if first < 0 else first
        if missed < least:
            least = missed
            best[:] = rects[:count, OFFSET]
        if missed == 0:
            break
        rotate(order, first, first // 2 if number % 2 == 0 else 0)
    rects[:count, OFFSET] = best
    return least


@kernel
def _offset(rects: Any, root: Any, count: Any, placed: Any, found: Any, r: Any, capacity: Any) -> Any:
    """Return the lowest offset at which all rectangles with root r are free among those placed; -1 if there is none."""
    offset, before = 0, -1
    while offset >= 0 and offset != before:
        before = offset
        for m in range(r, count):
            if root[m] == r and offset >= 0:
                offset = lowest_offset(placed, found, rects[m, LOW], rects[m, HIGH], rects[m, SIZE], capacity, offset)
    return offset
