"""Sums of products of doubles without a rounding error: what a row of integers is worth, and the objective, at any size.

A product is split into two doubles that add up to it exactly (Dekker, "A floating-point technique for extending the available
precision", Numerische Mathematik 18, 1971, with Veltkamp's splitting), and `math.fsum` rounds the sum of all of them once. Exact
where no product leaves 1e-250 to 1e250 in size; numbers of a program and of its solutions are below 1e20. Only what plain sums
leave open is summed so, which of ordinary programs is nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corl.tolerance import DIGITS

__all__ = ["beyond_side", "digits", "total"]

_SPLITTER = 2.0**27 + 1.0
_HALF_UNIT = 2.0**-53  # the largest relative error of one operation
_WHOLE = 2.0**53  # sums of integers below it have no error at all

_Floats = NDArray[np.float64]


def digits(values: _Floats) -> _Floats:
    """How far numbers may be from what was meant: DIGITS of their size, 0 for integers and binary fractions of up to 40 bits."""
    short = 2.0**40 * np.frexp(values)[0]
    exact = (values == np.floor(values)) | (short == np.floor(short))
    return np.where(exact, 0.0, DIGITS * np.abs(values))


def total(factors: _Floats, x: _Floats, constant: float = 0.0) -> float:
    """factors . x + constant, [n] both, rounded once where the plain sum may be wrong in the twelfth digit."""
    plain = float(factors @ x + constant)
    terms = np.abs(factors * x)
    if (len(x) + 2) * _HALF_UNIT * (float(terms.sum()) + abs(constant)) <= 1e-13 * abs(plain):
        return plain
    return _sum(factors, x, constant)


def beyond_side(
    value: _Floats, x: _Floats, first: NDArray[np.int64], side: _Floats, sign: float, within: _Floats | None = None
) -> _Floats:
    """By how much the rows of a matrix pass an upper side (sign 1) or a lower one (sign -1), [m], negative inside.

    value, x: [nonzeros] the entries and the variables' values beside them; first: [m + 1] where the rows begin; within: [m]
    what the caller tolerates. Rounded once where a plain sum could put a row on the wrong side of that (None: everywhere).
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
    """factors . x + constant, rounded once."""
    product = factors * x
    (a, b), (c, d) = _halves(factors), _halves(x)
    rest = b * d - (((product - a * c) - b * c) - a * d)
    return math.fsum((*product.tolist(), *rest.tolist(), constant))


def _halves(values: _Floats) -> tuple[_Floats, _Floats]:
    """Two numbers of 26 bits that add up to each."""
    scaled = _SPLITTER * values
    high = scaled - (scaled - values)
    return high, values - high
