"""The assignment problem of a matrix: a successor for every city, no two the same, at the least total cost.

It relaxes the ATSP (cycles are not forbidden). Its prices (out[i], into[j]) shift the length of every tour by the same
amount; matrix[i, j] - out[i] - into[j] >= 0, zero on the arcs of the assignment, ranks arcs far better than the matrix alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["Assignment", "assign_rows", "assignment_of", "reduce_columns"]


class Assignment(NamedTuple):
    """An optimal assignment of one matrix."""

    out: NDArray[np.float64]
    """[n] prices of the cities as tails."""
    into: NDArray[np.float64]
    """[n] prices as heads; sum(out) + sum(into) is the cost."""
    successor: NDArray[np.int32]
    """[n]"""


def assignment_of(matrix: NDArray[np.float64]) -> Assignment:
    """The assignment problem of float64 [n, n], solved; the diagonal does not exist. One city is its own successor, free."""
    n = len(matrix)
    out, into = np.zeros(n), np.zeros(n)
    successor, predecessor = np.zeros(n, np.int32), np.empty(n, np.int32)
    if n > 1:
        reduce_columns(matrix, out, into, successor, predecessor)
        assign_rows(matrix, out, into, successor, predecessor, 0, np.iinfo(np.int64).max)
    return Assignment(out, into, successor)


@kernel
def reduce_columns(matrix: Any, out: Any, into: Any, column_of: Any, row_of: Any) -> None:
    """Start `assign_rows`: prices from column minima, then row minima, and the arcs that are free on the way.

    float64 out[n], into[n]: prices, filled; int32 column_of[n], row_of[n]: the partial assignment, -1 where open.
    The diagonal does not exist (n >= 2).
    """
    n = len(matrix)
    into[:] = np.inf
    for i in range(n):
        for j in range(n):
            if j != i and matrix[i, j] < into[j]:
                into[j] = matrix[i, j]
    row_of[:] = -1
    for i in range(n):
        least = np.inf
        free = -1
        for j in range(n):
            if j == i:
                continue
            r = matrix[i, j] - into[j]
            if r < least or (r == least and free >= 0 and row_of[free] >= 0):
                least = r
                free = j
        out[i] = least
        if row_of[free] < 0:
            row_of[free] = i
            column_of[i] = free
        else:
            column_of[i] = -1


@kernel
def assign_rows(matrix: Any, out: Any, into: Any, column_of: Any, row_of: Any, first: Any, most: Any) -> Any:
    """Assign rows from `first` on by shortest augmenting paths (Crouse 2016, the algorithm of Jonker & Volgenant).

    Keeps matrix[i, j] >= out[i] + into[j], with equality on assigned arcs. Returns the row to go on with, n at the end: it
    stops after the row in which more than `most` entries of the matrix have been read.
    """
    n = len(matrix)
    shortest = np.empty(n)
    came = np.empty(n, np.int32)
    open_columns = np.empty(n, np.int32)
    done_rows = np.empty(n, np.int32)
    entries = 0
    for row in range(first, n):
        if entries > most:
            return row
        if column_of[row] >= 0:
            continue
        for j in range(n):
            shortest[j] = np.inf
            open_columns[j] = j
        left = n
        scanned = 0
        reach = 0.0
        i = row
        sink = -1
        while sink < 0:
            done_rows[scanned] = i
            scanned += 1
            entries += left
            best = -1
            least = np.inf
            for k in range(left):
                j = open_columns[k]
                if j != i:
                    r = reach + matrix[i, j] - out[i] - into[j]
                    if r < shortest[j]:
                        shortest[j] = r
                        came[j] = i
                if shortest[j] < least or (shortest[j] == least and row_of[j] < 0):
                    least = shortest[j]
                    best = k
            j = open_columns[best]
            reach = least
            left -= 1
            open_columns[best] = open_columns[left]
            open_columns[left] = j
            if row_of[j] < 0:
                sink = j
            else:
                i = row_of[j]
        out[row] += reach
        for k in range(1, scanned):
            i = done_rows[k]
            out[i] += reach - shortest[column_of[i]]
        for k in range(left, n):
            j = open_columns[k]
            into[j] -= reach - shortest[j]
        j = sink
        while True:
            i = came[j]
            row_of[j] = i
            following = column_of[i]
            column_of[i] = j
            if i == row:
                break
            j = following
    return n
