"""TSPLIB 95's layouts of a distance matrix in a file (section 2.4, EDGE_WEIGHT_FORMAT)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["LAYOUTS", "entries", "entry_at", "fill"]

LAYOUTS = (
    "FULL_MATRIX", "UPPER_ROW", "LOWER_ROW", "UPPER_DIAG_ROW", "LOWER_DIAG_ROW",
    "UPPER_COL", "LOWER_COL", "UPPER_DIAG_COL", "LOWER_DIAG_COL",
)  # fmt: skip


def entries(layout: str, n: int) -> int:
    """Return the number of entries of a matrix of n cities in a layout."""
    if layout == "FULL_MATRIX":
        return n * n
    return n * (n + 1) // 2 if "DIAG" in layout else n * (n - 1) // 2


def fill(layout: str, values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the matrix, float64 [n, n], from the `entries(layout, n)` numbers of a file. The diagonal becomes 0."""
    if layout == "FULL_MATRIX":
        matrix = values.reshape(n, n).copy()
    else:
        # The upper triangle by columns has its numbers in the same order as the lower triangle by rows, and vice versa.
        lower = layout.startswith("LOWER") == layout.endswith("ROW")
        diagonal = "DIAG" in layout
        matrix = np.zeros((n, n))
        at = 0
        for i in range(n):
            first, last = (0, i + diagonal) if lower else (i + 1 - diagonal, n)
            matrix[i, first:last] = matrix[first:last, i] = values[at : at + last - first]
            at += last - first
    np.fill_diagonal(matrix, 0.0)
    return matrix


def entry_at(layout: str, i: int, j: int, n: int) -> int:
    """Return the index, from 0, of the number in the file from which entry (i, j), i != j, was read."""
    if layout == "FULL_MATRIX":
        return i * n + j
    lower = layout.startswith("LOWER") == layout.endswith("ROW")
    diagonal = "DIAG" in layout
    row, column = (max(i, j), min(i, j)) if lower else (min(i, j), max(i, j))
    if lower:
        return (row * (row + 1) // 2 if diagonal else row * (row - 1) // 2) + column
    skipped = entries(layout, n) - entries(layout, n - row)
    return skipped + column - row - (not diagonal)
