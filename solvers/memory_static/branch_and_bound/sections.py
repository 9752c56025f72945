"""What both searches of branch and bound share: buffers in sections of time, what is still to be placed there, the way back.

`Tree` (canonical_state.py) and `Skyline` (skyline_state.py) have the same names for the same arrays: first, last, size [n];
start [S + 1], member; floor, total, open, crossing, under [S]; marked, touched [S]; lowest, placed, offset [n]; frame [D, ...],
buffer [D], choice, trail, at. The kernels here take either. They count no references to arrays (`borrow`): they are short, and
called hundreds of times a node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["FOUND", "FULL", "GOING", "INFINITE", "NONE", "members", "note", "shift", "take_back", "touch"]

GOING, FOUND, NONE, FULL = range(4)
"""What a call of `advance` ends with: still at it; an allocation; there is none within the capacity; arrays too short."""
DEPTH, TRAIL, CHOICES, PLACED, STAMP, RETRY, TOUCHED = range(7)
"""Places in `at`: the depth, -1 at the root; what is used of `trail` and `choice`; buffers placed; a stamp; whether to go back;
how many sections are to be looked at."""
LEFT, RIGHT, FIRST_CHOICE, LAST_CHOICE, NEXT_CHOICE, UNDO = range(6)
"""Columns of `frame`: the sections of the decision's part; its choices and the next of them; the trail before."""
INFINITE = 2**62


def members(first: NDArray[np.int64], last: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(start [count + 1], member): the buffers of section s are member[start[s]:start[s + 1]], in order."""
    length = last - first
    at = np.repeat(first - np.cumsum(length) + length, length) + np.arange(length.sum())
    member = np.repeat(np.arange(len(first), dtype=np.int32), length)[np.argsort(at, kind="stable")]
    return np.searchsorted(np.sort(at), np.arange(count + 1)).astype(np.int64), member


@kernel(borrow=True)
def shift(state: Any, b: Any, sign: Any) -> None:
    """Take a buffer out of those to be placed (sign -1), or put it back (1)."""
    state.placed[b] = sign < 0
    state.at[PLACED] -= sign
    for s in range(state.first[b], state.last[b]):
        state.total[s] += sign * state.size[b]
        state.open[s] += sign
        if s > state.first[b]:
            state.crossing[s] += sign


@kernel(borrow=True)
def touch(state: Any, s: Any) -> None:
    """A section is to be looked at."""
    if state.marked[s] != state.at[STAMP]:
        state.marked[s], state.touched[state.at[TOUCHED]] = state.at[STAMP], s
        state.at[TOUCHED] += 1


@kernel(borrow=True)
def note(state: Any, index: Any, value: Any) -> None:
    """Remember a value that is about to change: by index the floor of a section, what is under it, a buffer's lowest offset."""
    k = state.at[TRAIL]
    state.trail[k, 0], state.trail[k, 1] = index, value
    state.at[TRAIL] = k + 1


@kernel(borrow=True)
def take_back(state: Any, d: Any) -> None:
    """Undo what the last choice of decision d did."""
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
