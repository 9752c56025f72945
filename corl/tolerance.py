"""How far apart two objectives may lie and still count as one, and how far a solution may pass a limit: everything asks here.

Every tolerance is a share of the data's own size: what it decides does not change with the unit that they are in.
Every function takes floats or NumPy arrays, element by element; a NaN agrees with nothing, an infinity with itself alone.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["DIGITS", "FEASIBILITY", "LIMIT", "ROUNDING", "TIE", "agrees", "beats", "keeps", "reaches", "tied"]

TIE = 1e-9
"""Two values of one judge are tied within this share of the larger one (or 1e-12 in all)."""
ROUNDING = 1e-6
"""A value computed elsewhere - a solver's claim, an engine's bound, a published reference - agrees with the judge's within
this share of the larger one (or 1e-9 in all): engines stop at such tolerances, and tables are rounded."""
LIMIT = 1e-9
"""How far a sum of loads, lengths or times may pass its limit, as a share of that: the rounding of float64 sums, and no more."""
FEASIBILITY = 1e-6
"""How far a solution of a mixed-integer program may pass a limit, as a share of what is large in it, as engines do."""
DIGITS = 1e-14
"""A number that is no integer was rounded when it was read or computed, to this share of itself: it is not believed further."""

_SMALLEST = 1e-3  # below this size shares mean nothing: differences count in all


def tied(a: Any, b: Any, share: float = TIE) -> Any:
    """Whether two values of one judge are the same: a tie, a closed gap."""
    return _close(a, b, share)


def agrees(a: Any, b: Any) -> Any:
    """Whether a value computed elsewhere and the judge's are the same but for rounding."""
    return _close(a, b, ROUNDING)


def beats(a: Any, b: Any, sense: str) -> Any:
    """Whether `a` is better than a value computed elsewhere, `b`, by more than rounding."""
    return (a < b if sense == "min" else a > b) & (agrees(a, b) ^ True)


def reaches(a: Any, b: Any, sense: str) -> Any:
    """Whether `a` is at least as good as a value computed elsewhere, `b`, but for rounding."""
    return (a < b if sense == "min" else a > b) | agrees(a, b)


def keeps(value: Any, limit: Any, size: Any = 0.0) -> Any:
    """Whether a sum is within its limit but for rounding; size: of what was added and taken away, where `value` is less."""
    return (value <= limit + LIMIT * abs(value)) | (value <= limit + LIMIT * size)


def _close(a: Any, b: Any, share: float) -> Any:
    apart = abs(a - b)
    near = (apart <= share * abs(a)) | (apart <= share * abs(b)) | (apart <= share * _SMALLEST)
    return (a == b) | (apart < math.inf) & near
