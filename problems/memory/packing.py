"""Offsets for rectangles whose times are settled, so that they lie side by side in a memory: in some orders, first fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel
from corl.kernels.rotate import rotate
from corl.problems.memory.timing import HIGH, LOW, OFFSET, SIZE, lowest_offset

__all__ = ["pack"]

_TRIES = 200  # orders, at the most,
_WORK = 6_000_000  # and so many over all pairs of rectangles


@kernel
def pack(rects: Any, over: Any, count: Any, capacity: Any) -> Any:
    """Give rectangles offsets; how many were left over, with offset -1, in the best of some orders.

    rects: int64 [>= count, 4] from, to, offset, size; only offsets are set. over: int64 [>= count], the rectangle before this one
    at whose offset it has to lie, with which it may share its first operation; -1: none. The first order is by size; then what
    found no room is moved ahead, as repackers of compilers do it.
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
    """The lowest offset at which all rectangles with this root have room beside those that are placed; -1: there is none."""
    offset, before = 0, -1
    while offset >= 0 and offset != before:
        before = offset
        for m in range(r, count):
            if root[m] == r and offset >= 0:
                offset = lowest_offset(placed, found, rects[m, LOW], rects[m, HIGH], rects[m, SIZE], capacity, offset)
    return offset
