"""The part of branch and bound that both searches share: buffers in sections of time, unplaced load, and undoing.

`Tree` (canonical_state.py) and `Skyline` (skyline_state.py) have the same names for the same arrays: first, last, size [n];
start [S + 1], member; floor, total, open, crossing, under [S]; marked, touched [S]; lowest, placed, offset [n]; frame [D, ...],
buffer [D], choice, trail, at. The kernels here take either. They do not count references to arrays (`borrow`): they are short,
and called hundreds of times per node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["FOUND", "FULL", "GOING", "INFINITE", "NONE", "members", "note", "shift", "take_back", "touch"]

GOING, FOUND, NONE, FULL = range(4)
"""Results of `advance`: unfinished; an allocation was found; there is none within the capacity; arrays are too short."""
DEPTH, TRAIL, CHOICES, PLACED, STAMP, RETRY, TOUCHED = range(7)
"""Indices of `at`: the depth, -1 at the root; used lengths of `trail` and `choice`; the number of placed buffers; the current
stamp; whether the last choice failed; the number of sections to examine."""
LEFT, RIGHT, FIRST_CHOICE, LAST_CHOICE, NEXT_CHOICE, UNDO = range(6)
"""Columns of `frame`: the sections of the decision's part; its first, last and next choice; the trail's length before it."""
INFINITE = 2**62


def members(first: NDArray[np.int64], last: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return (start [count + 1], member): the buffers of section s are member[start[s]:start[s + 1]], in increasing order."""
    length = last - first
    at = np.repeat(first - np.cumsum(length) + length, length) + np.arange(length.sum())
    member = np.repeat(np.arange(len(first), dtype=np.int32), length)[np.argsort(at, kind="stable")]
    return np.searchsorted(np.sort(at), np.arange(count + 1)).astype(np.int64), member


@kernel(borrow=True)
def shift(state: Any, b: Any, sign: Any) -> None:
    """Remove a buffer from the unplaced ones (sign -1), or put it back (1), in place."""
    state.placed[b] = sign < 0
    state.at[PLACED] -= sign
    for s in range(state.first[b], state.last[b]):
        state.total[s] += sign * state.size[b]
        state.open[s] += sign
        if s > state.first[b]:
            state.crossing[s] += sign


@kernel(borrow=True)
def touch(state: Any, s: Any) -> None:
    """Mark a section to be examined."""
    if state.marked[s] != state.at[STAMP]:
        state.marked[s], state.touched[state.at[TOUCHED]] = state.at[STAMP], s
        state.at[TOUCHED] += 1


@kernel(borrow=True)
def note(state: Any, index: Any, value: Any) -> None:
    """Append a value that is about to change to the trail.

    An index below S means the floor of a section, the next S `under`, and the rest the lowest offset of a buffer.
    """
    k = state.at[TRAIL]
    state.trail[k, 0], state.trail[k, 1] = index, value
    state.at[TRAIL] = k + 1


@kernel(borrow=True)
def take_back(state: Any, d: Any) -> None:
    """Undo the last choice of decision d, in place."""
    while state.at[TRAIL] > state.frame[d, UNDO]:
        k = state.at[TRAIL] - 1
        state.at[TRAIL] = k
        index, count = state.trail[k, 0], len(state.floor)
        if index < count:
            state.floor[index] = state.trail[k, 1]
        elif index < 2 * count:
            state.under[index - count] = state.trail[k, 1]
        else:
            state.lowest[index - 2 * count] = state.trail[k, 1]
    b = np.int64(state.buffer[d])
    if b >= 0:
        shift(state, b, 1)
        state.buffer[d] = -1
