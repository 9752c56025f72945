"""Numbers as integers of a smaller unit, for engines and methods that compute with integers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corl.tolerance import LIMIT

__all__ = ["exact_integers", "integer_capacity", "integer_factor", "integer_loads"]

_EXACT = 2.0**53  # up to which float64 sums of integers are exact
_TOP = 1000  # of exponents: of what is smaller nothing can be told
_DIGITS = 9  # behind the point, at the most


def exact_integers(numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
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


def integer_capacity(capacity: float, unit: float) -> int:
    """The most that integers in this unit may add up to under a capacity."""
    return math.floor(capacity * unit * (1.0 + 1e-15) + 1e-9)


def integer_loads(
    demand: NDArray[np.float64], capacity: NDArray[np.float64], most: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Demands and capacities as integers up to `most` (capacities as floats, which may be infinite).

    Whole where they are multiples of the least of them, or of a thousandth of it; else demands are rounded up, and capacities
    eased by half of what the judge grants.
    """
    numbers = np.concatenate([demand, capacity[np.isfinite(capacity)]])
    least = float(numbers[numbers > 0.0].min(initial=np.inf))
    if (numbers != np.floor(numbers)).any():
        for unit in (1.0, 10.0, 100.0, 1000.0):
            scaled = numbers / least * unit
            if scaled.max() < _EXACT and (np.abs(scaled - np.rint(scaled)) <= 1e-12 * scaled).all():
                return np.rint(demand / least * unit).astype(np.int64), np.rint(capacity / least * unit)
    factor = integer_factor(float(capacity[np.isfinite(capacity)].max(initial=0.0)), most, [demand, capacity])
    eased = capacity if factor == 1.0 else capacity * (factor * (1.0 + 0.5 * LIMIT))
    return np.ceil(demand * factor - 1e-6).astype(np.int64), np.floor(eased + 1e-6)


def integer_factor(largest: float, most: float, parts: list[NDArray[np.float64]]) -> float:
    """1 where all finite numbers in `parts` are integers, else the power of two that makes `largest` at most `most`."""
    if all(bool((part[np.isfinite(part)] == np.floor(part[np.isfinite(part)])).all()) for part in parts):
        return 1.0
    return math.ldexp(1.0, min(_TOP, math.floor(math.log2(most) - math.log2(largest)))) if largest > 0.0 else 1.0
