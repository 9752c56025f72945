"""The state of the search over skylines (skyline.py): the buffers by section, and the path of decisions.

Sections, parts, decisions and the trail are explained in sections.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.memory_static.instance import StaticInstance, sections
from corl.solvers.memory_static.branch_and_bound.sections import UNDO, members

__all__ = ["Skyline", "new_skyline"]

SECTION, RISE, FROM, TO = range(UNDO + 1, UNDO + 5)
"""Columns of `frame`, after those of sections.py: the section that the decision is about; the section's floor if no buffer is
placed on it; the sections that the last choice changed, FROM to TO - 1."""


class Skyline(NamedTuple):
    """n buffers of size above 0 in S sections, and the current path of the search.

    There is space for D decisions with C choices in all, and T entries of the trail.
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
    start: NDArray[np.int64]
    """[S + 1] index of the first buffer of a section in `member`."""
    member: NDArray[np.int32]
    """[sum of buffers in all sections] the buffers of the sections, one section after the other."""
    floor: NDArray[np.int64]
    """[S] a lower bound on the offsets of the unplaced buffers of a section."""
    unplaced_size: NDArray[np.int64]
    """[S] the total size of the unplaced buffers of a section."""
    unplaced_count: NDArray[np.int32]
    """[S] the number of unplaced buffers of a section."""
    crossing: NDArray[np.int32]
    """[S] the number of unplaced buffers that are alive in both section s - 1 and section s."""
    top_buffer: NDArray[np.int64]
    """[S] the buffer whose upper end is the floor of a section; -1: none."""
    weight: NDArray[np.float64]
    """[S] 1 + the number of failures at a section; the number is halved at each restart."""
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
    priority: NDArray[np.float64]
    """[n] buffers of high priority are tried first."""
    key: NDArray[np.float64]
    """[n + 1] work array: the noisy priorities of the choices while they are sorted."""
    frame: NDArray[np.int64]
    """[D, 10] one row per decision, columns LEFT ... TO."""
    buffer: NDArray[np.int32]
    """[D] the buffer that a decision has placed; -1: none."""
    choice: NDArray[np.int32]
    """[C] the buffers to try, one decision after the other; -1: raise the floor instead."""
    trail: NDArray[np.int64]
    """[T, 2] the changes to undo: an index (see `note`) and the value before the change."""
    random: NDArray[np.uint64]
    """A state of corl.rng, for the noise on priorities."""
    at: NDArray[np.int64]
    """[7] indexed by DEPTH ... TOUCHED."""


def new_skyline(instance: StaticInstance, chosen: NDArray[np.int64], random: NDArray[np.uint64], room: int = 1) -> Skyline:
    """Return a search at its root.

    Args:
        instance: The instance.
        chosen: int64 [n], the buffers to place.
        random: A state of corl.rng.
        room: A factor for the lengths of the arrays that may become full.
    """
    section_data = sections(instance)
    first, last = section_data.first[chosen], section_data.last[chosen]
    n, count = len(chosen), len(section_data.load)
    start, member = members(first, last, count)
    depth = room * 4 * n + 16
    data = (instance.size[chosen], instance.alignment[chosen], instance.fixed[chosen], start, member)
    return Skyline(
        first.astype(np.int64), last.astype(np.int64), *data,
        floor=np.zeros(count, np.int64), unplaced_size=np.zeros(count, np.int64), unplaced_count=np.zeros(count, np.int32),
        crossing=np.zeros(count, np.int32), top_buffer=np.full(count, -1), weight=np.ones(count),
        marked=np.zeros(count, np.int64), touched=np.zeros(count, np.int64), lowest=np.zeros(n, np.int64),
        placed=np.zeros(n, np.bool_), offset=np.zeros(n, np.int64), priority=np.ones(n), key=np.zeros(n + 1),
        frame=np.zeros((depth, 10), np.int64), buffer=np.zeros(depth, np.int32), choice=np.zeros(room * 40 * n + 64, np.int32),
        trail=np.zeros((room * 400 * n + 10 * (count + n), 2), np.int64), random=random, at=np.zeros(7, np.int64),
    )  # fmt: skip
