"""What the search over skylines works on: the buffers in sections, and the path of its decisions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.memory.static.instance import StaticInstance, sections

__all__ = ["Skyline", "new_skyline"]

DEPTH, TRAIL, OPTIONS, PLACED, STAMP, RETRY = range(6)
"""Places in `Skyline.at`."""
SECTION, RISE, BEGIN, END, NEXT, UNDO, LEFT, RIGHT, FROM, TO = range(10)
"""Columns of `Skyline.decision`."""


class Skyline(NamedTuple):
    """n buffers of size above 0, S sections, and the path of the search: D decisions, O branches in all, a trail of T changes."""

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
    """[S + 1] how many buffers that are not placed live in section s - 1 and s."""
    top: NDArray[np.int32]
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
    decision: NDArray[np.int64]
    """[D, 10] section, rise, first and end of the branches, the next one; the trail before; the part; the sections touched."""
    buffer: NDArray[np.int32]
    """[D] what was placed, -1 for nothing."""
    option: NDArray[np.int32]
    """[O] buffers, -1 for raising the floor."""
    trail: NDArray[np.int64]
    """[T, 3] kind, index, value before."""
    random: NDArray[np.uint64]
    at: NDArray[np.int64]
    """[6] the depth, -1 at the root; what is used of the trail and of `option`; buffers placed; a stamp; whether to go back."""


def new_skyline(instance: StaticInstance, chosen: NDArray[np.int64], random: NDArray[np.uint64], room: int = 1) -> Skyline:
    """A search that has not begun, over the buffers `chosen`; `room` multiplies the lengths of decisions, branches and trail."""
    found = sections(instance)
    first, last = found.first[chosen], found.last[chosen]
    n, count = len(chosen), len(found.load)
    length = last - first
    at = np.repeat(first - np.cumsum(length) + length, length) + np.arange(length.sum())
    member = np.repeat(np.arange(n, dtype=np.int32), length)[np.argsort(at, kind="stable")]
    start = np.searchsorted(np.sort(at), np.arange(count + 1))
    depth = room * 4 * n + 16
    data = (instance.size[chosen], instance.alignment[chosen], instance.fixed[chosen], start.astype(np.int64), member)
    return Skyline(
        first.astype(np.int64), last.astype(np.int64), *data,
        floor=np.zeros(count, np.int64), total=np.zeros(count, np.int64), open=np.zeros(count, np.int32),
        crossing=np.zeros(count + 1, np.int32), top=np.full(count, -1, np.int32), weight=np.ones(count),
        marked=np.zeros(count, np.int64), touched=np.zeros(count, np.int64), lowest=np.zeros(n, np.int64),
        placed=np.zeros(n, np.bool_), offset=np.zeros(n, np.int64), priority=np.ones(n), key=np.zeros(n + 1),
        decision=np.zeros((depth, 10), np.int64), buffer=np.zeros(depth, np.int32), option=np.zeros(room * 40 * n + 64, np.int32),
        trail=np.zeros((room * 400 * n + 10 * (count + n), 3), np.int64), random=random, at=np.zeros(6, np.int64),
    )  # fmt: skip
