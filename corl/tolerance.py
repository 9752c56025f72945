"""Tolerances: when two objective values count as equal, and how far a solution may exceed a limit, for the whole package.

Every tolerance is relative to the size of the data: a decision does not change with their unit.
Every function takes floats or NumPy arrays, element by element; a NaN agrees with nothing, an infinity with itself alone.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["DIGITS", "FEASIBILITY", "LIMIT", "ROUNDING", "TIE", "agrees", "beats", "keeps", "reaches", "tied"]

TIE = 1e-9
"""Two values of one judge are tied within this share of the larger one (or 1e-12 absolute)."""
ROUNDING = 1e-6
"""A value computed elsewhere - a solver's claim, an engine's bound, a published reference - agrees with the judge's within
this share of the larger one (or 1e-9 absolute): engines stop at such tolerances, and tables are rounded.
"""
LIMIT = 1e-9
"""The share by which a sum of loads, lengths or times may exceed its limit: no more than the rounding of float64 sums."""
FEASIBILITY = 1e-6
"""How much a solution of a mixed-integer program may exceed a limit, relative to the large terms in it, as in engines."""
DIGITS = 1e-14
"""The relative rounding error assumed of a number that is not an integer, from reading or computing it."""

_SMALLEST = 1e-3  # values below this size are compared by absolute differences, with this size as reference


def tied(a: Any, b: Any, share: float = TIE) -> Any:
    """Return whether two values of one judge are equal: a tie, a closed gap."""
    return _close(a, b, share)


def agrees(a: Any, b: Any) -> Any:
    """Return whether a value computed elsewhere and the judge's are equal up to rounding."""
    return _close(a, b, ROUNDING)


def beats(a: Any, b: Any, sense: str) -> Any:
    """Return whether `a` is better than a value computed elsewhere, `b`, by more than rounding."""
    return (a < b if sense == "min" else a > b) & (agrees(a, b) ^ True)


def reaches(a: Any, b: Any, sense: str) -> Any:
    """Return whether `a` is at least as good as a value computed elsewhere, `b`, up to rounding."""
    return (a < b if sense == "min" else a > b) | agrees(a, b)


def keeps(value: Any, limit: Any, size: Any = 0.0) -> Any:
    """Return whether a sum is within its limit up to rounding; `size`: that of its terms, if `value` is smaller."""
    return (value <= limit + LIMIT * abs(value)) | (value <= limit + LIMIT * size)


def _close(a: Any, b: Any, share: float) -> Any:
    difference = abs(a - b)
    near = (difference <= share * abs(a)) | (difference <= share * abs(b)) | (difference <= share * _SMALLEST)
    return (a == b) | (difference < math.inf) & near
