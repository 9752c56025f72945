"""The part of branch and bound that both kinds of search share: buffers in sections of time, unplaced sizes, and undoing.

A section is a span of time in which the same buffers are alive. The kernels here take a `Tree` (canonical_state.py) or a
`Skyline` (skyline_state.py), whose common fields have the same names. The kernels do not count references to arrays (`borrow`),
because they are short and called hundreds of times per node.

A part is a range of sections such that no unplaced buffer is alive both inside and outside it; parts are searched one after the
other. A decision is a node of the search tree on the current path, with the choices still to be tried; the trail records the
values that were changed, so that a choice can be undone.
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
"""Indices of `at`: the index of the latest decision, -1 at the root; used lengths of `trail` and `choice`; the number of placed
buffers; the stamp of `marked` for the current choice; whether to try the next choice of the latest decision (1) or to make a new
decision (0); the used length of `touched`."""
LEFT, RIGHT, FIRST_CHOICE, LAST_CHOICE, NEXT_CHOICE, UNDO = range(6)
"""Columns of `frame`: the decision's part, sections LEFT to RIGHT - 1; the index in `choice` of the decision's first choice, the
index after its last choice, and the index of its next choice; the used length of the trail before the decision."""
INFINITE = 2**62
"""Larger than every offset."""


def members(first: NDArray[np.int64], last: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return (start, member): the buffers alive in section s are member[start[s]:start[s + 1]], in increasing order.

    Args:
        first: int64 [n], the first section of each buffer.
        last: int64 [n], the section after its last.
        count: The number of sections.
    """
    length = last - first
    at = np.repeat(first - np.cumsum(length) + length, length) + np.arange(length.sum())
    member = np.repeat(np.arange(len(first), dtype=np.int32), length)[np.argsort(at, kind="stable")]
    return np.searchsorted(np.sort(at), np.arange(count + 1)).astype(np.int64), member


@kernel(borrow=True)
def shift(state: Any, b: Any, sign: Any) -> None:
    """Count buffer b as placed (sign -1) or as unplaced (sign 1), in place."""
    state.placed[b] = sign < 0
    state.at[PLACED] -= sign
    for s in range(state.first[b], state.last[b]):
        state.unplaced_size[s] += sign * state.size[b]
        state.unplaced_count[s] += sign
        if s > state.first[b]:
            state.crossing[s] += sign


@kernel(borrow=True)
def touch(state: Any, s: Any) -> None:
    """Add section s to the sections to be examined, unless it is among them, in place."""
    if state.marked[s] != state.at[STAMP]:
        state.marked[s], state.touched[state.at[TOUCHED]] = state.at[STAMP], s
        state.at[TOUCHED] += 1


@kernel(borrow=True)
def note(state: Any, index: Any, value: Any) -> None:
    """Append a value that is about to change to the trail, in place.

    Index s below S stands for floor[s], index S + s for top_buffer[s], and index 2 S + b for lowest[b].
    """
    k = state.at[TRAIL]
    state.trail[k, 0], state.trail[k, 1] = index, value
    state.at[TRAIL] = k + 1


@kernel(borrow=True)
def take_back(state: Any, d: Any) -> None:
    """Undo the choice that was last tried at decision d, in place."""
    while state.at[TRAIL] > state.frame[d, UNDO]:
        k = state.at[TRAIL] - 1
        state.at[TRAIL] = k
        index, count = state.trail[k, 0], len(state.floor)
        if index < count:
            state.floor[index] = state.trail[k, 1]
        elif index < 2 * count:
            state.top_buffer[index - count] = state.trail[k, 1]
        else:
            state.lowest[index - 2 * count] = state.trail[k, 1]
    b = np.int64(state.buffer[d])
    if b >= 0:
        shift(state, b, 1)
        state.buffer[d] = -1
