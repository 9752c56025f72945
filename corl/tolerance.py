"""Tolerances: when two objective values count as equal, and how far a solution may exceed a limit, for the whole package.

Tolerances are relative to the size of the data, so that the unit of the data makes no difference. All functions take floats or
NumPy arrays, element by element. NaN is equal to nothing, and an infinity only to itself. "Judge" means `Problem.evaluate`.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["DIGITS", "FEASIBILITY", "LIMIT", "ROUNDING", "TIE", "agrees", "beats", "keeps", "reaches", "tied"]

TIE = 1e-9
"""Two values of the judge count as equal up to this relative difference (or 1e-12 absolute)."""
ROUNDING = 1e-6
"""A value of the judge and another program's value (a solver's claim, an engine's bound, a published reference) count as equal up
to this relative difference (or 1e-9 absolute), because engines stop at such tolerances, and tables are rounded.
"""
LIMIT = 1e-9
"""The share by which a sum of loads, lengths or times may exceed its limit: it allows for the rounding of float64 sums alone."""
FEASIBILITY = 1e-6
"""How much a solution of a mixed-integer program may exceed a limit, relative to the largest terms of the constraint."""
DIGITS = 1e-14
"""The assumed relative error of a number that is not an integer, from reading or computing it."""

_SMALLEST = 1e-3  # for values below this size the absolute tolerance is the relative one times this size


def tied(a: Any, b: Any, share: float = TIE) -> Any:
    """Return whether two values of the judge count as equal, as in a tie or a closed gap."""
    return _close(a, b, share)


def agrees(a: Any, b: Any) -> Any:
    """Return whether a value of the judge and another program's value count as equal."""
    return _close(a, b, ROUNDING)


def beats(a: Any, b: Any, sense: str) -> Any:
    """Return whether `a` is better than `b`, another program's value, by more than rounding."""
    return (a < b if sense == "min" else a > b) & (agrees(a, b) ^ True)


def reaches(a: Any, b: Any, sense: str) -> Any:
    """Return whether `a` is at least as good as `b`, another program's value, up to rounding."""
    return (a < b if sense == "min" else a > b) | agrees(a, b)


def keeps(value: Any, limit: Any, size: Any = 0.0) -> Any:
    """Return whether a sum is within its limit up to rounding; `size` is the size of its terms, if these may cancel out."""
    return (value <= limit + LIMIT * abs(value)) | (value <= limit + LIMIT * size)


def _close(a: Any, b: Any, share: float) -> Any:
    difference = abs(a - b)
    near = (difference <= share * abs(a)) | (difference <= share * abs(b)) | (difference <= share * _SMALLEST)
    return (a == b) | (difference < math.inf) & near
