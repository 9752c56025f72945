"""Whether any of many buffers overlap: a judge's question, by a tree over time, for what a sweep takes too long over."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["any_overlap"]


def any_overlap(lower: NDArray[np.int64], upper: NDArray[np.int64], offset: NDArray[np.int64], size: NDArray[np.int64]) -> bool:
    """Whether two buffers, all of size above 0, overlap in memory while both are alive. All arrays [n]; O(n log n).

    From the lowest offset up: where one begins below the upper end of what was there before at a time of its life, two overlap.
    """
    times = np.unique(np.concatenate([lower, upper]))
    order = np.argsort(offset, kind="stable")
    leaves = 1 << len(times).bit_length()
    first, last = np.searchsorted(times, lower[order]), np.searchsorted(times, upper[order])
    low, high = offset[order], (offset + size)[order]
    return bool(_stacked(first, last, low, high, np.zeros(2 * leaves, np.int64), np.zeros(2 * leaves, np.int64)))


@kernel
def _stacked(first: Any, last: Any, low: Any, high: Any, most: Any, whole: Any) -> bool:
    """Lay buffer after buffer over its sections; True at the first that begins below the upper end of another there.

    A binary tree over sections: `most[v]` is the highest end anywhere below node v, `whole[v]` the highest that covers all of it.
    """
    leaves = len(most) // 2
    for b in range(len(first)):
        left, right = first[b] + leaves, last[b] - 1 + leaves
        for leaf in (left, right):  # what covers more than the nodes below
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
