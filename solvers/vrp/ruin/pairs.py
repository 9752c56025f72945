"""Distances of many pairs at once."""

from __future__ import annotations

import numpy as np

from corl.jit import kernel
from corl.routing.metric import distance

__all__ = ["pair_distances"]


@kernel
def pair_distances(metric, rows, others):
    """float64 [R, K]: distances from node rows[i] to node others[i, k]; 0 from a node to itself."""
    out = np.zeros(others.shape)
    for i in range(len(rows)):
        for k in range(others.shape[1]):
            if rows[i] != others[i, k]:
                out[i, k] = distance(metric, rows[i], others[i, k])
    return out
