"""The assignment problem of a matrix: a different successor for every city, at the least total cost.

It is a relaxation of the ATSP in which several cycles are allowed. Its dual variables are prices out[i] for leaving city i and
into[j] for entering city j. Subtracting them from the matrix changes the length of every tour by the same amount. The reduced
costs matrix[i, j] - out[i] - into[j] are at least 0, and 0 on the arcs of the assignment; they rank arcs far better than the
distances do.
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
    """[n] the dual prices of the cities as tails of arcs."""
    into: NDArray[np.float64]
    """[n] the dual prices of the cities as heads of arcs; sum(out) + sum(into) is the cost of the assignment."""
    successor: NDArray[np.int32]
    """[n] the city that each city is assigned to."""


def assignment_of(matrix: NDArray[np.float64]) -> Assignment:
    """Return an optimal assignment of float64 `matrix` [n, n], whose diagonal is not used. A single city succeeds itself."""
    n = len(matrix)
    out, into = np.zeros(n), np.zeros(n)
    successor, predecessor = np.zeros(n, np.int32), np.empty(n, np.int32)
    if n > 1:
        reduce_columns(matrix, out, into, successor, predecessor)
        assign_rows(matrix, out, into, successor, predecessor, 0, np.iinfo(np.int64).max)
    return Assignment(out, into, successor)


@kernel
def reduce_columns(matrix: Any, out: Any, into: Any, column_of: Any, row_of: Any) -> None:
    """Compute initial prices and a partial assignment for `assign_rows`, in place.

    The price of a column is its minimum; that of a row is the minimum of its entries minus the prices of their columns. A row is
    assigned to the column of this minimum, unless another row has it already. Requires n >= 2.

    Args:
        matrix: float64 [n, n]; the diagonal is not used.
        out: float64 [n], receives the prices of rows.
        into: float64 [n], receives the prices of columns.
        column_of: int32 [n], receives the column of each row, -1 if unassigned.
        row_of: int32 [n], receives the row of each column, -1 if unassigned.
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
        best = -1
        for j in range(n):
            if j == i:
                continue
            r = matrix[i, j] - into[j]
            if r < least or (r == least and best >= 0 and row_of[best] >= 0):
                least = r
                best = j
        out[i] = least
        if row_of[best] < 0:
            row_of[best] = i
            column_of[i] = best
        else:
            column_of[i] = -1


@kernel
def assign_rows(matrix: Any, out: Any, into: Any, column_of: Any, row_of: Any, first: Any, most: Any) -> Any:
    """Assign rows from `first` on by shortest augmenting paths, in place (Crouse 2016, the algorithm of Jonker & Volgenant).

    Keeps matrix[i, j] >= out[i] + into[j], with equality on assigned arcs.

    Args:
        matrix: float64 [n, n]; the diagonal is not used.
        out: float64 [n], the prices of rows.
        into: float64 [n], the prices of columns.
        column_of: int32 [n], the column of each row, -1 if unassigned.
        row_of: int32 [n], the row of each column, -1 if unassigned.
        first: The row to begin with.
        most: The call ends after the row with which the number of matrix entries read exceeds this.

    Returns the next row to assign; n when the assignment is complete.
    """
    n = len(matrix)
    shortest = np.empty(n)
    previous_row = np.empty(n, np.int32)
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
        open_count = n
        scanned = 0
        path_cost = 0.0
        i = row
        sink = -1
        while sink < 0:
            done_rows[scanned] = i
            scanned += 1
            entries += open_count
            best = -1
            least = np.inf
            for k in range(open_count):
                j = open_columns[k]
                if j != i:
                    r = path_cost + matrix[i, j] - out[i] - into[j]
                    if r < shortest[j]:
                        shortest[j] = r
                        previous_row[j] = i
                if shortest[j] < least or (shortest[j] == least and row_of[j] < 0):
                    least = shortest[j]
                    best = k
            j = open_columns[best]
            path_cost = least
            open_count -= 1
            open_columns[best] = open_columns[open_count]
            open_columns[open_count] = j
            if row_of[j] < 0:
                sink = j
            else:
                i = row_of[j]
        out[row] += path_cost
        for k in range(1, scanned):
            i = done_rows[k]
            out[i] += path_cost - shortest[column_of[i]]
        for k in range(open_count, n):
            j = open_columns[k]
            into[j] -= path_cost - shortest[j]
        j = sink
        while True:
            i = previous_row[j]
            row_of[j] = i
            following = column_of[i]
            column_of[i] = j
            if i == row:
                break
            j = following
    return n
