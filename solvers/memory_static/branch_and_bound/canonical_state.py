"""The state of the search over canonical allocations: the buffers by section, and the path of decisions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.memory_static.instance import StaticInstance
from corl.solvers.memory_static.branch_and_bound.sections import TOUCHED, UNDO, members

__all__ = ["Tree", "by_load", "fullest", "new_tree", "set_ranks"]

LISTED = TOUCHED + 1
"""Index of `at`: the used length of `listed`."""
BEGIN, END, BOUND, POSITION, FINAL = range(UNDO + 1, UNDO + 6)
"""Columns of `frame`, after those of sections.py: begin and end of the part's buffers in `listed`; the offset of the previous
decision and the position of its buffer in `listed`; whether no other choice need be tried."""


class Tree(NamedTuple):
    """n buffers of size above 0, S sections, D decisions with C choices, L entries of parts, T entries of the trail."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    """[n] the sections of a buffer: first to last - 1."""
    size: NDArray[np.int64]
    alignment: NDArray[np.int64]
    fixed: NDArray[np.int64]
    rank: NDArray[np.int64]
    """[n] buffers of low rank are tried first; of identical ones, the one with the smaller number has the lower rank."""
    twin: NDArray[np.int64]
    """[n] the last earlier buffer that is identical (sections, size, alignment, not fixed), -1 for none."""
    start: NDArray[np.int64]
    """[S + 1] index of the first buffer of a section in `member`."""
    member: NDArray[np.int32]
    neighbours_start: NDArray[np.int64]
    """[n + 1] index of a buffer's first neighbour in `neighbours`: the buffers alive at the same time."""
    neighbours: NDArray[np.int32]
    floor: NDArray[np.int64]
    """[S] a lower bound on the offsets of the unplaced buffers of a section."""
    total: NDArray[np.int64]
    """[S] the total size of the unplaced buffers."""
    open: NDArray[np.int32]
    """[S] the number of unplaced buffers."""
    crossing: NDArray[np.int32]
    """[S] the number of unplaced buffers that live in both section s - 1 and section s."""
    under: NDArray[np.int64]
    """[S] the last buffer placed there, -1 for none."""
    marked: NDArray[np.int64]
    touched: NDArray[np.int64]
    """[S] sections to examine after a decision, and the stamp with which each was marked."""
    lowest: NDArray[np.int64]
    """[n] the lowest offset that a buffer can still get."""
    placed: NDArray[np.bool_]
    offset: NDArray[np.int64]
    key: NDArray[np.int64]
    where: NDArray[np.int64]
    """[n] the position of a buffer in `listed`."""
    frame: NDArray[np.int64]
    """[D, 11] one row per decision; see the columns LEFT ... FINAL."""
    buffer: NDArray[np.int32]
    """[D] the buffer placed, -1 for none."""
    choice: NDArray[np.int32]
    """[C] buffers to try, decision by decision."""
    listed: NDArray[np.int32]
    """[L] the buffers of the parts by rank, one part after the other."""
    trail: NDArray[np.int64]
    """[T, 2] for undoing: an index (see `note`) and the value before the change."""
    at: NDArray[np.int64]
    """[8] see the indices DEPTH ... LISTED."""


def new_tree(instance: StaticInstance, chosen: NDArray[np.int64], room: int = 1) -> Tree:
    """Return a search at its root over the buffers `chosen`, int64 [n]; `room` multiplies the lengths of arrays that may fill."""
    first, last, count = fullest(instance.lower[chosen], instance.upper[chosen])
    n, (start, member) = len(chosen), members(first, last, count)
    neighbours_start, neighbours = _pairs(first, last, start, member)
    data = (instance.size[chosen], instance.alignment[chosen], instance.fixed[chosen], np.arange(n))
    twin = _twins(np.stack([first, last, *data[:3]]))
    depth = n + 2
    return Tree(
        first, last, *data, twin, start, member, neighbours_start, neighbours,
        floor=np.zeros(count, np.int64), total=np.zeros(count, np.int64), open=np.zeros(count, np.int32),
        crossing=np.zeros(count, np.int32), under=np.full(count, -1), marked=np.zeros(count, np.int64),
        touched=np.zeros(count, np.int64), lowest=np.zeros(n, np.int64), placed=np.zeros(n, np.bool_),
        offset=np.zeros(n, np.int64), key=np.zeros(n, np.int64), where=np.zeros(n, np.int64),
        frame=np.zeros((depth, 11), np.int64), buffer=np.zeros(depth, np.int32), choice=np.zeros(room * 20 * n + 64, np.int32),
        listed=np.zeros(room * 10 * n + 64, np.int32), trail=np.zeros((room * 100 * n + 10 * (count + n), 2), np.int64),
        at=np.zeros(8, np.int64),
    )  # fmt: skip


def set_ranks(tree: Tree, rank: NDArray[np.int64]) -> None:
    """Set the ranks of the tree, [n], all different; those of identical buffers are exchanged to increase with their numbers."""
    kind = np.arange(len(rank))
    for b in np.flatnonzero(tree.twin >= 0).tolist():
        kind[b] = kind[tree.twin[b]]
    tree.rank[np.lexsort((np.arange(len(rank)), kind))] = rank[np.lexsort((rank, kind))]


def fullest(lower: NDArray[np.int64], upper: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the first section of each buffer, the one after its last, and the number of sections, of maximal sections only.

    A section is maximal if its buffers are not all alive in the section before or after: it lasts from the last start before an
    end to that end.
    """
    begins, ends = np.unique(lower), np.unique(upper)
    following = np.searchsorted(begins, ends)  # starts before an end: equal numbers are sections that only lose buffers
    closing = ends[np.flatnonzero(np.diff(following, prepend=0) > 0)]
    first = np.searchsorted(closing, lower, side="right")
    last = np.searchsorted(closing, upper, side="right")
    return first.astype(np.int64), np.maximum(last, first + 1).astype(np.int64), len(closing)


def _twins(kind: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each column of `kind`, int64 [5, n], the last earlier equal one, -1 for none; the last row must be negative.

    The rows are first, last, size, alignment, fixed offset; fixed buffers have no twins.
    """
    found: dict[tuple[int, ...], int] = {}
    twin = np.full(kind.shape[1], -1)
    for b, column in enumerate(map(tuple, kind.T.tolist())):
        if column[-1] < 0:
            twin[b] = found.get(column, -1)
            found[column] = b
    return twin


@kernel
def _pairs(
    first: NDArray[np.int64], last: NDArray[np.int64], start: NDArray[np.int64], member: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the buffers that share a section with each buffer: `neighbours` and the index of each buffer's first, [n + 1].

    first, last: int64 [n], the sections of each buffer; start, member: the buffers of each section, as from `members`.
    """
    n = len(first)
    counts = np.zeros(n + 1, np.int64)
    neighbours = np.empty(0, np.int32)
    for fill in range(2):
        for b in range(n):
            end = counts[b] if fill else 0
            for s in range(first[b], last[b]):
                for k in range(start[s], start[s + 1]):
                    q = member[k]
                    if q != b and (s == first[b] or first[q] == s):
                        if fill:
                            neighbours[end] = q
                        end += 1
            if not fill:
                counts[b] = end
        if not fill:
            total = 0
            for b in range(n + 1):
                number = counts[b]
                counts[b] = total
                total += number
            neighbours = np.empty(total, np.int32)
    return counts, neighbours


@kernel
def by_load(listed: NDArray[np.int32], key: NDArray[np.int64], rank: NDArray[np.int64]) -> None:
    """Sort buffers by (key, rank), the least first, in place: Shell's sort with gaps by Ciura."""
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
