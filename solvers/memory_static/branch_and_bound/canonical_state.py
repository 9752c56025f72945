"""The state of the search over canonical allocations: the buffers in sections, and the path of its decisions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.memory_static.instance import StaticInstance
from corl.solvers.memory_static.branch_and_bound.sections import TOUCHED, UNDO, members

__all__ = ["Tree", "by_load", "fullest", "new_tree", "set_ranks"]

LISTED = TOUCHED + 1
"""Place in `at`: what is used of `listed`."""
BEGIN, END, BOUND, POSITION, FINAL = range(UNDO + 1, UNDO + 6)
"""Columns of `frame`, after those of sections.py: the part's buffers in `listed`, the offset and place of the decision before,
whether no other choice need be tried."""


class Tree(NamedTuple):
    """n buffers of size above 0, S sections, D decisions, their C choices and the L buffers of their parts, T changes."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    """[n] the sections of a buffer: first to last - 1."""
    size: NDArray[np.int64]
    alignment: NDArray[np.int64]
    fixed: NDArray[np.int64]
    rank: NDArray[np.int64]
    """[n] buffers of low rank are tried first; of two alike, the one of the lower number has the lower rank."""
    alike: NDArray[np.int64]
    """[n] the last buffer before that is alike, -1 for none: of the same sections, size and alignment, not fixed."""
    start: NDArray[np.int64]
    """[S + 1] where the buffers of a section begin in `member`."""
    member: NDArray[np.int32]
    beside_start: NDArray[np.int64]
    """[n + 1] where the buffers that live at a time with a buffer begin in `beside`."""
    beside: NDArray[np.int32]
    floor: NDArray[np.int64]
    """[S] nothing that is still to come is below it."""
    total: NDArray[np.int64]
    """[S] the sizes of what is not placed."""
    open: NDArray[np.int32]
    """[S] how many buffers are not placed."""
    crossing: NDArray[np.int32]
    """[S] how many buffers that are not placed live in section s - 1 and s."""
    under: NDArray[np.int64]
    """[S] the buffer that was placed there last, -1 for none."""
    marked: NDArray[np.int64]
    touched: NDArray[np.int64]
    """[S] sections to look at after a decision."""
    lowest: NDArray[np.int64]
    """[n] the lowest offset that a buffer can still have."""
    placed: NDArray[np.bool_]
    offset: NDArray[np.int64]
    key: NDArray[np.int64]
    where: NDArray[np.int64]
    """[n] the place of a buffer in `listed`."""
    frame: NDArray[np.int64]
    """[D, 11] see the columns."""
    buffer: NDArray[np.int32]
    """[D] what was placed, -1 for nothing."""
    choice: NDArray[np.int32]
    """[C] buffers."""
    listed: NDArray[np.int32]
    """[L] the buffers of a part by rank, part after part."""
    trail: NDArray[np.int64]
    """[T, 2] index, value before."""
    at: NDArray[np.int64]
    """[8] see the places."""


def new_tree(instance: StaticInstance, chosen: NDArray[np.int64], room: int = 1) -> Tree:
    """A search that has not begun, over the buffers `chosen`; `room` multiplies the lengths of what grows."""
    first, last, count = fullest(instance.lower[chosen], instance.upper[chosen])
    n, (start, member) = len(chosen), members(first, last, count)
    beside_start, beside = _pairs(first, last, start, member)
    data = (instance.size[chosen], instance.alignment[chosen], instance.fixed[chosen], np.arange(n))
    alike = _alike(np.stack([first, last, *data[:3]]))
    depth = n + 2
    return Tree(
        first, last, *data, alike, start, member, beside_start, beside,
        floor=np.zeros(count, np.int64), total=np.zeros(count, np.int64), open=np.zeros(count, np.int32),
        crossing=np.zeros(count, np.int32), under=np.full(count, -1), marked=np.zeros(count, np.int64),
        touched=np.zeros(count, np.int64), lowest=np.zeros(n, np.int64), placed=np.zeros(n, np.bool_),
        offset=np.zeros(n, np.int64), key=np.zeros(n, np.int64), where=np.zeros(n, np.int64),
        frame=np.zeros((depth, 11), np.int64), buffer=np.zeros(depth, np.int32), choice=np.zeros(room * 20 * n + 64, np.int32),
        listed=np.zeros(room * 10 * n + 64, np.int32), trail=np.zeros((room * 100 * n + 10 * (count + n), 2), np.int64),
        at=np.zeros(8, np.int64),
    )  # fmt: skip


def set_ranks(tree: Tree, rank: NDArray[np.int64]) -> None:
    """The tree's ranks become these, [n], all different; those of what is alike change places to rise with their numbers."""
    kind = np.arange(len(rank))
    for b in np.flatnonzero(tree.alike >= 0).tolist():
        kind[b] = kind[tree.alike[b]]
    tree.rank[np.lexsort((np.arange(len(rank)), kind))] = rank[np.lexsort((rank, kind))]


def fullest(lower: NDArray[np.int64], upper: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """The first section and the one after the last of each buffer, and how many there are.

    Only sections of buffers that are not all alive in the section before or after: from a start that follows an end to an end.
    """
    begins, ends = np.unique(lower), np.unique(upper)
    following = np.searchsorted(begins, ends)  # starts before an end: equal numbers are sections that only lose buffers
    closing = ends[np.flatnonzero(np.diff(following, prepend=0) > 0)]
    first = np.searchsorted(closing, lower, side="right")
    last = np.searchsorted(closing, upper, side="right")
    return first.astype(np.int64), np.maximum(last, first + 1).astype(np.int64), len(closing)


def _alike(kind: NDArray[np.int64]) -> NDArray[np.int64]:
    """[n] the last column before with the same rows [first, last, size, alignment, fixed], -1 for none and where it is fixed."""
    found: dict[tuple[int, ...], int] = {}
    alike = np.full(kind.shape[1], -1)
    for b, column in enumerate(map(tuple, kind.T.tolist())):
        if column[-1] < 0:
            alike[b] = found.get(column, -1)
            found[column] = b
    return alike


@kernel
def _pairs(
    first: NDArray[np.int64], last: NDArray[np.int64], start: NDArray[np.int64], member: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """For every buffer the others that live in one of its sections: those there at its first, and those that begin later."""
    n = len(first)
    counts = np.zeros(n + 1, np.int64)
    beside = np.empty(0, np.int32)
    for fill in range(2):
        for b in range(n):
            end = counts[b] if fill else 0
            for s in range(first[b], last[b]):
                for k in range(start[s], start[s + 1]):
                    q = member[k]
                    if q != b and (s == first[b] or first[q] == s):
                        if fill:
                            beside[end] = q
                        end += 1
            if not fill:
                counts[b] = end
        if not fill:
            total = 0
            for b in range(n + 1):
                here = counts[b]
                counts[b] = total
                total += here
            beside = np.empty(total, np.int32)
    return counts, beside


@kernel
def by_load(listed: NDArray[np.int32], key: NDArray[np.int64], rank: NDArray[np.int64]) -> None:
    """Sort buffers by (key, rank), the least first: Shell's sort, in place (gaps by Ciura)."""
    for gap in (1750, 701, 301, 132, 57, 23, 10, 4, 1):
        for i in range(gap, len(listed)):
            b, j = listed[i], i
            while j >= gap:
                a = listed[j - gap]
                if key[a] < key[b] or (key[a] == key[b] and rank[a] <= rank[b]):
                    break
                listed[j] = a
                j -= gap
            listed[j] = b
