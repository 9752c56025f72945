"""The nearest cities of every city, without an N x N matrix for coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.routing.metric import EXPLICIT, MANHATTAN, MAXIMUM, Metric

__all__ = ["nearest_cities"]

_ROWS = 100_000  # cities, or matrix entries in thousands, per block


def nearest_cities(metric: Metric, k: int, prices: NDArray[np.float64] | None = None) -> NDArray[np.int32]:
    """Return int32 [n, k]: for each city its k nearest others, k < n, nearest first (with a matrix, by the distance to them).

    prices: float64 [n], subtracted from a matrix's distances to each city.
    """
    n = len(metric.matrix) if metric.kind == EXPLICIT else len(metric.points)
    out = np.empty((n, k), np.int32)
    if k == 0:
        return out
    if metric.kind == EXPLICIT:
        step = max(1, _ROWS * 1000 // (8 * n))
        for start in range(0, n, step):
            rows = metric.matrix[start : start + step] - (0.0 if prices is None else prices)
            np.fill_diagonal(rows[:, start:], np.inf)
            out[start : start + step] = np.argsort(rows, axis=1, kind="stable")[:, :k]
        return out
    from scipy.spatial import cKDTree

    tree = cKDTree(metric.points)
    norm = {MANHATTAN: 1.0, MAXIMUM: np.inf}.get(metric.kind, 2.0)  # distances grow monotonically with these norms
    for start in range(0, n, _ROWS):
        block = np.arange(start, min(n, start + _ROWS))
        _, found = tree.query(metric.points[block], k + 1, p=norm)
        others = found != block[:, None]
        others[others.all(axis=1), -1] = False  # among many cities at one place, a city may not be in its own result
        out[block] = found[others].reshape(len(block), k)
    return out
