"""A tour as an array whose changes can be undone: paths are reversed, or pieces of a stretch rearranged.

The array representation of Johnson & McGeoch (The traveling salesman problem: a case study in local optimization, 1997): reading
a neighbour costs O(1), a change O(number of cities moved). Positions are cyclic throughout.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["ArrayTour", "array_tour", "city_after", "forget", "log_is_full", "rearrange", "reverse_path", "set_order", "undo"]

_LOG = 1 << 16  # integers of log: thousands of changes, whereas a kick and its repair make some tens


class ArrayTour(NamedTuple):
    """The cities in order, the position of each, and a log of the changes since `forget`."""

    order: NDArray[np.int32]
    """[n] cities; the tour is closed."""
    position: NDArray[np.int32]
    """[n] the position of each city in `order`."""
    pieces: NDArray[np.int64]
    """[P, 3] argument of `rearrange`, by new rank: where the piece begins, counted from the start of the stretch, its cities,
    and whether it is reversed."""
    buffer: NDArray[np.int32]
    """[n] scratch."""
    log: NDArray[np.int64]
    """Per change: `pieces` as given (of a reversal the cities alone), then the start and the number of pieces."""
    logged: NDArray[np.int64]
    """[1] the length of `log` in use."""


def array_tour(n: int, pieces: int = 1) -> ArrayTour:
    """Return the tour 0, 1, ..., n - 1, with memory for changes of up to `pieces` pieces."""
    order, position, buffer = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32), np.empty(n, np.int32)
    return ArrayTour(order, position, np.zeros((pieces, 3), np.int64), buffer, np.zeros(_LOG, np.int64), np.zeros(1, np.int64))


@kernel
def set_order(tour, order):
    """Start from a copy of `order`, with an empty log."""
    for i in range(len(order)):
        tour.order[i] = order[i]
        tour.position[order[i]] = i
    tour.logged[0] = 0


@kernel(inline=True, borrow=True)
def city_after(tour, city, forward):
    """Return the next city in the given direction."""
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
    """Return whether the log may lack room for one more rearrangement and `reversals` reversals."""
    return tour.logged[0] + 3 * len(tour.pieces) + 2 + 3 * reversals > len(tour.log)


@kernel(borrow=True)
def reverse_path(tour, first, last, forward):
    """Reverse the path from city `first` to city `last` in the direction of the tour that `forward` names.

    The shorter side is reversed in place; if that is the rest of the tour, the array now runs in the other direction. Returns the
    value of `forward` that names the same direction of the tour as before.
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
    """Rearrange the stretch from position `start` on as tour.pieces[:pieces] says, in place; a single piece is reversed."""
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
    """Undo every change after the first `mark` integers of the log, in place; the array is restored exactly."""
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
        end = 0
        for rank in range(pieces):  # the pieces by their old offsets: the one that begins where the last ended
            new = 0
            for k in range(pieces):
                offset, size, turned = log[at + 3 * k], log[at + 3 * k + 1], log[at + 3 * k + 2]
                if offset == end:
                    tour.pieces[rank, 0], tour.pieces[rank, 1], tour.pieces[rank, 2] = new, size, turned
                    break
                new += size
            end += tour.pieces[rank, 1]
        _write(tour, start, pieces)


@kernel(borrow=True)
def _reverse(tour, first, size):
    """Reverse the `size` cities from position `first` on."""
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
    """Rearrange a stretch without a log. Pieces that keep their place cost nothing."""
    order, position, buffer = tour.order, tour.position, tour.buffer
    n = len(order)
    new = held = 0
    for k in range(pieces):
        offset, size = tour.pieces[k, 0], tour.pieces[k, 1]
        if offset != new or (tour.pieces[k, 2] and size > 1):
            at = start + offset
            for _ in range(size):
                if at >= n:
                    at -= n
                buffer[held] = order[at]
                held += 1
                at += 1
        new += size
    new = held = 0
    for k in range(pieces):
        offset, size, turned = tour.pieces[k, 0], tour.pieces[k, 1], tour.pieces[k, 2]
        if offset != new or (turned and size > 1):
            at = start + new
            for i in range(size):
                if at >= n:
                    at -= n
                city = buffer[held + size - 1 - i] if turned else buffer[held + i]
                order[at] = city
                position[city] = at
                at += 1
            held += size
        new += size
