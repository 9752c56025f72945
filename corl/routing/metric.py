"""Distances for compiled kernels, computed when they are needed, so that coordinates need no n x n matrix.

Only solvers use this file; solutions are evaluated by the formulas of corl.routing.edge_weights.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = [
    "ATT", "CEIL", "EUCLIDEAN", "EXPLICIT", "GEO", "MANHATTAN", "MAXIMUM", "ROUNDED", "TENTHS", "Metric", "bonded", "distance",
    "metric",
]  # fmt: skip

EUCLIDEAN, ROUNDED, CEIL, ATT, MANHATTAN, MAXIMUM, GEO, EXPLICIT, TENTHS = range(9)

_BONDED = 16  # added to the kind of a metric with bonds (see `bonded`)

_KINDS = {
    "EXACT_2D": EUCLIDEAN, "EXACT_3D": EUCLIDEAN, "EUC_2D": ROUNDED, "EUC_3D": ROUNDED, "CEIL_2D": CEIL, "ATT": ATT,
    "MAN_2D": MANHATTAN, "MAN_3D": MANHATTAN, "MAX_2D": MAXIMUM, "MAX_3D": MAXIMUM, "GEO": GEO, "EXPLICIT": EXPLICIT,
    "TENTHS_2D": TENTHS,
}  # fmt: skip


class Metric(NamedTuple):
    """The data that `distance` needs: coordinates and a kind of rounding or, for EXPLICIT, a matrix."""

    kind: int
    """EUCLIDEAN, ROUNDED, ... or EXPLICIT; with bonds, plus _BONDED."""
    points: NDArray[np.float64]
    """float64 [n, 3], coordinates (z = 0 in the plane), or for GEO unit vectors on the sphere; [0, 3] for EXPLICIT."""
    matrix: NDArray[np.float64]
    """For EXPLICIT float64 [n, n], the distances. With bonds float64 [n, 2]: the city at the other end of each city's bond (-1 if
    it has none), and the length of the bond. Otherwise [0, 0]."""


def metric(edge_weight_type: str, given: NDArray[np.float64] | None, matrix: NDArray[np.float64] | None) -> Metric:
    """Return a Metric.

    Args:
        edge_weight_type: TSPLIB's name of the distance, see `_KINDS`.
        given: float64 [n, 2 or 3], the coordinates as in the file; None if there is a matrix.
        matrix: float64 [n, n], the distances, which are not copied, or None.
    """
    kind = _KINDS[edge_weight_type]
    if matrix is not None:
        return Metric(kind, np.zeros((0, 3)), matrix)
    assert given is not None
    points = np.zeros((len(given), 3))
    if kind == GEO:  # TSPLIB: DDD.MM, the minutes after the point, and pi = 3.141592
        degrees = np.trunc(given)
        latitude, longitude = (3.141592 * (degrees + 5.0 * (given - degrees) / 3.0) / 180.0).T
        points[:, 0] = np.cos(latitude) * np.cos(longitude)
        points[:, 1] = np.cos(latitude) * np.sin(longitude)
        points[:, 2] = np.sin(latitude)
    else:
        points[:, : given.shape[1]] = given
    return Metric(kind, points, np.zeros((0, 0)))


def bonded(given: Metric, partner: NDArray[np.integer[Any]]) -> Metric:
    """Return a metric with bonds, which are edges that must stay in a tour.

    A bond gets a negative length so large that no exchange of edges that removes the bond is an improvement.

    Args:
        given: A metric of coordinates.
        partner: int [n], the city at the other end of each city's bond, -1 for a city without a bond.
    """
    matrix = np.empty((len(partner), 2))
    matrix[:, 0] = partner
    matrix[:, 1] = -4.0 * float(np.ptp(given.points, axis=0).sum() + 1.0) * (6378.388 if given.kind == GEO else 1.0)
    return given._replace(kind=given.kind + _BONDED, matrix=matrix)


@kernel(inline=True, borrow=True)
def distance(metric: Any, i: Any, j: Any) -> Any:
    """Return the float64 distance from city i to city j, as in TSPLIB 95 (Reinelt); TENTHS as in corl.routing.edge_weights.

    The distance of a city to itself is 0.
    """
    kind = metric.kind
    if kind == EXPLICIT:
        return metric.matrix[i, j]
    if kind >= _BONDED:
        if metric.matrix[i, 0] == j:
            return metric.matrix[i, 1]
        kind -= _BONDED
    p = metric.points
    dx, dy, dz = p[i, 0] - p[j, 0], p[i, 1] - p[j, 1], p[i, 2] - p[j, 2]
    if kind <= CEIL:
        d = math.sqrt(dx * dx + dy * dy + dz * dz)
        if kind == EUCLIDEAN:
            return d
        return math.floor(d + 0.5) if kind == ROUNDED else math.ceil(d)
    if kind == TENTHS:
        return math.floor(10.0 * math.sqrt(dx * dx + dy * dy))
    if kind == ATT:
        return math.ceil(math.sqrt((dx * dx + dy * dy) / 10.0))  # rounding up is equivalent to TSPLIB's two-step rule
    if kind == MANHATTAN:
        return math.floor(abs(dx) + abs(dy) + abs(dz) + 0.5)
    if kind == MAXIMUM:
        return max(math.floor(abs(dx) + 0.5), math.floor(abs(dy) + 0.5), math.floor(abs(dz) + 0.5))
    if i == j:
        return 0.0
    cosine = p[i, 0] * p[j, 0] + p[i, 1] * p[j, 1] + p[i, 2] * p[j, 2]
    return math.floor(6378.388 * math.acos(min(1.0, max(-1.0, cosine))) + 1.0)
