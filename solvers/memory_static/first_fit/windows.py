"""Windows of time: lists of the buffers placed so far, window by window, so that a query does not examine all of them.

Windows of a level overlap by half: window i is from i h to (i + 2) h, in sections. The h of a level is twice that of the level
before; the last level is one window of all time. A buffer no longer than h lies within one window of a level; its home is the
smallest window that contains it, whose list answers its queries. Only homes are kept. A placed buffer is listed in every home
that it lives in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.rotate import rotate
from corl.kernels.search import bisect_right_by
from corl.problems.memory_static.instance import StaticInstance, sections

__all__ = ["Windows", "add", "clear", "new_windows"]

_BUFFERS = 256
"""Buffers per window of the first level, and the largest number of these windows."""


class Windows(NamedTuple):
    """V levels, W windows that are homes, L entries of their lists."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    """[n] the sections of a buffer: first to last - 1."""
    half: NDArray[np.int64]
    """[V] h of each level."""
    base: NDArray[np.int64]
    """[V] index of a level's first window in `number`."""
    number: NDArray[np.int64]
    """[windows of all levels] the number of a home, -1 for others."""
    home: NDArray[np.int64]
    """[n] the number of a buffer's home."""
    start: NDArray[np.int64]
    """[W + 1] index of the first entry of a home's list in `placed`; there is space for all buffers that live in it."""
    listed: NDArray[np.int64]
    """[W] the number of entries in the list."""
    placed: NDArray[np.int32]
    """[L] placed buffers of size above 0, the lowest offset first."""


def new_windows(instance: StaticInstance) -> Windows:
    """Return windows in which nothing is placed."""
    found = sections(instance)
    first, last, span = found.first.astype(np.int64), found.last.astype(np.int64), len(found.load)
    windows = max(1, min(_BUFFERS, instance.n // _BUFFERS))
    halves = [-(-span // windows)]
    while halves[-1] < span:
        halves.append(2 * halves[-1])
    half = np.array(halves, np.int64)
    many = -(-span // half)
    base = np.cumsum(many) - many
    home = np.full(instance.n, -1)
    for level in reversed(range(len(half))):
        at = first // half[level]
        home = np.where(last <= (at + 2) * half[level], base[level] + at, home)
    number = np.full(int(many.sum()), -1)
    homes = np.unique(home)
    number[homes] = np.arange(len(homes))
    counts = np.zeros(len(homes), np.int64)
    _count(first, last, half, base, number, counts)
    start = np.concatenate([[0], np.cumsum(counts)])
    return Windows(
        first, last, half, base, number, number[home], start, np.zeros(len(homes), np.int64), np.zeros(start[-1], np.int32)
    )


@kernel
def _count(
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    half: NDArray[np.int64],
    base: NDArray[np.int64],
    number: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Count the buffers that live in each home, in place. See `Windows` for the arrays; counts: int64 [W]."""
    for level in range(len(half)):
        h = half[level]
        for b in range(len(first)):
            for i in range(max(0, first[b] // h - 1), (last[b] - 1) // h + 1):
                w = number[base[level] + i]
                if w >= 0:
                    counts[w] += 1


@kernel
def clear(windows: Windows) -> None:
    """Empty the lists, in place."""
    windows.listed[:] = 0


@kernel(borrow=True)
def add(windows: Windows, b: int, offset: NDArray[np.int64]) -> None:
    """Enter a buffer, placed at offset[b], in the lists of all homes that it lives in, which stay sorted, in place."""
    low = offset[b]
    for level in range(len(windows.half)):
        h = windows.half[level]
        for i in range(max(0, windows.first[b] // h - 1), (windows.last[b] - 1) // h + 1):
            w = windows.number[windows.base[level] + i]
            if w < 0:
                continue
            begin = windows.start[w]
            end = begin + windows.listed[w]
            windows.placed[end] = b
            rotate(windows.placed, end, bisect_right_by(offset, windows.placed, begin, end, low))
            windows.listed[w] += 1
