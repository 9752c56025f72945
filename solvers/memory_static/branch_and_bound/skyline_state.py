"""The state of the search over skylines: the buffers in sections, and the path of its decisions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.memory_static.instance import StaticInstance, sections
from corl.solvers.memory_static.branch_and_bound.sections import UNDO, members

__all__ = ["Skyline", "new_skyline"]

SECTION, RISE, FROM, TO = range(UNDO + 1, UNDO + 5)
"""Columns of `frame`, after those of sections.py: the section branched on, where the floor rises to, and the sections touched."""


class Skyline(NamedTuple):
    """n buffers of size above 0, S sections, and the path of the search: D decisions, C choices in all, a trail of T changes."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    """[n] the sections of a buffer: first to last - 1."""
    size: NDArray[np.int64]
    alignment: NDArray[np.int64]
    fixed: NDArray[np.int64]
    start: NDArray[np.int64]
    """[S + 1] where the buffers of a section begin in `member`."""
    member: NDArray[np.int32]
    floor: NDArray[np.int64]
    """[S]"""
    total: NDArray[np.int64]
    """[S] the sizes of what is not placed."""
    open: NDArray[np.int32]
    """[S] how many buffers are not placed."""
    crossing: NDArray[np.int32]
    """[S] how many buffers that are not placed live in section s - 1 and s."""
    under: NDArray[np.int64]
    """[S] the buffer whose upper end is the floor, -1 for none."""
    weight: NDArray[np.float64]
    """[S] failures seen, with those of earlier searches fading."""
    marked: NDArray[np.int64]
    touched: NDArray[np.int64]
    """[S] sections to look at after a decision."""
    lowest: NDArray[np.int64]
    """[n] the lowest offset that a buffer can still have."""
    placed: NDArray[np.bool_]
    offset: NDArray[np.int64]
    priority: NDArray[np.float64]
    """[n] buffers of high priority are tried first."""
    key: NDArray[np.float64]
    frame: NDArray[np.int64]
    """[D, 10] see the columns."""
    buffer: NDArray[np.int32]
    """[D] what was placed, -1 for nothing."""
    choice: NDArray[np.int32]
    """[C] buffers, -1 for raising the floor."""
    trail: NDArray[np.int64]
    """[T, 2] index, value before."""
    random: NDArray[np.uint64]
    at: NDArray[np.int64]
    """[7] see the places."""


def new_skyline(instance: StaticInstance, chosen: NDArray[np.int64], random: NDArray[np.uint64], room: int = 1) -> Skyline:
    """A search that has not begun, over the buffers `chosen`; `room` multiplies the lengths of decisions, branches and trail."""
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
