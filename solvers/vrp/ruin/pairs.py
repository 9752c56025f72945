"""Distances of many pairs of nodes at once, and integer sort keys."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.routing.metric import Metric, distance

__all__ = ["fill_keys", "pair_distances"]


@kernel
def pair_distances(metric: Metric, rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return float64 [R, K]: the distance from node rows[i], of int64 [R], to node others[i, k]; 0 from a node to itself."""
    out = np.zeros(others.shape)
    for i in range(len(rows)):
        for k in range(others.shape[1]):
            if rows[i] != others[i, k]:
                out[i, k] = distance(metric, rows[i], others[i, k])
    return out


@kernel
def fill_keys(apart: NDArray[np.float64], keys: NDArray[Any], limit: float) -> bool:
    """Write sort keys that contain distance and column: apart[i, k] * K + k to keys[i, k], in place.

    Args:
        apart: float64 [R, K], distances; inf is replaced by `limit`.
        keys: int32 or int64 [R, K].
        limit: Upper limit of the distances, so that keys do not overflow.

    Returns:
        False if a finite distance is not an integer or not below `limit`: the keys are then invalid.
    """
    columns = apart.shape[1]
    for i in range(len(apart)):
        for k in range(columns):
            value = apart[i, k]
            if value == np.inf:
                value = limit
            elif value >= limit or value != np.floor(value):
                return False
            keys[i, k] = np.int64(value) * columns + k
    return True
