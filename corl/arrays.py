"""Copies in kernels. An assignment of a slice to a slice does the same and compiles a second longer, in every process."""

from __future__ import annotations

from typing import Any

from corl.jit import kernel

__all__ = ["copy", "copy_rows"]


@kernel(borrow=True)
def copy(source: Any, into: Any, count: Any) -> None:
    """into[:count] = source[:count], both of one dimension."""
    for i in range(count):
        into[i] = source[i]


@kernel(borrow=True)
def copy_rows(source: Any, into: Any, count: Any) -> None:
    """into[:count] = source[:count], both of two dimensions."""
    for i in range(count):
        for j in range(source.shape[1]):
            into[i, j] = source[i, j]
