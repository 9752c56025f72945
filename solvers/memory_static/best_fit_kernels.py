"""Best fit: the buffer with the longest lifetime that fits is placed in the lowest niche of the skyline, again and again.

Time is divided into sections, between successive starts and ends of lifetimes. The skyline is the upper end of the placed
buffers, section by section. A span is a row of successive sections at the same level (upper end), and a niche is a span that
is lower than its neighbours. A buffer is placed with its whole lifetime inside a niche. If no buffer fits, the niche rises to the
level of its lower neighbour and so disappears. Each step places a buffer or removes a niche, so a pass has O(n) steps.

The method is that of E. Burke, G. Kendall and G. Whitwell, "A new placement heuristic for the orthogonal stock-cutting problem"
(Operations Research 52, 2004), with lifetimes instead of widths, as T. Sekiyama et al. apply it to buffers ("Profile-guided
memory optimization for deep neural networks", 2018).

Buffers are divided into classes of lifetimes that differ by at most a tenth. A class is sorted by the start of lifetimes, and its
placed buffers are skipped by union-find with path halving. The classes are searched from long to short lifetimes, and in each
only the first few buffers that fit are compared.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.heap import heap_pop, heap_push, heap_replace
from corl.kernels.search import bisect_left_by
from corl.kernels.union_find import find
from corl.problems.memory_static.instance import Sections, StaticInstance

__all__ = ["HEIGHT", "UNPLACED", "Niches", "advance", "new_niches"]

HEAP, SPANS, UNPLACED, HEIGHT = range(4)
"""Indices of `at`: the number of spans in the heap; of spans created; of buffers not yet placed; the height so far."""
_CLASS_RATIO = 1.1
"""Lifetimes of one class differ by less than this factor."""
_MAX_COMPARED = 32
"""The number of buffers of a class that are compared for a niche: those that start first in it."""
_GAP_WEIGHT = 0.5
"""A buffer's score, its lifetime in sections, falls by this for each free section between it and the nearer end of the niche."""


class Niches(NamedTuple):
    """The state of a pass over n buffers of size above 0, in C classes; the skyline has up to 2 n + 2 spans."""

    first: NDArray[np.int64]
    """[n] the first section of a buffer."""
    last: NDArray[np.int64]
    """[n] the section after a buffer's last one."""
    size: NDArray[np.int64]
    """[n] units of memory."""
    alignment: NDArray[np.int64]
    """[n] the number of which a buffer's offset is a multiple."""
    score: NDArray[np.float64]
    """[n] the lifetime in sections, possibly with noise; of the buffers compared, the one with the largest score minus
    `_GAP_WEIGHT` times its gap is placed."""
    member: NDArray[np.int32]
    """[n] the buffers by class, from long to short lifetimes, and within a class by first section."""
    class_start: NDArray[np.int64]
    """[C + 1] index of the first buffer of a class in `member`."""
    shortest: NDArray[np.int64]
    """[C] the shortest lifetime of a class, in sections."""
    next_unplaced: NDArray[np.int32]
    """[n + 1] union-find over positions in `member`: the root of a position is the first one from there on that is not placed."""
    begin: NDArray[np.int64]
    """[2 n + 2] the first section of a span."""
    level: NDArray[np.int64]
    """[2 n + 2] the upper end of the placed buffers in a span; -1 if the span has been merged into another one."""
    before: NDArray[np.int32]
    """[2 n + 2] the span before a span, or -1."""
    after: NDArray[np.int32]
    """[2 n + 2] the span after a span, or -1."""
    heap: NDArray[np.int32]
    """[2 n + 2] a heap of spans, the lowest first."""
    key: NDArray[np.int64]
    """[2 n + 2] the level that each span of the heap had when it was pushed."""
    offset: NDArray[np.int64]
    """[n] offsets of the placed buffers."""
    at: NDArray[np.int64]
    """[4] indexed by HEAP ... HEIGHT."""


def new_niches(
    instance: StaticInstance, section_data: Sections, chosen: NDArray[np.int64], noise: NDArray[np.float64] | None = None
) -> Niches:
    """Return a pass in which nothing is placed.

    Args:
        instance: The instance.
        section_data: Its sections.
        chosen: int64 [n], the buffers to place, none of which is fixed.
        noise: float64 [n], factors by which the lifetimes of these buffers are multiplied; None: 1.
    """
    n = len(chosen)
    first, last = section_data.first[chosen].astype(np.int64), section_data.last[chosen].astype(np.int64)
    length = (last - first) * (np.ones(n) if noise is None else noise)
    length_class = np.floor(np.log(length) / np.log(_CLASS_RATIO)).astype(np.int64)
    member = np.lexsort((first, -length_class)).astype(np.int32)
    class_start = np.flatnonzero(np.diff(length_class[member], prepend=length_class.max() + 1))
    spans = 2 * n + 2
    before, after = np.full(spans, -1, np.int32), np.full(spans, -1, np.int32)
    begin, level = np.zeros(spans, np.int64), np.full(spans, -1)
    begin[1], level[0], level[1], after[0], before[1] = (
        len(section_data.load),
        0,
        2**62,
        1,
        0,
    )  # span 1 is a wall at the end of time
    return Niches(
        first, last, instance.size[chosen], instance.alignment[chosen], length, member,
        np.append(class_start, n), np.minimum.reduceat((last - first)[member], class_start),
        np.arange(n + 1, dtype=np.int32), begin, level, before, after,
        np.zeros(spans, np.int32), np.zeros(spans, np.int64), np.zeros(n, np.int64), np.array([1, 2, n, 0]),
    )  # fmt: skip


@kernel(borrow=True, nogil=True)
def advance(niches, steps, ceiling):
    """Place a buffer or remove a niche, `steps` times or until all buffers are placed, in place.

    Returns False as soon as a buffer would end above the ceiling, otherwise True.
    """
    for _ in range(steps):
        if niches.at[UNPLACED] == 0:
            break
        s = np.int64(niches.heap[0])
        if niches.level[s] < 0:
            niches.at[HEAP] = heap_pop(niches.key, niches.heap, niches.at[HEAP], False)
            continue
        _merge(niches, s)
        position = _longest(niches, niches.begin[s], niches.begin[niches.after[s]])
        if position >= 0:
            if not _put(niches, s, position, ceiling):
                return False
            continue
        wall = niches.level[niches.after[s]]
        if niches.before[s] >= 0:
            wall = min(wall, niches.level[niches.before[s]])
        niches.level[s] = wall
        heap_replace(niches.key, niches.heap, niches.at[HEAP], wall, s, False)
    return True


@kernel(borrow=True)
def _merge(niches, s):
    """Merge span s, the lowest one, with its neighbours of the same level, in place.

    The neighbours get level -1 and stay in the heap until they are popped.
    """
    key = niches.level[s]
    while niches.level[niches.after[s]] == key:
        q = niches.after[s]
        niches.level[q] = -1
        niches.after[s] = niches.after[q]
        niches.before[niches.after[q]] = s
    while niches.before[s] >= 0 and niches.level[niches.before[s]] == key:
        q = niches.before[s]
        niches.level[q] = -1
        niches.begin[s], niches.before[s] = niches.begin[q], niches.before[q]
        if niches.before[q] >= 0:
            niches.after[niches.before[q]] = s


@kernel(borrow=True)
def _longest(niches, begin, end):
    """Return the position in `member` of the best unplaced buffer for the niche of sections begin..end-1; -1 if none fits.

    It is taken from the first class, from long to short lifetimes, in which a buffer fits.
    """
    for c in range(len(niches.shortest)):
        if niches.shortest[c] > end - begin:
            continue
        low = bisect_left_by(niches.first, niches.member, niches.class_start[c], niches.class_start[c + 1], begin)
        best, highest, compared = np.int64(-1), -np.inf, 0
        k = np.int64(find(niches.next_unplaced, low))
        while compared < _MAX_COMPARED and k < niches.class_start[c + 1]:
            b = niches.member[k]
            if niches.first[b] >= end:
                break
            if niches.last[b] <= end:
                compared += 1
                score = niches.score[b] - _GAP_WEIGHT * min(niches.first[b] - begin, end - niches.last[b])
                if score > highest:
                    best, highest = k, score
            k = np.int64(find(niches.next_unplaced, k + 1))
        if best >= 0:
            return best
    return -1


@kernel(borrow=True)
def _put(niches, s, position, ceiling):
    """Place the buffer at a position of `member` in the niche, span s, in place; return False if it would end above the ceiling.

    The span becomes up to three spans.
    """
    b, level, end = niches.member[position], niches.level[s], niches.begin[niches.after[s]]
    offset = (level + niches.alignment[b] - 1) // niches.alignment[b] * niches.alignment[b]
    top = offset + niches.size[b]
    if top > ceiling:
        return False
    niches.offset[b] = offset
    niches.next_unplaced[position] = position + 1
    niches.at[UNPLACED] -= 1
    niches.at[HEIGHT] = max(niches.at[HEIGHT], top)
    if niches.last[b] < end:
        _split(niches, s, niches.last[b], level)
    if niches.first[b] > niches.begin[s]:
        _split(niches, s, niches.first[b], top)
    else:
        niches.level[s] = top
        heap_replace(niches.key, niches.heap, niches.at[HEAP], top, s, False)
    return True


@kernel(borrow=True)
def _split(niches, s, begin, level):
    """Split span s at section `begin`, in place; the new span from `begin` on has level `level`."""
    q, after = niches.at[SPANS], niches.after[s]
    niches.at[SPANS] = q + 1
    niches.begin[q], niches.level[q], niches.before[q], niches.after[q] = begin, level, s, after
    niches.before[after] = niches.after[s] = q
    niches.at[HEAP] = heap_push(niches.key, niches.heap, niches.at[HEAP], level, q, False)
