"""The state of the search over skylines: the buffers by section, and the path of decisions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.memory_static.instance import StaticInstance, sections
from corl.solvers.memory_static.branch_and_bound.sections import UNDO, members

__all__ = ["Skyline", "new_skyline"]

SECTION, RISE, FROM, TO = range(UNDO + 1, UNDO + 5)
"""Columns of `frame`, after those of sections.py: the section branched on, its floor if none is placed, the sections changed."""


class Skyline(NamedTuple):
    """n buffers of size above 0, S sections, D decisions with C choices, T entries of the trail."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    """[n] the sections of a buffer: first to last - 1."""
    size: NDArray[np.int64]
    alignment: NDArray[np.int64]
    fixed: NDArray[np.int64]
    start: NDArray[np.int64]
    """[S + 1] index of the first buffer of a section in `member`."""
    member: NDArray[np.int32]
    floor: NDArray[np.int64]
    """[S] a lower bound on the offsets of the unplaced buffers of a section."""
    total: NDArray[np.int64]
    """[S] the total size of the unplaced buffers."""
    open: NDArray[np.int32]
    """[S] the number of unplaced buffers."""
    crossing: NDArray[np.int32]
    """[S] the number of unplaced buffers that live in both section s - 1 and section s."""
    under: NDArray[np.int64]
    """[S] the buffer whose upper end is the floor, -1 for none."""
    weight: NDArray[np.float64]
    """[S] 1 + the number of failures, which is halved at each restart."""
    marked: NDArray[np.int64]
    touched: NDArray[np.int64]
    """[S] sections to examine after a decision, and the stamp with which each was marked."""
    lowest: NDArray[np.int64]
    """[n] the lowest offset that a buffer can still get."""
    placed: NDArray[np.bool_]
    offset: NDArray[np.int64]
    priority: NDArray[np.float64]
    """[n] buffers of high priority are tried first."""
    key: NDArray[np.float64]
    frame: NDArray[np.int64]
    """[D, 10] one row per decision; see the columns LEFT ... TO."""
    buffer: NDArray[np.int32]
    """[D] the buffer placed, -1 for none."""
    choice: NDArray[np.int32]
    """[C] buffers to try, decision by decision; -1: raise the floor instead."""
    trail: NDArray[np.int64]
    """[T, 2] for undoing: an index (see `note`) and the value before the change."""
    random: NDArray[np.uint64]
    at: NDArray[np.int64]
    """[7] see the indices DEPTH ... TOUCHED."""


def new_skyline(instance: StaticInstance, chosen: NDArray[np.int64], random: NDArray[np.uint64], room: int = 1) -> Skyline:
    """Return a search at its root over the buffers `chosen`, int64 [n]; `room` multiplies the lengths of arrays that may fill."""
    found = sections(instance)
    first, last = found.first[chosen], found.last[chosen]
    n, count = len(chosen), len(found.load)
    start, member = members(first, last, count)
    depth = room * 4 * n + 16
    data = (instance.size[chosen], instance.alignment[chosen], instance.fixed[chosen], start, member)
    return Skyline(
        first.astype(np.int64), last.astype(np.int64), *data,
        floor=np.zeros(count, np.int64), total=np.zeros(count, np.int64), open=np.zeros(count, np.int32),
        crossing=np.zeros(count, np.int32), under=np.full(count, -1), weight=np.ones(count),
        marked=np.zeros(count, np.int64), touched=np.zeros(count, np.int64), lowest=np.zeros(n, np.int64),
        placed=np.zeros(n, np.bool_), offset=np.zeros(n, np.int64), priority=np.ones(n), key=np.zeros(n + 1),
        frame=np.zeros((depth, 10), np.int64), buffer=np.zeros(depth, np.int32), choice=np.zeros(room * 40 * n + 64, np.int32),
        trail=np.zeros((room * 400 * n + 10 * (count + n), 2), np.int64), random=random, at=np.zeros(7, np.int64),
    )  # fmt: skip
