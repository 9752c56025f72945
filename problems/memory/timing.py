"""Kernels shared by solvers and the environment: the run time of a program with copies, and a free place for a rectangle.

The judge (evaluation.py) does not use them; tests compare the two.
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
"""Columns of copies: operation from which on, operation before which, bytes."""
SLOW, FAST, COPY, OVERHEAD = range(4)  # entries of `rates`: three bandwidths in bytes per second, and seconds per operation


@kernel
def serve(compute: Any, slow: Any, fast: Any, rates: Any, copies: Any, count: Any, idle: Any) -> Any:
    """Return the run time of a program in seconds.

    Args:
        compute: float64 [O], seconds of computation of each operation.
        slow: float64 [O], bytes of its accesses to slow memory.
        fast: float64 [O], bytes of its accesses to fast memory.
        rates: float64 [4], indexed by SLOW ... OVERHEAD.
        copies: int64 [>= count, 3], see the columns; at any time the one that must end first is served, as by the judge.
        count: The number of copies.
        idle: float64 [O], written in place: the unused bytes of the copy engine during each operation.
    """
    n = len(compute)
    order, left, earliest = np.empty(count, np.int64), np.empty(count), np.empty(count + 1, np.int64)
    place = np.zeros(n + 2, np.int64)
    for c in range(count):
        place[copies[c, NEEDED] + 1] += 1
        left[c] = copies[c, BYTES]
    for i in range(n + 1):
        place[i + 1] += place[i]
    for c in range(count):
        order[place[copies[c, NEEDED]]] = c
        place[copies[c, NEEDED]] += 1
    earliest[count] = n
    for k in range(count - 1, -1, -1):
        earliest[k] = min(earliest[k + 1], copies[order[k], ISSUED])
    rate, total, first = min(rates[COPY], min(rates[SLOW], rates[FAST])), 0.0, 0
    for i in range(n + 1):
        while first < count and copies[order[first], NEEDED] <= i:
            total += left[order[first]] / rate
            first += 1
        if i == n:
            break
        seconds = rates[OVERHEAD] + max(compute[i], slow[i] / rates[SLOW] + fast[i] / rates[FAST])
        room = min(seconds * rates[COPY], min(seconds * rates[SLOW] - slow[i], seconds * rates[FAST] - fast[i]))
        room = max(0.0, room)
        k = first
        while room > 0.0 and k < count and earliest[k] <= i:
            c = order[k]
            if copies[c, ISSUED] <= i and left[c] > 0.0:
                moved = min(room, left[c])
                left[c] -= moved
                room -= moved
            k += 1
        idle[i] = room
        total += seconds
    return total


@kernel
def lowest_offset(rects: Any, count: Any, low: Any, high: Any, size: Any, capacity: Any, floor: Any = 0) -> Any:
    """Return the lowest offset at which a rectangle fits among others; -1 if there is none.

    Args:
        rects: int64 [>= count, 4], from, to, offset, size of the rectangles that are placed.
        count: Their number.
        low: The first operation of the new rectangle.
        high: The operation after its last.
        size: Its bytes.
        capacity: The size of the memory.
        floor: The smallest offset to consider.
    """
    begin, end, found = np.empty(count, np.int64), np.empty(count, np.int64), 0
    for r in range(count):
        if rects[r, LOW] < high and low < rects[r, HIGH] and rects[r, SIZE] > 0:
            found = insert_sorted(begin, end, found, rects[r, OFFSET], rects[r, OFFSET] + rects[r, SIZE])
    offset = floor
    for k in range(found):
        if begin[k] - offset >= size:
            break
        offset = max(offset, end[k])
    return offset if offset + size <= capacity else -1
