"""Best fit: into the lowest niche of the skyline the buffer with the longest lifetime that fits there.

After E. Burke, G. Kendall and G. Whitwell, "A new placement heuristic for the orthogonal stock-cutting problem" (Operations
Research 52, 2004), with lifetimes in place of widths, as T. Sekiyama et al. take it to buffers ("Profile-guided memory
optimization for deep neural networks", 2018). The skyline is the upper end of the buffers placed, section by section. A niche
is a run of sections at one level that is lower than its neighbours. A buffer is placed with its whole lifetime inside a niche;
if none fits, the niche rises to its lower neighbour. Each step places a buffer or removes a niche: O(n) steps per pass.

Buffers are kept in classes of lifetimes that differ by at most a tenth, sorted by their start; placed ones are skipped by
union-find with path halving. So a long buffer that fits is found among the first few of each class, from long to short.
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

__all__ = ["LEFT", "TOP", "Niches", "advance", "new_niches"]

HEAP, SPANS, LEFT, TOP = range(4)
"""Indices of `at`."""
_RATIO = 1.1
"""Lifetimes of one class differ by less than this factor."""
_COMPARED = 32
"""Buffers of a class that are compared for a niche: those that start first in it."""
_GAP = 0.5
"""Weight of a section left free between a buffer and the nearer wall of its niche, in sections of its lifetime."""


class Niches(NamedTuple):
    """One pass over n buffers of size above 0, in C classes, and the skyline: up to 2 n + 2 spans of equal level."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    """[n] the sections of a buffer: first to last - 1."""
    size: NDArray[np.int64]
    alignment: NDArray[np.int64]
    score: NDArray[np.float64]
    """[n] lifetimes in sections, possibly with noise; of the buffers compared, the one with the largest score - gap is taken."""
    member: NDArray[np.int32]
    """[n] the buffers by class, from long to short, and within a class by first section."""
    start: NDArray[np.int64]
    """[C + 1] index of the first buffer of a class in `member`."""
    shortest: NDArray[np.int64]
    """[C] the shortest lifetime of a class, in sections."""
    following: NDArray[np.int32]
    """[n + 1] union-find over positions in `member`: its root is the first position from there on that is not placed."""
    begin: NDArray[np.int64]
    level: NDArray[np.int64]
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    """[spans] the first section of a span, its level, and the spans before and after it (-1: none); level -1: removed."""
    heap: NDArray[np.int32]
    key: NDArray[np.int64]
    """[spans] a heap of spans, the lowest first, and the level that each had when it was pushed."""
    offset: NDArray[np.int64]
    """[n] offsets of the buffers placed."""
    at: NDArray[np.int64]
    """[4] indexed by HEAP ... TOP: spans in the heap; spans made; buffers not yet placed; the height so far."""


def new_niches(
    instance: StaticInstance, found: Sections, chosen: NDArray[np.int64], noise: NDArray[np.float64] | None = None
) -> Niches:
    """Return a pass in which nothing is placed.

    Args:
        instance: The instance.
        found: Its sections.
        chosen: int64 [n], the buffers to place, none of which is fixed.
        noise: float64 [n], factors of their lifetimes; None: 1.
    """
    n = len(chosen)
    first, last = found.first[chosen].astype(np.int64), found.last[chosen].astype(np.int64)
    length = (last - first) * (np.ones(n) if noise is None else noise)
    kind = np.floor(np.log(length) / np.log(_RATIO)).astype(np.int64)
    member = np.lexsort((first, -kind)).astype(np.int32)
    start = np.flatnonzero(np.diff(kind[member], prepend=kind.max() + 1))
    spans = 2 * n + 2
    before, after = np.full(spans, -1, np.int32), np.full(spans, -1, np.int32)
    begin, level = np.zeros(spans, np.int64), np.full(spans, -1)
    begin[1], level[0], level[1], after[0], before[1] = len(found.load), 0, 2**62, 1, 0  # span 1 is a wall at the end of time
    return Niches(
        first, last, instance.size[chosen], instance.alignment[chosen], length, member,
        np.append(start, n), np.minimum.reduceat((last - first)[member], start),
        np.arange(n + 1, dtype=np.int32), begin, level, before, after,
        np.zeros(spans, np.int32), np.zeros(spans, np.int64), np.zeros(n, np.int64), np.array([1, 2, n, 0]),
    )  # fmt: skip


@kernel(borrow=True, nogil=True)
def advance(niches, steps, ceiling):
    """Place a buffer or remove a niche, `steps` times or until all are placed; return False if one would exceed the ceiling."""
    for _ in range(steps):
        if niches.at[LEFT] == 0:
            break
        s = np.int64(niches.heap[0])
        if niches.level[s] < 0:
            niches.at[HEAP] = heap_pop(niches.key, niches.heap, niches.at[HEAP], False)
            continue
        _merge(niches, s)
        place = _longest(niches, niches.begin[s], niches.begin[niches.after[s]])
        if place >= 0:
            if not _put(niches, s, place, ceiling):
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
    """Merge the lowest span with its neighbours of the same level, which stay in the heap with level -1 until they are popped."""
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
    """Return the position in `member` of the best buffer of the longest class that fits into sections begin..end-1; or -1."""
    for c in range(len(niches.shortest)):
        if niches.shortest[c] > end - begin:
            continue
        low = bisect_left_by(niches.first, niches.member, niches.start[c], niches.start[c + 1], begin)
        best, highest, compared = np.int64(-1), -np.inf, 0
        k = np.int64(find(niches.following, low))
        while compared < _COMPARED and k < niches.start[c + 1]:
            b = niches.member[k]
            if niches.first[b] >= end:
                break
            if niches.last[b] <= end:
                compared += 1
                score = niches.score[b] - _GAP * min(niches.first[b] - begin, end - niches.last[b])
                if score > highest:
                    best, highest = k, score
            k = np.int64(find(niches.following, k + 1))
        if best >= 0:
            return best
    return -1


@kernel(borrow=True)
def _put(niches, s, place, ceiling):
    """Place a buffer in the niche s, which becomes up to three spans; return False if it would end above the ceiling."""
    b, level, end = niches.member[place], niches.level[s], niches.begin[niches.after[s]]
    offset = (level + niches.alignment[b] - 1) // niches.alignment[b] * niches.alignment[b]
    top = offset + niches.size[b]
    if top > ceiling:
        return False
    niches.offset[b] = offset
    niches.following[place] = place + 1
    niches.at[LEFT] -= 1
    niches.at[TOP] = max(niches.at[TOP], top)
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
    """Split span s at section `begin`; the new span after it has this level."""
    q, after = niches.at[SPANS], niches.after[s]
    niches.at[SPANS] = q + 1
    niches.begin[q], niches.level[q], niches.before[q], niches.after[q] = begin, level, s, after
    niches.before[after] = niches.after[s] = q
    niches.at[HEAP] = heap_push(niches.key, niches.heap, niches.at[HEAP], level, q, False)
