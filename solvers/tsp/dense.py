"""The full distance matrix, for engines of others that insist on one. Our own solvers never build it from coordinates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import distance, metric_of

__all__ = ["compile_dense", "dense_matrix"]

_ENTRIES = 1_000_000  # a block of rows between two looks at the clock: about 10 ms


@kernel
def _rows(metric, first, last, matrix):
    for i in range(first, last):
        for j in range(matrix.shape[1]):
            matrix[i, j] = distance(metric, i, j) if i != j else 0.0


def dense_matrix(instance: TspInstance, should_stop: Callable[[], bool]) -> NDArray[np.float64] | None:
    """float64 [n, n], a copy with a zero diagonal; None if `should_stop()` came true on the way."""
    n = instance.n
    metric = metric_of(instance)
    matrix = np.empty((n, n))
    block = max(1, _ENTRIES // n)
    for first in range(0, n, block):
        if should_stop():
            return None
        _rows(metric, first, min(n, first + block), matrix)
    return matrix


def compile_dense(instance: TspInstance) -> None:
    """Compile what `dense_matrix` runs for instances of this kind."""
    _rows(metric_of(instance), 0, 0, np.empty((1, 1)))
