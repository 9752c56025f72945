"""Move one element of an array to another place."""

from __future__ import annotations

from typing import Any

from corl.jit import kernel

__all__ = ["rotate"]


@kernel(borrow=True)
def rotate(sequence: Any, source: Any, target: Any) -> None:
    """Move the element at one place to another one; those between move by one place towards where it was.

    Args:
        sequence: array [n], modified in place.
        source: the place of the element, 0..n - 1.
        target: the place where it is put, 0..n - 1.
    """
    moved = sequence[source]
    if source < target:
        for k in range(source, target):
            sequence[k] = sequence[k + 1]
    else:
        for k in range(source, target, -1):
            sequence[k] = sequence[k - 1]
    sequence[target] = moved
