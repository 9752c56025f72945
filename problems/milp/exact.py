"""Sums of products of doubles, rounded only once: row activities and objective values.

Each product is split into two doubles that add up to it exactly (Dekker, "A floating-point technique for extending the available
precision", Numerische Mathematik 18, 1971, with Veltkamp's splitting). `math.fsum` then rounds the sum of all these doubles once.
The result is exact if every product has an absolute value from 1e-250 to 1e250; the numbers in programs and in solutions are
below 1e20. The method is used only if the rounding errors of a plain sum could matter, which they never do in ordinary programs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corl.tolerance import DIGITS

__all__ = ["beyond_side", "digits", "total"]

_SPLITTER = 2.0**27 + 1.0  # Veltkamp's constant, which splits a double into halves of 26 bits
_MAX_ERROR = 2.0**-53  # the largest relative error of one operation
_EXACT_BELOW = 2.0**53  # sums of integers are exact if they stay below it

_Floats = NDArray[np.float64]


def digits(values: _Floats) -> _Floats:
    """Return how far each number may be from the decimal number that was meant.

    That is DIGITS * |number|, but 0 for integers and for binary fractions of 40 bits, which are taken to be exact.
    """
    short = 2.0**40 * np.frexp(values)[0]
    exact = (values == np.floor(values)) | (short == np.floor(short))
    return np.where(exact, 0.0, DIGITS * np.abs(values))


def total(factors: _Floats, x: _Floats, constant: float = 0.0) -> float:
    """Return factors @ x + constant for two arrays [n]; rounded only once if the plain sum may be off by more than 1e-13."""
    plain = float(factors @ x + constant)
    terms = np.abs(factors * x)
    if (len(x) + 2) * _MAX_ERROR * (float(terms.sum()) + abs(constant)) <= 1e-13 * abs(plain):
        return plain
    return _sum(factors, x, constant)


def beyond_side(
    value: _Floats, x: _Floats, first: NDArray[np.int64], side: _Floats, sign: float, within: _Floats | None = None
) -> _Floats:
    """Return by how much each row of a matrix violates its upper (or lower) side, float64 [m]; negative if it does not.

    Args:
        value: float64 [nonzeros], the entries of the matrix, row by row.
        x: float64 [nonzeros], the value of each entry's variable.
        first: int64 [m + 1], where the entries of each row begin.
        side: float64 [m], the sides.
        sign: 1 for upper sides, -1 for lower sides.
        within: float64 [m], the violation that the caller tolerates. A row is summed exactly only if rounding errors could
            change whether its violation exceeds this number. None: all rows with rounding errors are summed exactly.
    """
    m, terms = len(side), value * x
    row = np.repeat(np.arange(m), np.diff(first))
    activity, size = np.bincount(row, terms, m), np.bincount(row, np.abs(terms), m)
    fractional = np.bincount(row, (value != np.floor(value)) | (x != np.floor(x)), m) > 0
    error = np.where(fractional | (size >= _EXACT_BELOW), (np.diff(first) + 2) * _MAX_ERROR * size, 0.0)
    beyond = np.asarray(sign * (activity - side), np.float64)
    doubtful = np.isfinite(side) & (error > 0.0)
    if within is not None:
        doubtful &= np.abs(beyond - within) <= error + 4 * _MAX_ERROR * (np.abs(side) + size)
    for i in np.flatnonzero(doubtful).tolist():
        entries = slice(first[i], first[i + 1])
        beyond[i] = sign * _sum(value[entries], x[entries], -float(side[i]))
    return beyond


def _sum(factors: _Floats, x: _Floats, constant: float) -> float:
    """Return factors @ x + constant for two arrays [n], rounded only once."""
    product = factors * x
    (a, b), (c, d) = _halves(factors), _halves(x)
    remainder = b * d - (((product - a * c) - b * c) - a * d)
    return math.fsum((*product.tolist(), *remainder.tolist(), constant))


def _halves(values: _Floats) -> tuple[_Floats, _Floats]:
    """Return two arrays, whose numbers have 26 bits, that add up to `values`."""
    scaled = _SPLITTER * values
    high = scaled - (scaled - values)
    return high, values - high
