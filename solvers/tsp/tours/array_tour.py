"""A tour as an array whose changes can be undone. A change reverses a path, or rearranges the pieces of a stretch.

A stretch is a run of consecutive cities, and a piece is a part of it. This is the array representation of Johnson & McGeoch (The
traveling salesman problem: a case study in local optimization, 1997): reading a neighbour takes O(1) time, a change O(number of
cities moved). The array is closed: position 0 follows position n - 1.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["ArrayTour", "array_tour", "city_after", "forget", "log_is_full", "rearrange", "reverse_path", "set_order", "undo"]

_ROOM = 1 << 16  # integers in the log: room for thousands of changes, whereas a kick and its repair make some tens


class ArrayTour(NamedTuple):
    """The cities in order, the position of each, and a log of the changes since the last call of `forget`."""

    order: NDArray[np.int32]
    """[n] the cities in visiting order."""
    position: NDArray[np.int32]
    """[n] the position of each city in `order`."""
    pieces: NDArray[np.int64]
    """[P, 3] the argument of `rearrange`: the pieces in their new order. Columns: the offset of the piece from the start of the
    stretch before the change, its number of cities, and whether it is reversed (1) or not (0)."""
    buffer: NDArray[np.int32]
    """[n] work array, overwritten by `rearrange` and `undo`."""
    log: NDArray[np.int64]
    """[65,536] for each change: the rows of `pieces` (for a reversal only the number of cities), then the position at which the
    stretch starts, then the number of pieces."""
    logged: NDArray[np.int64]
    """[1] how many integers of `log` are in use."""


def array_tour(n: int, pieces: int = 1) -> ArrayTour:
    """Return the tour 0, 1, ..., n - 1, with memory for changes of up to `pieces` pieces."""
    order, position, buffer = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32), np.empty(n, np.int32)
    return ArrayTour(order, position, np.zeros((pieces, 3), np.int64), buffer, np.zeros(_ROOM, np.int64), np.zeros(1, np.int64))


@kernel
def set_order(tour, order):
    """Make a copy of int32 `order` [n] the tour, and empty the log."""
    for i in range(len(order)):
        tour.order[i] = order[i]
        tour.position[order[i]] = i
    tour.logged[0] = 0


@kernel(inline=True, borrow=True)
def city_after(tour, city, forward):
    """Return the city after `city` in the array, or before it if not `forward`."""
    n, i = len(tour.order), tour.position[city]
    if forward:
        return tour.order[i + 1 if i + 1 < n else 0]
    return tour.order[i - 1 if i > 0 else n - 1]


@kernel(inline=True, borrow=True)
def forget(tour):
    """Accept all changes: empty the log."""
    tour.logged[0] = 0


@kernel(inline=True, borrow=True)
def log_is_full(tour, reversals):
    """Return whether the log may be too short for one more rearrangement and `reversals` more reversals."""
    return tour.logged[0] + 3 * len(tour.pieces) + 2 + 3 * reversals > len(tour.log)


@kernel(borrow=True)
def reverse_path(tour, first, last, forward):
    """Reverse the path from city `first` to city `last`, in place. `forward` says whether the path runs in the array's direction.

    To move fewer cities, the remainder of the tour may be reversed instead, which gives the same tour in the other direction.
    Returns the value of `forward` with which `city_after` continues in the same direction along the tour as before.
    """
    n = len(tour.order)
    i, j = tour.position[first], tour.position[last]
    if not forward:
        i, j = j, i
    size = j - i + 1
    if size <= 0:
        size += n
    if 2 * size > n:
        i, size = j + 1 if j + 1 < n else 0, n - size
        forward = not forward
    _reverse(tour, i, size)
    at = tour.logged[0]
    tour.log[at], tour.log[at + 1], tour.log[at + 2] = size, i, 1
    tour.logged[0] = at + 3
    return forward


@kernel(borrow=True)
def rearrange(tour, start, pieces):
    """Rearrange the stretch that starts at position `start` as tour.pieces[:pieces] describes, in place, and log the change.

    A single piece is reversed.
    """
    at, log = tour.logged[0], tour.log
    if pieces == 1:
        _reverse(tour, start, tour.pieces[0, 1])
        log[at] = tour.pieces[0, 1]
        at += 1
    else:
        _write(tour, start, pieces)
        for k in range(pieces):
            log[at], log[at + 1], log[at + 2] = tour.pieces[k, 0], tour.pieces[k, 1], tour.pieces[k, 2]
            at += 3
    log[at], log[at + 1] = start, pieces
    tour.logged[0] = at + 2


@kernel(borrow=True)
def undo(tour, mark):
    """Undo every change logged after the first `mark` integers of the log, the last change first, in place."""
    log = tour.log
    while tour.logged[0] > mark:
        at = tour.logged[0] - 2
        start, pieces = log[at], log[at + 1]
        if pieces == 1:
            _reverse(tour, start, log[at - 1])
            tour.logged[0] = at - 1
            continue
        at -= 3 * pieces
        tour.logged[0] = at
        old_offset = 0
        for rank in range(pieces):  # find the piece with this old offset
            new_offset = 0
            for k in range(pieces):
                offset, size, turned = log[at + 3 * k], log[at + 3 * k + 1], log[at + 3 * k + 2]
                if offset == old_offset:
                    tour.pieces[rank, 0], tour.pieces[rank, 1], tour.pieces[rank, 2] = new_offset, size, turned
                    break
                new_offset += size
            old_offset += tour.pieces[rank, 1]
        _write(tour, start, pieces)


@kernel(borrow=True)
def _reverse(tour, first, size):
    """Reverse the `size` cities from position `first` on, in place, without a log entry."""
    order, position = tour.order, tour.position
    n = len(order)
    i, j = first, first + size - 1
    if j >= n:
        j -= n
    for _ in range(size >> 1):
        a, b = order[i], order[j]
        order[i], order[j] = b, a
        position[b], position[a] = i, j
        i = i + 1 if i + 1 < n else 0
        j = j - 1 if j > 0 else n - 1


@kernel(borrow=True)
def _write(tour, start, pieces):
    """Rearrange a stretch as tour.pieces[:pieces] describes, in place, without a log entry. Only pieces that move are written."""
    order, position, buffer = tour.order, tour.position, tour.buffer
    n = len(order)
    new_offset = buffered = 0
    for k in range(pieces):
        offset, size = tour.pieces[k, 0], tour.pieces[k, 1]
        if offset != new_offset or (tour.pieces[k, 2] and size > 1):
            at = start + offset
            for _ in range(size):
                if at >= n:
                    at -= n
                buffer[buffered] = order[at]
                buffered += 1
                at += 1
        new_offset += size
    new_offset = buffered = 0
    for k in range(pieces):
        offset, size, turned = tour.pieces[k, 0], tour.pieces[k, 1], tour.pieces[k, 2]
        if offset != new_offset or (turned and size > 1):
            at = start + new_offset
            for i in range(size):
                if at >= n:
                    at -= n
                city = buffer[buffered + size - 1 - i] if turned else buffer[buffered + i]
                order[at] = city
                position[city] = at
                at += 1
            buffered += size
        new_offset += size
