"""Cities renumbered along a Hilbert curve: cities near in space are then near in memory, which makes better use of the cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import EXPLICIT, Metric, metric_of
from corl.solvers.tsp.neighbours.spatial import hilbert_order

__all__ = ["Renumbered", "along_curve", "inverse", "is_clustered"]

# The median step along the curve, in units of sqrt(area / n), below which cities count as clustered. Uniform cities have 0.86 to
# 0.88, the clustered cities of the DIMACS challenge 0.31, TSPLIB's drilling problems 0.1 to 0.5.
_CLUSTERED_BELOW = 0.7


class Renumbered:
    """An instance in a search's own numbering of the cities, and the mapping back.

    If a matrix has negative distances and the argument `raised` is true, a constant is added to all distances, so that none is
    negative. This lengthens all tours equally.
    """

    def __init__(self, instance: TspInstance, raised: bool = True) -> None:
        self.cities: NDArray[np.int32]
        """int32 [n]: the instance's city for each number used here."""
        self.cities, self.metric = along_curve(metric_of(instance))
        self.raised = 0.0
        """The constant added to every distance."""
        if raised and self.metric.kind == EXPLICIT and (least := float(self.metric.matrix.min())) < 0.0:
            self.raised = -least
            self.metric = self.metric._replace(matrix=self.metric.matrix + self.raised)

    def numbers(self, tour: ArrayLike) -> NDArray[np.int32]:
        """Return a tour of the instance's cities in the numbers used here."""
        renumbered: NDArray[np.int32] = inverse(self.cities)[np.asarray(tour)]
        return renumbered


def along_curve(metric: Metric) -> tuple[NDArray[np.int32], Metric]:
    """Return the cities in the order of the curve, int32 [n], and the metric in which city i is the i-th city on the curve.

    The cities of a matrix, which have no coordinates, keep their numbers.
    """
    cities = hilbert_order(metric)
    return cities, metric if metric.kind == EXPLICIT else metric._replace(points=metric.points[cities])


def is_clustered(metric: Metric) -> bool:
    """Return whether consecutive cities on the curve are mostly nearer to each other than uniformly distributed cities are.

    The cities must be numbered along the curve.
    """
    if len(metric.points) < 2:
        return False
    steps = np.linalg.norm(np.diff(metric.points, axis=0), axis=1)
    width, height = np.ptp(metric.points[:, :2], axis=0)
    return float(np.median(steps)) < _CLUSTERED_BELOW * float(np.sqrt(width * height / len(metric.points)))


def inverse(order: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the inverse of the permutation `order`, int32 [n]."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=order.dtype)
    return place
