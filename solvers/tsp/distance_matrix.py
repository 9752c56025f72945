"""The full distance matrix, for third-party engines that need one. Our own solvers never build it from coordinates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import Metric, distance, metric_of

__all__ = ["compile_dense", "dense_matrix", "scaled_matrix"]

_ENTRIES_PER_CHECK = 1_000_000  # matrix entries computed between two checks of the time limit: about 10 ms


@kernel
def _rows(metric: Metric, first: int, last: int, matrix: NDArray[np.float64]) -> None:
    """Write the distances from cities first..last-1 to all cities into rows first..last-1 of float64 `matrix` [n, n]."""
    for i in range(first, last):
        for j in range(matrix.shape[1]):
            matrix[i, j] = distance(metric, i, j)


def dense_matrix(instance: TspInstance, should_stop: Callable[[], bool]) -> NDArray[np.float64] | None:
    """Return all distances, float64 [n, n], with a zero diagonal; None if `should_stop()` became true."""
    n = instance.n
    metric = metric_of(instance)
    matrix = np.empty((n, n))
    block = max(1, _ENTRIES_PER_CHECK // n)
    for first in range(0, n, block):
        if should_stop():
            return None
        _rows(metric, first, min(n, first + block), matrix)
    return matrix


def scaled_matrix(instance: TspInstance, most: float, should_stop: Callable[[], bool]) -> NDArray[np.float64] | None:
    """Return the distances as whole numbers from 0 to `most`, float64 [n, n]; None if `should_stop()` became true.

    If there are negative distances, a constant is added to all distances. Distances that are not integers, or exceed `most`, are
    scaled so that the longest becomes `most`, and rounded.
    """
    matrix = dense_matrix(instance, should_stop)
    if matrix is None:
        return None
    np.fill_diagonal(matrix, matrix[0, 1])
    matrix -= min(0.0, matrix.min())  # a constant added to every edge lengthens all tours equally
    np.fill_diagonal(matrix, 0.0)
    largest = matrix.max()
    if (not instance.integral and largest > 0.0) or largest > most:
        matrix *= most / largest
    return np.rint(matrix, out=matrix)


def compile_dense(instance: TspInstance) -> None:
    """Compile the kernels of `dense_matrix` for instances of this kind."""
    _rows(metric_of(instance), 0, 0, np.empty((1, 1)))
