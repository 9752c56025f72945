"""Numbers as integers of a smaller unit, where they are decimal fractions: for methods that are exact on integers only."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["room", "whole"]

_EXACT = 2.0**53  # up to which float64 sums of integers are exact
_DIGITS = 9  # behind the point, at the most


def whole(numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Numbers times a power of ten that makes all of them integers with an exact sum, and that power.

    Where there is none: the numbers as they are, and 0.
    """
    for digits in range(_DIGITS + 1):
        unit = 10.0**digits
        scaled = np.rint(numbers * unit)
        if scaled.sum() >= _EXACT:
            break
        if (scaled / unit == numbers).all():
            return scaled, unit
    return numbers, 0.0


def room(capacity: float, unit: float) -> int:
    """The most that integers in this unit may add up to under a capacity."""
    return math.floor(capacity * unit * (1.0 + 1e-15) + 1e-9)
