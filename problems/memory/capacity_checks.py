"""Questions about a row of the game: whether fast memory has room, and when a tensor could be there."""

from __future__ import annotations

from typing import Any

from corl.jit import kernel
from corl.problems.memory.pool import FILLED, HELD_TENSOR
from corl.problems.memory.timing import HIGH, LOW, SIZE

__all__ = ["copied_out", "copy_start", "fits", "is_resident", "kept_until", "next_use", "rectangle_under"]


@kernel
def copy_start(state: Any, row: Any, t: Any, op: Any) -> Any:
    """Return the start of a copy of tensor t for operation `op`, and the bytes that idle bandwidth does not move in time.

    The start is the latest operation from which on idle bandwidth moves the whole tensor. If there is none, it is the earliest
    one from which on there is room; `op` itself if there is no room at the operation before.
    """
    start, instance = op, state.instance[row]
    size = state.sizes[state.tensors_start[instance] + t]
    left, room = float(size), state.capacity[instance] - size
    while start > state.free[row, t] and (left > 0.0 or start == op) and state.load[row, start - 1] <= room:
        start -= 1
        left -= state.idle[row, start]
    return start, max(0.0, left)


@kernel
def is_resident(state: Any, row: Any, t: Any, op: Any) -> Any:
    """Return whether a tensor is in fast memory at an operation: whether its latest rectangle has not ended."""
    r = state.live[row, t]
    return r >= 0 and state.rects[row, r, HIGH] > op


@kernel
def kept_until(state: Any, row: Any, a: Any) -> Any:
    """Return the end of a tensor's rectangle if it is kept at access a (an index over all instances); -1: keeping has no use.

    The end is its next use; for an output without one, the operation at which idle bandwidth has copied it out.
    """
    instance = state.instance[row]
    following = state.following[a]
    if following >= 0:
        return state.op[state.accesses_start[instance] + following] + 1
    t = state.tensors_start[instance] + state.tensor[a]
    if not (state.write[a] and state.output[t]) or state.op[a] + 2 > state.ops[instance]:
        return -1
    return copied_out(state, row, a, state.ops[instance])


@kernel
def copied_out(state: Any, row: Any, a: Any, latest: Any) -> Any:
    """Return the end of a rectangle, at most `latest`, such that idle bandwidth copies out the tensor written at access a."""
    end, room = state.op[a] + 2, state.idle[row, state.op[a] + 1]
    size = state.sizes[state.tensors_start[state.instance[row]] + state.tensor[a]]
    while end < latest and room < size:
        room += state.idle[row, end]
        end += 1
    return end


@kernel
def next_use(state: Any, row: Any, a: Any) -> Any:
    """Return the operation that accesses the tensor of access a next; the program's end if there is none."""
    instance = state.instance[row]
    following = state.following[a]
    return state.op[state.accesses_start[instance] + following] if following >= 0 else state.ops[instance]


@kernel
def rectangle_under(state: Any, row: Any, a: Any) -> Any:
    """Return the rectangle over which the tensor written at access a may be written; -1 if there is none.

    It belongs to an input of its alias group that is read there for the last time.
    """
    instance = state.instance[row]
    base, t, low = state.tensors_start[instance], state.tensor[a], state.op[a]
    group, rects = state.group[base + t], state.rects[row]
    if group >= 0:
        for r in range(state.places[row]):
            old = state.held[row, r, HELD_TENSOR]
            ends = (
                rects[r, HIGH] == low + 1
                and state.held[row, r, FILLED] <= low
                and rects[r, LOW] < low
                and state.last[base + old] == low
            )
            if state.group[base + old] == group and ends:
                return r
    return -1


@kernel
def fits(state: Any, row: Any, low: Any, high: Any, size: Any, under: Any) -> Any:
    """Return whether fast memory has room for one more rectangle.

    Args:
        state: The pool.
        row: The row.
        low: Its first operation.
        high: The operation after its last.
        size: Its bytes.
        under: A rectangle over which it is written at its first operation; -1: none.
    """
    capacity = state.capacity[state.instance[row]]
    for i in range(low, high):
        shared = min(size, state.rects[row, under, SIZE]) if under >= 0 and i == low else 0
        if state.load[row, i] - shared + size > capacity:
            return False
    return True
