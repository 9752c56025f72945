"""Queries on the state of a game: whether fast memory has room for a tensor, and from which operation to which.

A rectangle is a span of operations and of bytes in fast memory that is reserved for a tensor. An access is given by its index
into the accesses of all instances of the pool.
"""

from __future__ import annotations

from typing import Any

from corl.jit import kernel
from corl.problems.memory.pool import FILLED, HELD_TENSOR
from corl.problems.memory.timing import HIGH, LOW, SIZE

__all__ = ["copied_out", "copy_start", "fits", "is_resident", "kept_until", "next_use", "rectangle_under"]


@kernel
def copy_start(state: Any, row: Any, t: Any, op: Any) -> Any:
    """Return when a copy of tensor t for operation `op` begins, and how many bytes idle bandwidth does not move before `op`.

    The copy begins with the latest operation from which on idle bandwidth moves the whole tensor. If there is none, it begins
    with the earliest operation from which on fast memory has room; with `op` itself if there is no room at the operation before.
    """
    start, instance = op, state.instance[row]
    size = state.sizes[state.tensors_start[instance] + t]
    bytes_left, max_load = float(size), state.capacity[instance] - size
    while start > state.earliest_copy[row, t] and (bytes_left > 0.0 or start == op) and state.load[row, start - 1] <= max_load:
        start -= 1
        bytes_left -= state.idle[row, start]
    return start, max(0.0, bytes_left)


@kernel
def is_resident(state: Any, row: Any, t: Any, op: Any) -> Any:
    """Return whether a tensor is in fast memory at an operation: whether its latest rectangle has not ended."""
    r = state.latest_rect[row, t]
    return r >= 0 and state.rects[row, r, HIGH] > op


@kernel
def kept_until(state: Any, row: Any, a: Any) -> Any:
    """Return the operation before which the rectangle of access a's tensor ends if the tensor is kept; -1: keeping has no use.

    A tensor is kept up to and including its next use. An output that is not used again is kept until idle bandwidth has copied
    it to slow memory.
    """
    instance = state.instance[row]
    following = state.next_access[a]
    if following >= 0:
        return state.op[state.accesses_start[instance] + following] + 1
    t = state.tensors_start[instance] + state.tensor[a]
    if not (state.write[a] and state.output[t]) or state.op[a] + 2 > state.ops[instance]:
        return -1
    return copied_out(state, row, a, state.ops[instance])


@kernel
def copied_out(state: Any, row: Any, a: Any, latest: Any) -> Any:
    """Return the operation before which idle bandwidth has copied out the tensor written at access a; at most `latest`."""
    end, moved = state.op[a] + 2, state.idle[row, state.op[a] + 1]
    size = state.sizes[state.tensors_start[state.instance[row]] + state.tensor[a]]
    while end < latest and moved < size:
        moved += state.idle[row, end]
        end += 1
    return end


@kernel
def next_use(state: Any, row: Any, a: Any) -> Any:
    """Return the next operation that accesses the tensor of access a; the number of operations if there is none."""
    instance = state.instance[row]
    following = state.next_access[a]
    return state.op[state.accesses_start[instance] + following] if following >= 0 else state.ops[instance]


@kernel
def rectangle_under(state: Any, row: Any, a: Any) -> Any:
    """Return a rectangle over which the tensor written at access a may be written; -1 if there is none.

    Such a rectangle belongs to a tensor of the same alias group that the writing operation reads for the last time.
    """
    instance = state.instance[row]
    base, t, low = state.tensors_start[instance], state.tensor[a], state.op[a]
    group, rects = state.group[base + t], state.rects[row]
    if group >= 0:
        for r in range(state.rect_count[row]):
            old = state.contents[row, r, HELD_TENSOR]
            ends = (
                rects[r, HIGH] == low + 1
                and state.contents[row, r, FILLED] <= low
                and rects[r, LOW] < low
                and state.last_op[base + old] == low
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
        low: The first operation of the new rectangle.
        high: The operation after its last.
        size: Its bytes.
        under: The existing rectangle over which the new one is written at operation `low`, so that they share bytes; -1: none.
    """
    capacity = state.capacity[state.instance[row]]
    for i in range(low, high):
        shared = min(size, state.rects[row, under, SIZE]) if under >= 0 and i == low else 0
        if state.load[row, i] - shared + size > capacity:
            return False
    return True
