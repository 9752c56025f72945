"""An array tour whose changes can be taken back: each cuts a stretch into pieces and writes them in another order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["Tour", "forget", "log_is_full", "rearrange", "rearranged_tour", "set_order", "undo"]

_LOG = 1 << 16  # integers of log: thousands of changes, where a kick and its repair make about ten


class Tour(NamedTuple):
    """The cities in order, where each is, and what was changed since `forget`."""

    order: NDArray[np.int32]
    """[n] cities; the tour is closed."""
    position: NDArray[np.int32]
    """[n] where each city is in `order`."""
    offset: NDArray[np.int64]
    """[pieces] argument of `rearrange`: by new rank, where the piece begins, counted from the start of the stretch."""
    size: NDArray[np.int64]
    """[pieces] argument: its cities."""
    reverse: NDArray[np.bool_]
    """[pieces] argument: whether it is turned round."""
    buffer: NDArray[np.int32]
    """[n] scratch."""
    log: NDArray[np.int64]
    """Per change: offset, size and reverse of each piece, then the start and the number of pieces."""
    logged: NDArray[np.int64]
    """[1] the length of `log` in use."""


def rearranged_tour(n: int, pieces: int) -> Tour:
    """Memory for a tour of n cities and changes of up to `pieces` pieces."""
    order, position, buffer = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32), np.empty(n, np.int32)
    offset, size, reverse = np.zeros(pieces, np.int64), np.zeros(pieces, np.int64), np.zeros(pieces, np.bool_)
    return Tour(order, position, offset, size, reverse, buffer, np.zeros(_LOG, np.int64), np.zeros(1, np.int64))


@kernel
def set_order(tour, order):
    """Start from a copy of `order`, with an empty log."""
    for i in range(len(order)):
        tour.order[i] = order[i]
        tour.position[order[i]] = i
    tour.logged[0] = 0


@kernel(inline=True)
def forget(tour):
    """Accept all changes."""
    tour.logged[0] = 0


@kernel(inline=True)
def log_is_full(tour):
    """Whether the log might not hold another change."""
    return tour.logged[0] + 3 * len(tour.size) + 2 > len(tour.log)


@kernel
def rearrange(tour, start, pieces):
    """Write the stretch from position `start` (round the end of the array) as the `pieces` pieces offset, size, reverse."""
    _write(tour, start, pieces)
    at, log = tour.logged[0], tour.log
    for k in range(pieces):
        log[at], log[at + 1], log[at + 2] = tour.offset[k], tour.size[k], tour.reverse[k]
        at += 3
    log[at], log[at + 1] = start, pieces
    tour.logged[0] = at + 2


@kernel
def undo(tour):
    """Take back every change in the log: the array is again what it was, bit for bit."""
    log = tour.log
    while tour.logged[0] > 0:
        at = tour.logged[0] - 2
        start, pieces = log[at], log[at + 1]
        at -= 3 * pieces
        tour.logged[0] = at
        end = 0
        for rank in range(pieces):  # the pieces by their old offsets: the one that begins where the last ended
            new = 0
            for k in range(pieces):
                if log[at + 3 * k] == end:
                    tour.offset[rank], tour.size[rank], tour.reverse[rank] = new, log[at + 3 * k + 1], log[at + 3 * k + 2] != 0
                    break
                new += log[at + 3 * k + 1]
            end += tour.size[rank]
        _write(tour, start, pieces)


@kernel
def _write(tour, start, pieces):
    """`rearrange` without a log. Pieces that stay where they are cost nothing."""
    order, position, buffer = tour.order, tour.position, tour.buffer
    n = len(order)
    new = held = 0
    for k in range(pieces):
        if tour.offset[k] != new or (tour.reverse[k] and tour.size[k] > 1):
            at = start + tour.offset[k]
            for _ in range(tour.size[k]):
                if at >= n:
                    at -= n
                buffer[held] = order[at]
                held += 1
                at += 1
        new += tour.size[k]
    new = held = 0
    for k in range(pieces):
        size = tour.size[k]
        if tour.offset[k] != new or (tour.reverse[k] and size > 1):
            at = start + new
            for i in range(size):
                if at >= n:
                    at -= n
                city = buffer[held + size - 1 - i] if tour.reverse[k] else buffer[held + i]
                order[at] = city
                position[city] = at
                at += 1
            held += size
        new += size
