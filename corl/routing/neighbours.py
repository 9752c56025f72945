"""The nearest cities of every city, from a matrix of distances or, without such a matrix, from coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.routing.metric import EXPLICIT, MANHATTAN, MAXIMUM, Metric

__all__ = ["nearest_cities"]

_ROWS = 100_000  # cities in a block of queries of the tree; with a matrix, a block has as many rows as take 1000 * _ROWS bytes


def nearest_cities(metric: Metric, k: int, prices: NDArray[np.float64] | None = None) -> NDArray[np.int32]:
    """Return for each city the k nearest other cities, k < n, nearest first: int32 [n, k].

    Args:
        metric: The distances. If a matrix is asymmetric, the distances from the city to the other cities count.
        k: The number of neighbours.
        prices: float64 [n] or None; the price of a city is subtracted from a matrix's distances to this city.
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
        others[others.all(axis=1), -1] = False  # a city with many others at its place may be missing from its own result
        out[block] = found[others].reshape(len(block), k)
    return out
