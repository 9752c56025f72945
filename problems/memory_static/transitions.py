"""The pool of partial allocations and its kernels, which `corl.search` calls through `corl.hooks`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel
from corl.kernels.rotate import rotate
from corl.kernels.search import bisect_right_by

__all__ = ["State", "lowest", "reset_rows"]


class State(NamedTuple):
    """The pool. I instances of n buffers (N at most), R rows.

    Fields of shape [sum of n] hold the buffers of all instances, one instance after the other.
    """

    buffer_count: NDArray[np.int64]
    """[I] n, the number of buffers."""
    buffers_start: NDArray[np.int64]
    """[I] index of the instance's first buffer in the fields of shape [sum of n]."""
    lower: NDArray[np.int64]
    """[sum of n] the start of a buffer's lifetime."""
    upper: NDArray[np.int64]
    """[sum of n] the end of a buffer's lifetime, exclusive."""
    size: NDArray[np.int64]
    """[sum of n] units of memory."""
    alignment: NDArray[np.int64]
    """[sum of n] the number of which a buffer's offset is a multiple."""
    fixed: NDArray[np.int64]
    """[sum of n] the given offset, or -1."""
    order: NDArray[np.int32]
    """[sum of n] buffers, the largest area (lifetime times size) first."""
    instance: NDArray[np.int32]
    """[R] the index of the row's instance."""
    placed_count: NDArray[np.int32]
    """[R] the number of placed buffers."""
    height: NDArray[np.int64]
    """[R] the largest offset + size of a placed buffer."""
    offset: NDArray[np.int64]
    """[R, N] the offset of a placed buffer; -1 if the buffer is not placed."""
    placed: NDArray[np.int32]
    """[R, N] the placed buffers, the lowest offset first; the first `placed_count` entries are used."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Start the allocation of instances[k] in rows[k], with only the fixed buffers placed, in place.

    bases: float64 [len(rows)], the base values, written in place: minus the height of the fixed buffers.
    """
    for k in range(len(rows)):
        row, instance = rows[k], instances[k]
        state.instance[row], state.placed_count[row], state.height[row] = instance, 0, 0
        first = state.buffers_start[instance]
        for buffer in range(state.buffer_count[instance]):
            state.offset[row, buffer] = -1
        for buffer in range(state.buffer_count[instance]):
            if state.fixed[first + buffer] >= 0:
                _put(state, row, buffer, state.fixed[first + buffer])
        bases[k] = -float(state.height[row])


@kernel(borrow=True)
def _put(state: Any, row: Any, buffer: Any, offset: Any) -> None:
    """Place a buffer at an offset, in place, and keep `placed` sorted."""
    placed, placed_count = state.placed[row], state.placed_count[row]
    placed[placed_count] = buffer
    rotate(placed, placed_count, bisect_right_by(state.offset[row], placed, 0, placed_count, offset))
    state.placed_count[row] += 1
    state.offset[row, buffer] = offset
    end = offset + state.size[state.buffers_start[state.instance[row]] + buffer]
    state.height[row] = max(state.height[row], end)


@kernel
def lowest(state: Any, row: Any, buffer: Any) -> Any:
    """Return the lowest offset at which a buffer fits among those placed: the first gap in memory that is wide enough."""
    first = state.buffers_start[state.instance[row]]
    at = first + buffer
    lower, upper, size, alignment = state.lower[at], state.upper[at], state.size[at], state.alignment[at]
    edge = 0  # the lowest offset above the buffers considered so far that are alive at the same time
    for k in range(state.placed_count[row]):
        other = state.placed[row, k]
        if state.size[first + other] == 0 or state.upper[first + other] <= lower or upper <= state.lower[first + other]:
            continue
        if edge + size <= state.offset[row, other]:
            break
        end = state.offset[row, other] + state.size[first + other]
        if end > edge:
            edge = (end + alignment - 1) // alignment * alignment
    return edge


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Place a buffer at its lowest offset; the reward is minus the increase of the height."""
    instance = state.instance[src]
    if action < 0 or action >= state.buffer_count[instance] or state.offset[src, action] >= 0:
        return math.nan
    if src != dst:
        n, count = state.buffer_count[instance], state.placed_count[src]
        state.instance[dst], state.placed_count[dst], state.height[dst] = instance, count, state.height[src]
        state.offset[dst, :n] = state.offset[src, :n]
        state.placed[dst, :count] = state.placed[src, :count]
    before = state.height[dst]
    _put(state, dst, action, lowest(state, dst, action))
    return float(before - state.height[dst])


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the buffers that are not placed, the largest area (lifetime times size) first."""
    instance = state.instance[row]
    first, n = state.buffers_start[instance], state.buffer_count[instance]
    count = 0
    for k in range(n):
        if count == len(out):
            break
        buffer = state.order[first + k]
        if state.offset[row, buffer] < 0:
            out[count] = buffer
            count += 1
    return count
