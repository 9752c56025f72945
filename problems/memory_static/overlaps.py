"""A fast test for overlaps between many buffers, by a tree over time, which the judge uses if a sweep would take too long."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["any_overlap"]


def any_overlap(lower: NDArray[np.int64], upper: NDArray[np.int64], offset: NDArray[np.int64], size: NDArray[np.int64]) -> bool:
    """Return whether two buffers overlap in memory while both are alive, in O(n log n).

    All arrays are int64 [n]; sizes are above 0.
    A section is a span of time between successive starts and ends of lifetimes. Buffers are considered by increasing offset: a
    buffer that begins in memory below the end of an earlier one, with which it has a section in common, overlaps it.
    """
    times = np.unique(np.concatenate([lower, upper]))
    order = np.argsort(offset, kind="stable")
    leaves = 1 << len(times).bit_length()
    first, last = np.searchsorted(times, lower[order]), np.searchsorted(times, upper[order])
    low, high = offset[order], (offset + size)[order]
    return bool(_any_overlap_sorted(first, last, low, high, np.zeros(2 * leaves, np.int64), np.zeros(2 * leaves, np.int64)))


@kernel
def _any_overlap_sorted(first: Any, last: Any, low: Any, high: Any, highest: Any, covering: Any) -> bool:
    """Return whether a buffer begins in memory below the end of an earlier buffer in one of its sections.

    The buffers are in the order of increasing offset. The last two arguments are a binary tree whose leaves are the sections.

    Args:
        first: int64 [n], the first section of each buffer.
        last: int64 [n], the section after the buffer's last one.
        low: int64 [n], the offset.
        high: int64 [n], the end in memory.
        highest: int64 [nodes], zeros, changed in place: the highest end of a buffer in any section below a node.
        covering: int64 [nodes], zeros, changed in place: the highest end of a buffer that is alive in all sections below a node.
    """
    leaves = len(highest) // 2
    for b in range(len(first)):
        left, right = first[b] + leaves, last[b] - 1 + leaves
        for leaf in (left, right):  # buffers alive in all sections below an ancestor of b's first or last section
            v = leaf // 2
            while v > 0:
                if covering[v] > low[b]:
                    return True
                v //= 2
        a, z = left, right + 1
        while a < z:  # the nodes that together have the buffer's sections
            if a % 2 == 1:
                if highest[a] > low[b]:
                    return True
                highest[a] = covering[a] = high[b]
                a += 1
            if z % 2 == 1:
                z -= 1
                if highest[z] > low[b]:
                    return True
                highest[z] = covering[z] = high[b]
            a, z = a // 2, z // 2
        for leaf in (left, right):
            v = leaf // 2
            while v > 0:
                highest[v] = max(covering[v], highest[2 * v], highest[2 * v + 1])
                v //= 2
    return False
