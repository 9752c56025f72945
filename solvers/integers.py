"""Numbers as integers of a smaller unit, for engines and methods that compute with integers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corl.tolerance import LIMIT

__all__ = ["exact_integers", "integer_capacity", "integer_factor", "integer_loads"]

_EXACT = 2.0**53  # up to which float64 sums of integers are exact
_TOP = 1000  # the greatest exponent of a factor
_DIGITS = 9  # after the decimal point, at most


def exact_integers(numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the numbers times a power of ten that makes all of them integers with an exact float64 sum, and that power.

    If no such power exists, return the numbers unchanged, and 0.
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
    """Return the greatest sum of integers in this unit that a capacity allows."""
    return math.floor(capacity * unit * (1.0 + 1e-15) + 1e-9)


def integer_loads(
    demand: NDArray[np.float64], capacity: NDArray[np.float64], most: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return demands (int64) and capacities (float64, which may be infinite) as integers up to `most`.

    They are exact if all are multiples of the least of them, or of a tenth, hundredth or thousandth of it. Otherwise demands are
    rounded up, and capacities are enlarged by half of the judge's tolerance.
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
    """Return 1 if all finite numbers in `parts` are integers, else a power of two that scales `largest` to at most `most`."""
    if all(bool((part[np.isfinite(part)] == np.floor(part[np.isfinite(part)])).all()) for part in parts):
        return 1.0
    return math.ldexp(1.0, min(_TOP, math.floor(math.log2(most) - math.log2(largest)))) if largest > 0.0 else 1.0
