"""Windows of time: the buffers placed so far, window by window, so that a query need not go through all of them.

Windows of a level overlap by half: window i is from i h to (i + 2) h, in sections. A buffer no longer than h lies within one of
them, and asks the smallest of its kind, its home, for what is placed there. The h of a level is twice that of the one before;
the last level is one window of all time. Only homes are kept. A buffer that is placed is listed in every home that it lives in.
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
"""Buffers for every window of the first level, and at most that many of these windows."""


class Windows(NamedTuple):
    """V levels, W windows that are homes, L places in their lists."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    """[n] the sections of a buffer: first to last - 1."""
    half: NDArray[np.int64]
    """[V] h."""
    base: NDArray[np.int64]
    """[V] where the windows of a level begin in `number`."""
    number: NDArray[np.int64]
    """[windows of all levels] the number of a home, -1 for others."""
    home: NDArray[np.int64]
    """[n] the number of a buffer's home."""
    start: NDArray[np.int64]
    """[W + 1] where the list of a home begins in `placed`; there is room for all buffers that live in it."""
    listed: NDArray[np.int64]
    """[W] how many are placed."""
    placed: NDArray[np.int32]
    """[L] buffers of size above 0, the lowest offset first."""


def new_windows(instance: StaticInstance) -> Windows:
    """Windows in which nothing is placed."""
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
    """Count the buffers that live in each home."""
    for level in range(len(half)):
        h = half[level]
        for b in range(len(first)):
            for i in range(max(0, first[b] // h - 1), (last[b] - 1) // h + 1):
                w = number[base[level] + i]
                if w >= 0:
                    counts[w] += 1


@kernel
def clear(windows: Windows) -> None:
    """Nothing is placed."""
    windows.listed[:] = 0


@kernel(borrow=True)
def add(windows: Windows, b: int, offset: NDArray[np.int64]) -> None:
    """List a buffer that has been placed, at offset[b], in all homes that it lives in; the lists stay sorted."""
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
