"""Move one element of an array to another place."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel

__all__ = ["rotate"]

_ONE = np.uint64(1)  # indices are unsigned: without checks for negative ones, LLVM vectorises the loops


@kernel(borrow=True)
def rotate(sequence: Any, source: Any, target: Any) -> None:
    """Move an element to another place. The elements between both places move by one place in the opposite direction.

    Args:
        sequence: array [n], modified in place.
        source: the place of the element, 0..n - 1.
        target: its new place, 0..n - 1.
    """
    moved, k, last = sequence[source], np.uint64(source), np.uint64(target)
    while k < last:
        sequence[k] = sequence[k + _ONE]
        k += _ONE
    while k > last:
        sequence[k] = sequence[k - _ONE]
        k -= _ONE
    sequence[last] = moved
