"""The judge: how long a tour is, by formulas of its own, and whether it is one.

The formulas are those of TSPLIB 95 (G. Reinelt, section 2) written out in NumPy. They are deliberately not those of
metric.py, which the solvers compute with: a fault in one shows as a difference to the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.errors import Infeasible
from corl.problems.tsp.instance import TspInstance

__all__ = ["check_tour", "edge_lengths", "tour_length"]

_Array = NDArray[np.float64]
_PI = 3.141592  # as TSPLIB 95 has it
_EARTH = 6378.388  # kilometres


def check_tour(instance: TspInstance, tour: ArrayLike) -> NDArray[np.int64]:
    """`tour` as int64 [n], if it visits every city 0..n-1 once. Raises Infeasible naming the first fault in the file's ids."""
    try:
        cities = np.asarray(tour)
    except ValueError:  # ragged
        raise Infeasible("a tour is a list of cities") from None
    if cities.ndim != 1:
        raise Infeasible(f"a tour is a list of cities, not an array of shape {list(cities.shape)}")
    if cities.dtype.kind not in "iu":
        raise Infeasible(f"a tour is a list of integers, not of {cities.dtype}")
    n, ids = instance.n, instance.ids
    outside = (cities < 0) | (cities >= n)
    if outside.any():
        at = int(outside.argmax())
        raise Infeasible(f"position {at + 1} of the tour is city index {cities[at]}; accepted: 0 to {n - 1}")
    first = np.full(n, -1, np.int64)
    first[cities[::-1]] = np.arange(len(cities) - 1, -1, -1)  # the last write wins: the first position of each city
    again = first[cities] != np.arange(len(cities))
    if again.any():
        at = int(again.argmax())
        city = cities[at]
        raise Infeasible(f"city {ids[city]} is visited twice, at positions {first[city] + 1} and {at + 1} of the tour")
    if len(cities) < n:
        missing = int((first < 0).argmax())
        raise Infeasible(f"city {ids[missing]} is not visited; the tour has {len(cities)} of {n} cities")
    return cities.astype(np.int64)


def tour_length(instance: TspInstance, tour: ArrayLike) -> float:
    """The length of the closed tour (0 for one city). Raises Infeasible where it is none."""
    cities = check_tour(instance, tour)
    if len(cities) == 1:
        return 0.0
    return float(edge_lengths(instance, cities, np.roll(cities, -1)).sum())


def edge_lengths(instance: TspInstance, tails: NDArray[np.integer], heads: NDArray[np.integer]) -> _Array:
    """The distances from cities tails[i] to heads[i]: float64 [len(tails)]."""
    if instance.matrix is not None:
        return np.asarray(instance.matrix[tails, heads])
    assert instance.points is not None
    return _FORMULAS[instance.edge_weight_type](instance.points[tails], instance.points[heads])


def _nint(x: _Array) -> _Array:
    return np.floor(x + 0.5)


def _euclidean(a: _Array, b: _Array) -> _Array:
    return np.asarray(np.sqrt(((a - b) ** 2).sum(axis=1)))


def _att(a: _Array, b: _Array) -> _Array:
    r = np.sqrt(((a - b) ** 2).sum(axis=1) / 10.0)
    t = _nint(r)
    return np.where(t < r, t + 1.0, t)


def _geo(a: _Array, b: _Array) -> _Array:
    """Section 2.3: coordinates DDD.MM are cut to whole degrees, what follows the point are minutes."""
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
}
