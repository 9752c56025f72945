"""Held & Karp's dynamic programme (1962; Bellman 1962): a shortest tour of up to a dozen cities, symmetric or asymmetric."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.metric import Metric, distance

__all__ = ["shortest_tour"]


@kernel
def shortest_tour(metric: Metric, n: int) -> NDArray[np.int32]:
    """Return an optimal tour of cities 0..n-1, int32 [n], from city 0, in O(2^n n^2) time and 9 n 2^(n-1) bytes.

    path[s, j] is the length of a shortest path that begins at city 0, visits the set s of cities (bit j: city j + 1) and ends at
    city j + 1, which is in s.
    """
    tour = np.zeros(n, np.int32)
    m = n - 1
    if m < 1:
        return tour
    path = np.full((1 << m, m), np.inf)
    previous = np.full((1 << m, m), -1, np.int8)
    for j in range(m):
        path[1 << j, j] = distance(metric, 0, j + 1)
    for s in range(1, 1 << m):
        for j in range(m):
            if not s & (1 << j) or path[s, j] == np.inf:
                continue
            for k in range(m):
                if s & (1 << k):
                    continue
                t = s | (1 << k)
                d = path[s, j] + distance(metric, j + 1, k + 1)
                if d < path[t, k]:
                    path[t, k] = d
                    previous[t, k] = j
    s = (1 << m) - 1
    last = 0
    best = np.inf
    for j in range(m):
        d = path[s, j] + distance(metric, j + 1, 0)
        if d < best:
            best = d
            last = j
    for p in range(m, 0, -1):
        tour[p] = last + 1
        before = previous[s, last]
        s ^= 1 << last
        last = before
    return tour
