"""Sums of products of doubles, rounded only once: the activities of rows and the objective, at any size of the numbers.

A product is split into two doubles that add up to it exactly (Dekker, "A floating-point technique for extending the available
precision", Numerische Mathematik 18, 1971, with Veltkamp's splitting), and `math.fsum` rounds the sum of all of them once. This
is exact if the size of every product is from 1e-250 to 1e250; numbers of a program and of its solutions are below 1e20. Sums are
computed this way only if the rounding errors of plain sums could matter, which is never the case in ordinary programs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corl.tolerance import DIGITS

__all__ = ["beyond_side", "digits", "total"]

_SPLITTER = 2.0**27 + 1.0
_HALF_UNIT = 2.0**-53  # the largest relative error of one operation
_WHOLE = 2.0**53  # sums of integers below it are exact

_Floats = NDArray[np.float64]


def digits(values: _Floats) -> _Floats:
    """Return how far numbers may be from the intended decimals: DIGITS x |number|; 0 for integers and 40-bit binary fractions."""
    short = 2.0**40 * np.frexp(values)[0]
    exact = (values == np.floor(values)) | (short == np.floor(short))
    return np.where(exact, 0.0, DIGITS * np.abs(values))


def total(factors: _Floats, x: _Floats, constant: float = 0.0) -> float:
    """Return factors . x + constant of two arrays [n], rounded once if the error of the plain sum may exceed 1e-13 of it."""
    plain = float(factors @ x + constant)
    terms = np.abs(factors * x)
    if (len(x) + 2) * _HALF_UNIT * (float(terms.sum()) + abs(constant)) <= 1e-13 * abs(plain):
        return plain
    return _sum(factors, x, constant)


def beyond_side(
    value: _Floats, x: _Floats, first: NDArray[np.int64], side: _Floats, sign: float, within: _Floats | None = None
) -> _Floats:
    """Return by how much the rows of a matrix exceed their upper or their lower sides, float64 [m]; negative if they do not.

    Args:
        value: float64 [nonzeros], the entries of the matrix, row by row.
        x: float64 [nonzeros], the value of each entry's variable.
        first: int64 [m + 1], where the entries of each row begin.
        side: float64 [m], the sides.
        sign: 1 for upper sides, -1 for lower sides.
        within: float64 [m], the excess that the caller tolerates: a row is summed exactly only if the error of its plain sum
            could change on which side of this it lies. None: all rows with rounding errors are summed exactly.
    """
    m, terms = len(side), value * x
    row = np.repeat(np.arange(m), np.diff(first))
    activity, size = np.bincount(row, terms, m), np.bincount(row, np.abs(terms), m)
    parts = np.bincount(row, (value != np.floor(value)) | (x != np.floor(x)), m) > 0
    error = np.where(parts | (size >= _WHOLE), (np.diff(first) + 2) * _HALF_UNIT * size, 0.0)
    beyond = np.asarray(sign * (activity - side), np.float64)
    doubtful = np.isfinite(side) & (error > 0.0)
    if within is not None:
        doubtful &= np.abs(beyond - within) <= error + 4 * _HALF_UNIT * (np.abs(side) + size)
    for i in np.flatnonzero(doubtful).tolist():
        entries = slice(first[i], first[i + 1])
        beyond[i] = sign * _sum(value[entries], x[entries], -float(side[i]))
    return beyond


def _sum(factors: _Floats, x: _Floats, constant: float) -> float:
    """Return factors . x + constant of two arrays [n], rounded once."""
    product = factors * x
    (a, b), (c, d) = _halves(factors), _halves(x)
    rest = b * d - (((product - a * c) - b * c) - a * d)
    return math.fsum((*product.tolist(), *rest.tolist(), constant))


def _halves(values: _Floats) -> tuple[_Floats, _Floats]:
    """Return two arrays of numbers of 26 bits that add up to `values`."""
    scaled = _SPLITTER * values
    high = scaled - (scaled - values)
    return high, values - high
