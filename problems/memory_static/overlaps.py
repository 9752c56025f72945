"""A test for overlaps between many buffers, by a tree over time; for the judge, if a sweep would take too long."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["any_overlap"]


def any_overlap(lower: NDArray[np.int64], upper: NDArray[np.int64], offset: NDArray[np.int64], size: NDArray[np.int64]) -> bool:
    """Return whether two buffers, all of size above 0, overlap in memory while both are alive. All arrays int64 [n]; O(n log n).

    Buffers are considered by increasing offset: one that begins below the end of an earlier one, in a common section, overlaps
        it.
    """
    times = np.unique(np.concatenate([lower, upper]))
    order = np.argsort(offset, kind="stable")
    leaves = 1 << len(times).bit_length()
    first, last = np.searchsorted(times, lower[order]), np.searchsorted(times, upper[order])
    low, high = offset[order], (offset + size)[order]
    return bool(_stacked(first, last, low, high, np.zeros(2 * leaves, np.int64), np.zeros(2 * leaves, np.int64)))


@kernel
def _stacked(first: Any, last: Any, low: Any, high: Any, most: Any, whole: Any) -> bool:
    """Return whether a buffer begins below the end of an earlier one in one of its sections.

    The state is a binary tree over sections.

    Args:
        first: int64 [n], the first section of each buffer, by increasing offset.
        last: int64 [n], the section after its last.
        low: int64 [n], its offset.
        high: int64 [n], its end in memory.
        most: int64 [nodes], zeros at first, changed in place: the highest end of a buffer in any section of a node.
        whole: int64 [nodes], zeros at first, changed in place: the highest end of a buffer that covers all sections of a node.
    """
    leaves = len(most) // 2
    for b in range(len(first)):
        left, right = first[b] + leaves, last[b] - 1 + leaves
        for leaf in (left, right):  # buffers that cover all sections of an ancestor
            v = leaf // 2
            while v > 0:
                if whole[v] > low[b]:
                    return True
                v //= 2
        a, z = left, right + 1
        while a < z:
            if a % 2 == 1:
                if most[a] > low[b]:
                    return True
                most[a] = whole[a] = high[b]
                a += 1
            if z % 2 == 1:
                z -= 1
                if most[z] > low[b]:
                    return True
                most[z] = whole[z] = high[b]
            a, z = a // 2, z // 2
        for leaf in (left, right):
            v = leaf // 2
            while v > 0:
                most[v] = max(whole[v], most[2 * v], most[2 * v + 1])
                v //= 2
    return False
