"""Windows of time with lists of the placed buffers, so that a search for a free offset does not examine all placed buffers.

Time is divided into sections, between successive starts and ends of lifetimes. There are several levels of windows. Windows of a
level overlap by half: window i has the sections i * h to (i + 2) * h - 1. The h of a level is twice the h of the level before,
and the last level is one window of all time. A buffer that is not longer than h sections lies within a window of the level. The
home of a buffer is the smallest window that contains the buffer's lifetime. Only windows that are the home of some buffer have a
list, of all placed buffers that are alive in the window. So all placed buffers that a buffer could overlap are in the list of
the buffer's home.
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
"""The first level has one window for about this many buffers, but not more than this many windows."""


class Windows(NamedTuple):
    """The lists of W homes (windows with a list) for n buffers. There are V levels of windows."""

    first: NDArray[np.int64]
    """[n] the first section of a buffer."""
    last: NDArray[np.int64]
    """[n] the section after a buffer's last one."""
    half: NDArray[np.int64]
    """[V] h of each level: half the length of its windows, in sections."""
    base: NDArray[np.int64]
    """[V] index of a level's first window in `number`."""
    number: NDArray[np.int64]
    """[windows of all levels] the number of a window among the homes; -1: the window is no home."""
    home: NDArray[np.int64]
    """[n] the number of a buffer's home."""
    start: NDArray[np.int64]
    """[W + 1] index of the first entry of a home's list in `placed`; a list has space for all buffers alive in the home."""
    listed: NDArray[np.int64]
    """[W] the number of entries of a home's list."""
    placed: NDArray[np.int32]
    """[start[W]] placed buffers of size above 0; in each list, the lowest offset comes first."""


def new_windows(instance: StaticInstance) -> Windows:
    """Return the windows of an instance, with empty lists."""
    section_data = sections(instance)
    first, last, span = section_data.first.astype(np.int64), section_data.last.astype(np.int64), len(section_data.load)
    windows = max(1, min(_BUFFERS, instance.n // _BUFFERS))
    halves = [-(-span // windows)]
    while halves[-1] < span:
        halves.append(2 * halves[-1])
    half = np.array(halves, np.int64)
    window_counts = -(-span // half)
    base = np.cumsum(window_counts) - window_counts
    home = np.full(instance.n, -1)
    for level in reversed(range(len(half))):
        at = first // half[level]
        home = np.where(last <= (at + 2) * half[level], base[level] + at, home)
    number = np.full(int(window_counts.sum()), -1)
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
    """Add the number of buffers that are alive in each home to `counts`, int64 [W], in place.

    The other arguments are the fields of `Windows` with these names.
    """
    for level in range(len(half)):
        h = half[level]
        for b in range(len(first)):
            for i in range(max(0, first[b] // h - 1), (last[b] - 1) // h + 1):
                w = number[base[level] + i]
                if w >= 0:
                    counts[w] += 1


@kernel
def clear(windows: Windows) -> None:
    """Empty all lists, in place."""
    windows.listed[:] = 0


@kernel(borrow=True)
def add(windows: Windows, b: int, offset: NDArray[np.int64]) -> None:
    """Insert buffer b, placed at offset[b], into the lists of all homes in which it is alive, in place; the lists stay sorted.

    offset: int64 [n], the offsets of the placed buffers.
    """
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
