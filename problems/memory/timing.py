"""Kernels shared by solvers and the environment: the run time of a program with copies, and a free offset for a rectangle.

The judge (evaluation.py) does not use these kernels; tests compare the results of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel
from corl.kernels.sorted_lists import insert_sorted

__all__ = ["BYTES", "HIGH", "ISSUED", "LOW", "NEEDED", "OFFSET", "SIZE", "lowest_offset", "serve"]

LOW, HIGH, OFFSET, SIZE = range(4)
"""Columns of rectangles: first operation, operation after the last, offset in fast memory, bytes."""
ISSUED, NEEDED, BYTES = range(3)
"""Columns of copies: operation with which the copy may begin, operation before which it must end, bytes."""
SLOW, FAST, COPY, OVERHEAD = range(4)
"""Entries of `rates`: bandwidth of slow memory, of fast memory and of the copy engine (bytes per second); seconds of overhead
per operation."""


@kernel
def serve(compute: Any, slow: Any, fast: Any, rates: Any, copies: Any, count: Any, idle: Any) -> Any:
    """Return the run time of a program in seconds.

    Args:
        compute: float64 [O], seconds of computation of each operation.
        slow: float64 [O], bytes of its accesses to slow memory.
        fast: float64 [O], bytes of its accesses to fast memory.
        rates: float64 [4], indexed by SLOW ... OVERHEAD.
        copies: int64 [>= count, 3], columns ISSUED, NEEDED and BYTES. At any time the copy engine works on the copy that must end
            first, as in the judge.
        count: The number of copies.
        idle: float64 [O], written in place: the bytes that the copy engine could still move during each operation.
    """
    n = len(compute)
    order, bytes_left = np.empty(count, np.int64), np.empty(count)  # order: copies by the operation before which they must end
    earliest = np.empty(count + 1, np.int64)  # the first operation with which any of the copies order[k:] may begin
    position = np.zeros(n + 2, np.int64)  # of the counting sort
    for c in range(count):
        position[copies[c, NEEDED] + 1] += 1
        bytes_left[c] = copies[c, BYTES]
    for i in range(n + 1):
        position[i + 1] += position[i]
    for c in range(count):
        order[position[copies[c, NEEDED]]] = c
        position[copies[c, NEEDED]] += 1
    earliest[count] = n
    for k in range(count - 1, -1, -1):
        earliest[k] = min(earliest[k + 1], copies[order[k], ISSUED])
    rate, total, first = min(rates[COPY], min(rates[SLOW], rates[FAST])), 0.0, 0
    for i in range(n + 1):
        while first < count and copies[order[first], NEEDED] <= i:  # a stall
            total += bytes_left[order[first]] / rate
            first += 1
        if i == n:
            break
        seconds = rates[OVERHEAD] + max(compute[i], slow[i] / rates[SLOW] + fast[i] / rates[FAST])
        room = min(seconds * rates[COPY], min(seconds * rates[SLOW] - slow[i], seconds * rates[FAST] - fast[i]))
        room = max(0.0, room)
        k = first
        while room > 0.0 and k < count and earliest[k] <= i:
            c = order[k]
            if copies[c, ISSUED] <= i and bytes_left[c] > 0.0:
                moved = min(room, bytes_left[c])
                bytes_left[c] -= moved
                room -= moved
            k += 1
        idle[i] = room
        total += seconds
    return total


@kernel
def lowest_offset(rects: Any, count: Any, low: Any, high: Any, size: Any, capacity: Any, floor: Any = 0) -> Any:
    """Return the lowest offset at which a rectangle fits among others; -1 if there is none.

    Args:
        rects: int64 [>= count, 4], the placed rectangles, columns LOW, HIGH, OFFSET and SIZE.
        count: The number of placed rectangles.
        low: The first operation of the new rectangle.
        high: The operation after its last.
        size: Its bytes.
        capacity: The size of the memory, in bytes.
        floor: The smallest offset to consider.
    """
    begin, end, interval_count = np.empty(count, np.int64), np.empty(count, np.int64), 0
    for r in range(count):
        if rects[r, LOW] < high and low < rects[r, HIGH] and rects[r, SIZE] > 0:
            interval_count = insert_sorted(begin, end, interval_count, rects[r, OFFSET], rects[r, OFFSET] + rects[r, SIZE])
    offset = floor
    for k in range(interval_count):
        if begin[k] - offset >= size:
            break
        offset = max(offset, end[k])
    return offset if offset + size <= capacity else -1
