"""Copies of the first elements of an array or a row, one by one.

An assignment of a slice to a slice has the same effect, but numba needs a second more to compile it, in every process.
"""

from __future__ import annotations

from typing import Any

from corl.jit import kernel

__all__ = ["copy", "copy_between_rows", "copy_rows"]


@kernel(borrow=True)
def copy(source: Any, into: Any, count: Any) -> None:
    """Copy the first elements of an array: into[:count] = source[:count].

    Args:
        source: array [>= count].
        into: array [>= count], modified in place.
        count: number of elements.
    """
    for i in range(count):
        into[i] = source[i]


@kernel(borrow=True)
def copy_between_rows(table: Any, source: Any, into: Any, count: Any) -> None:
    """Copy the first elements of a row of a table to another row: table[into, :count] = table[source, :count].

    Args:
        table: array [R, >= count], modified in place.
        source: the row to read.
        into: the row to write.
        count: number of columns.
    """
    for i in range(count):
        table[into, i] = table[source, i]


@kernel(borrow=True)
def copy_rows(source: Any, into: Any, count: Any) -> None:
    """Copy the first rows of a table: into[:count] = source[:count].

    Args:
        source: array [>= count, W].
        into: array [>= count, >= W], modified in place.
        count: number of rows.
    """
    for i in range(count):
        for j in range(source.shape[1]):
            into[i, j] = source[i, j]
