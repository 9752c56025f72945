"""The state of the search over canonical allocations (canonical.py): the buffers by section, and the path of decisions.

Sections, parts, decisions and the trail are explained in sections.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.memory_static.instance import StaticInstance
from corl.solvers.memory_static.branch_and_bound.sections import TOUCHED, UNDO, members

__all__ = ["Tree", "by_load", "maximal_sections", "new_tree", "set_ranks"]

LISTED = TOUCHED + 1
"""Index of `at`: the used length of `listed`."""
BEGIN, END, BOUND, POSITION, FINAL = range(UNDO + 1, UNDO + 6)
"""Columns of `frame`, after those of sections.py: begin and end of the part's buffers in `listed`; the offset of the buffer that
the previous decision placed, and that buffer's position in `listed`; 1 if no other choice need be tried, otherwise 0."""


class Tree(NamedTuple):
    """n buffers of size above 0 in S sections, and the current path of the search.

    There is space for D decisions with C choices in all, L entries of `listed` and T entries of the trail.
    """

    first: NDArray[np.int64]
    """[n] the first section of a buffer."""
    last: NDArray[np.int64]
    """[n] the section after a buffer's last one."""
    size: NDArray[np.int64]
    """[n] units of memory."""
    alignment: NDArray[np.int64]
    """[n] the number of which a buffer's offset is a multiple."""
    fixed: NDArray[np.int64]
    """[n] the given offset, or -1."""
    rank: NDArray[np.int64]
    """[n] buffers of low rank are tried first; of identical buffers, the one with the smaller number has the lower rank."""
    twin: NDArray[np.int64]
    """[n] the last earlier buffer that is identical in sections, size and alignment, if neither is fixed; -1 if there is none."""
    start: NDArray[np.int64]
    """[S + 1] index of the first buffer of a section in `member`."""
    member: NDArray[np.int32]
    """[sum of buffers in all sections] the buffers of the sections, one section after the other."""
    neighbours_start: NDArray[np.int64]
    """[n + 1] index of a buffer's first neighbour in `neighbours`."""
    neighbours: NDArray[np.int32]
    """[sum of neighbours of all buffers] the buffers that are alive at the same time as each buffer."""
    floor: NDArray[np.int64]
    """[S] a lower bound on the offsets of the unplaced buffers of a section."""
    unplaced_size: NDArray[np.int64]
    """[S] the total size of the unplaced buffers of a section."""
    unplaced_count: NDArray[np.int32]
    """[S] the number of unplaced buffers of a section."""
    crossing: NDArray[np.int32]
    """[S] the number of unplaced buffers that are alive in both section s - 1 and section s."""
    top_buffer: NDArray[np.int64]
    """[S] the last buffer that was placed in a section; -1: none."""
    marked: NDArray[np.int64]
    """[S] the stamp of the choice after which a section was last added to `touched`."""
    touched: NDArray[np.int64]
    """[S] the sections to examine after a choice; `at[TOUCHED]` entries are used."""
    lowest: NDArray[np.int64]
    """[n] the lowest offset that a buffer can still get."""
    placed: NDArray[np.bool_]
    """[n] whether a buffer is placed."""
    offset: NDArray[np.int64]
    """[n] the offset of a placed buffer."""
    key: NDArray[np.int64]
    """[n] work array for `by_load`: what buffers are sorted by before their rank."""
    where: NDArray[np.int64]
    """[n] the position of a buffer in `listed`."""
    frame: NDArray[np.int64]
    """[D, 11] one row per decision, columns LEFT ... FINAL."""
    buffer: NDArray[np.int32]
    """[D] the buffer that a decision has placed; -1: none."""
    choice: NDArray[np.int32]
    """[C] the buffers to try, one decision after the other."""
    listed: NDArray[np.int32]
    """[L] the buffers of the parts by rank, one part after the other."""
    trail: NDArray[np.int64]
    """[T, 2] the changes to undo: an index (see `note`) and the value before the change."""
    at: NDArray[np.int64]
    """[8] indexed by DEPTH ... LISTED."""


def new_tree(instance: StaticInstance, chosen: NDArray[np.int64], room: int = 1) -> Tree:
    """Return a search at its root over the buffers `chosen`, int64 [n].

    room: a factor for the lengths of the arrays that may become full.
    """
    first, last, count = maximal_sections(instance.lower[chosen], instance.upper[chosen])
    n, (start, member) = len(chosen), members(first, last, count)
    neighbours_start, neighbours = _pairs(first, last, start, member)
    data = (instance.size[chosen], instance.alignment[chosen], instance.fixed[chosen], np.arange(n))
    twin = _twins(np.stack([first, last, *data[:3]]))
    depth = n + 2
    return Tree(
        first, last, *data, twin, start, member, neighbours_start, neighbours,
        floor=np.zeros(count, np.int64), unplaced_size=np.zeros(count, np.int64), unplaced_count=np.zeros(count, np.int32),
        crossing=np.zeros(count, np.int32), top_buffer=np.full(count, -1), marked=np.zeros(count, np.int64),
        touched=np.zeros(count, np.int64), lowest=np.zeros(n, np.int64), placed=np.zeros(n, np.bool_),
        offset=np.zeros(n, np.int64), key=np.zeros(n, np.int64), where=np.zeros(n, np.int64),
        frame=np.zeros((depth, 11), np.int64), buffer=np.zeros(depth, np.int32), choice=np.zeros(room * 20 * n + 64, np.int32),
        listed=np.zeros(room * 10 * n + 64, np.int32), trail=np.zeros((room * 100 * n + 10 * (count + n), 2), np.int64),
        at=np.zeros(8, np.int64),
    )  # fmt: skip


def set_ranks(tree: Tree, rank: NDArray[np.int64]) -> None:
    """Set the ranks of the buffers to `rank`, int64 [n], all different, in place.

    The ranks of identical buffers are exchanged so that they increase with the buffers' numbers.
    """
    first_twin = np.arange(len(rank))
    for b in np.flatnonzero(tree.twin >= 0).tolist():
        first_twin[b] = first_twin[tree.twin[b]]
    tree.rank[np.lexsort((np.arange(len(rank)), first_twin))] = rank[np.lexsort((rank, first_twin))]


def maximal_sections(lower: NDArray[np.int64], upper: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the first maximal section of each buffer, the one after its last, and the number of maximal sections.

    A section, a span of time in which the same buffers are alive, is maximal if its set of buffers is not a subset of that of the
    section before or after. So it begins with the start of a lifetime, ends with the end of a lifetime, and none starts or ends
    in between. The other sections are not needed, since buffers that overlap in time have a maximal section in common.

    lower, upper: int64 [n], start and end of each lifetime.
    """
    begins, ends = np.unique(lower), np.unique(upper)
    begins_before = np.searchsorted(begins, ends)  # if the number is the same as for the previous end, buffers only ended since
    section_ends = ends[np.flatnonzero(np.diff(begins_before, prepend=0) > 0)]
    first = np.searchsorted(section_ends, lower, side="right")
    last = np.searchsorted(section_ends, upper, side="right")
    return first.astype(np.int64), np.maximum(last, first + 1).astype(np.int64), len(section_ends)


def _twins(facts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each buffer, the last earlier buffer that is identical, int64 [n]; -1 if there is none or the buffer is fixed.

    facts: int64 [5, n], the rows first section, section after the last, size, alignment, and fixed offset (negative: not fixed).
    """
    latest: dict[tuple[int, ...], int] = {}
    twin = np.full(facts.shape[1], -1)
    for b, column in enumerate(map(tuple, facts.T.tolist())):
        if column[-1] < 0:
            twin[b] = latest.get(column, -1)
            latest[column] = b
    return twin


@kernel
def _pairs(
    first: NDArray[np.int64], last: NDArray[np.int64], start: NDArray[np.int64], member: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return (neighbours_start, neighbours) of a Tree: the buffers that have a section in common with each buffer.

    Args:
        first: int64 [n], the first section of each buffer.
        last: int64 [n], the section after its last.
        start: int64 [S + 1], from `members`.
        member: int32, from `members`.
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
    """Sort the buffers `listed` by increasing key[b], then by increasing rank[b], in place, by Shell's sort with Ciura's gaps."""
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
