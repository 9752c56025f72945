"""Floating-point numbers as integers in a smaller unit, for engines and methods that compute with integers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corl.tolerance import LIMIT

__all__ = ["exact_integers", "integer_capacity", "integer_factor", "integer_loads"]

_EXACT = 2.0**53  # float64 sums of integers are exact below this limit
_MAX_EXPONENT = 1000  # the greatest exponent of `integer_factor`, below float64's 1023
_MAX_DIGITS = 9  # the most digits after the decimal point


def exact_integers(numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return integral multiples of the numbers, and the factor: a power of ten (up to 1e9) for which all products are integers.

    Their float64 sum is exact. If there is no such power, return the numbers unchanged, and the factor 0.
    """
    for digits in range(_MAX_DIGITS + 1):
        unit = 10.0**digits
        scaled = np.rint(numbers * unit)
        if scaled.sum() >= _EXACT:
            break
        if (scaled / unit == numbers).all():
            return scaled, unit
    return numbers, 0.0


def integer_capacity(capacity: float, unit: float) -> int:
    """Return a capacity times `unit`, the factor of `exact_integers`, rounded down to an integer."""
    return math.floor(capacity * unit * (1.0 + 1e-15) + 1e-9)


def integer_loads(
    demand: NDArray[np.float64], capacity: NDArray[np.float64], most: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return demands and capacities as integers up to `most`: int64, and float64, as capacities may be infinite.

    They are exact if all numbers are multiples of the least of them, or of a tenth, hundredth or thousandth of it. Otherwise
    demands are rounded up, and capacities are enlarged by half of the tolerance of `Problem.evaluate` (corl.tolerance.LIMIT).
    """
    numbers = np.concatenate([demand, capacity[np.isfinite(capacity)]])
    least = float(numbers[numbers > 0.0].min(initial=np.inf))
    if (numbers != np.floor(numbers)).any():
        for unit in (1.0, 10.0, 100.0, 1000.0):
            scaled = numbers / least * unit
            if scaled.max() < _EXACT and (np.abs(scaled - np.rint(scaled)) <= 1e-12 * scaled).all():
                return np.rint(demand / least * unit).astype(np.int64), np.rint(capacity / least * unit)
    factor = integer_factor(float(capacity[np.isfinite(capacity)].max(initial=0.0)), most, [demand, capacity])
    enlarged = capacity if factor == 1.0 else capacity * (factor * (1.0 + 0.5 * LIMIT))
    return np.ceil(demand * factor - 1e-6).astype(np.int64), np.floor(enlarged + 1e-6)


def integer_factor(largest: float, most: float, parts: list[NDArray[np.float64]]) -> float:
    """Return 1 if all finite numbers in `parts` are integers, else a power of two that scales `largest` to at most `most`."""
    if all(bool((part[np.isfinite(part)] == np.floor(part[np.isfinite(part)])).all()) for part in parts):
        return 1.0
    return math.ldexp(1.0, min(_MAX_EXPONENT, math.floor(math.log2(most) - math.log2(largest)))) if largest > 0.0 else 1.0
