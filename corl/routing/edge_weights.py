"""The names of distances in files (TSPLIB's EDGE_WEIGHT_TYPE), and the formulas by which solutions are evaluated.

The formulas are those of TSPLIB 95 (G. Reinelt, section 2) in NumPy. They deliberately share no code with corl.routing.metric,
which solvers use: a fault in either file shows as a difference.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["COORDINATE_TYPES", "LARGEST", "edge_lengths"]

COORDINATE_TYPES = {
    "EUC_2D": 2, "EUC_3D": 3, "MAX_2D": 2, "MAX_3D": 3, "MAN_2D": 2, "MAN_3D": 3,
    "CEIL_2D": 2, "GEO": 2, "ATT": 2, "EXACT_2D": 2, "EXACT_3D": 3,
}  # fmt: skip
"""Edge-weight type -> the number of a city's coordinates. EXACT_* is the unrounded Euclidean distance."""

LARGEST = 1e12
"""The largest accepted coordinate or distance, chosen so that float64 sums of a million distances stay exact enough."""

_Array = NDArray[np.float64]
_PI = 3.141592  # the value in TSPLIB 95
_EARTH = 6378.388  # radius in kilometres


def edge_lengths(
    edge_weight_type: str, points: _Array | None, matrix: _Array | None, tails: NDArray[np.integer], heads: NDArray[np.integer]
) -> _Array:
    """Return the distances from tails[i] to heads[i], float64 [len(tails)].

    The distance of a node to itself is 0. (TSPLIB's formula for GEO would give 1, as it does for two nodes at the same place.)

    Args:
        edge_weight_type: A name in `COORDINATE_TYPES`, "EXPLICIT", or "TENTHS_2D", which does not occur in files: ten times the
            Euclidean distance, rounded down (DIMACS 2022, for time windows).
        points: float64 [n, 2 or 3], the coordinates; None if there is a matrix.
        matrix: float64 [n, n], the distances, or None.
        tails: int [E].
        heads: int [E].
    """
    if matrix is not None:
        lengths = np.asarray(matrix[tails, heads])
    else:
        assert points is not None
        lengths = _FORMULAS[edge_weight_type](points[tails], points[heads])
    return np.where(tails == heads, 0.0, lengths)


def _nint(x: _Array) -> _Array:
    return np.floor(x + 0.5)


def _euclidean(a: _Array, b: _Array) -> _Array:
    return np.asarray(np.sqrt(((a - b) ** 2).sum(axis=1)))


def _att(a: _Array, b: _Array) -> _Array:
    r = np.sqrt(((a - b) ** 2).sum(axis=1) / 10.0)
    t = _nint(r)
    return np.where(t < r, t + 1.0, t)


def _geo(a: _Array, b: _Array) -> _Array:
    """Return distances on the globe by TSPLIB's section 2.3. Coordinates have the form DDD.MM: degrees and minutes."""
    (latitude_i, longitude_i), (latitude_j, longitude_j) = _radians(a).T, _radians(b).T
    q1 = np.cos(longitude_i - longitude_j)
    q2 = np.cos(latitude_i - latitude_j)
    q3 = np.cos(latitude_i + latitude_j)
    angle = np.arccos(np.clip(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3), -1.0, 1.0))
    return np.asarray(np.floor(_EARTH * angle + 1.0))


def _radians(x: _Array) -> _Array:
    degrees = np.trunc(x)
    minutes = x - degrees
    return _PI * (degrees + 5.0 * minutes / 3.0) / 180.0


_FORMULAS: dict[str, Callable[[_Array, _Array], _Array]] = {
    "EXACT_2D": _euclidean,
    "EXACT_3D": _euclidean,
    "EUC_2D": lambda a, b: _nint(_euclidean(a, b)),
    "EUC_3D": lambda a, b: _nint(_euclidean(a, b)),
    "CEIL_2D": lambda a, b: np.ceil(_euclidean(a, b)),
    "MAN_2D": lambda a, b: _nint(np.abs(a - b).sum(axis=1)),
    "MAN_3D": lambda a, b: _nint(np.abs(a - b).sum(axis=1)),
    "MAX_2D": lambda a, b: _nint(np.abs(a - b)).max(axis=1),
    "MAX_3D": lambda a, b: _nint(np.abs(a - b)).max(axis=1),
    "ATT": _att,
    "GEO": _geo,
    "TENTHS_2D": lambda a, b: np.floor(10.0 * _euclidean(a, b)),
}
