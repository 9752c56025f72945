"""What a network sees of a partial tour with symmetric distances: distances, ranks, and a relaxation of what remains.

Everything is a function of the distances between the cities shown, in units of their own, so that the features do not change
when the plane is turned, mirrored, moved or scaled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.networks.tokens import Tokens
from corl.problems.tsp.relaxation import new_relaxation, relax

__all__ = ["PAIRS", "TOKENS", "plane"]

TOKENS = 22
"""F: features of a token (see _describe)."""
PAIRS = 6
"""P: features of a pair of tokens (see _describe_pairs)."""
_STEPS = 40  # trees of the relaxation (tuned: README.md)


def plane(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Tokens of TspEnvironment's observations: K slots, the origin, the destination; K + 2 tokens.

    Distances are those of "coordinates" in a straight line, or of "distances" (which must be symmetric; of others the mean of
    both directions is seen). The unit `scale` is about the length of the path that remains.
    """
    mask = np.ascontiguousarray(observation["mask"])
    rows, tokens = mask.shape
    none = np.zeros((rows, 0, 0))
    points = np.ascontiguousarray(observation.get("coordinates", none))
    matrix = np.ascontiguousarray(observation.get("distances", none))
    x = np.zeros((rows, tokens, TOKENS), np.float32)
    pairs = np.zeros((rows, tokens, tokens, PAIRS), np.float32)
    scale = np.ones(rows)
    work = new_relaxation(tokens + 1)
    _features(mask, observation["remaining"], points, matrix, work, _STEPS, x, pairs, scale)
    return Tokens(x, mask, pairs, scale)


@kernel
def _features(mask: Any, remaining: Any, points: Any, matrix: Any, work: Any, steps: Any, x: Any, pairs: Any, scale: Any) -> None:
    """Fill x, pairs and scale row by row. Nodes 0..m-1 of a row are its taken slots, then origin, destination, outside."""
    slots = mask.shape[1] - 2
    slot = np.empty(slots + 2, np.int64)
    near = np.empty((slots + 2, 3))
    for row in range(len(mask)):
        m = 0
        for i in range(slots):
            if mask[row, i]:
                slot[m] = i
                m += 1
        if m == 0:
            continue
        slot[m], slot[m + 1] = slots, slots + 1
        _costs(points, matrix, row, slot, m, work.cost)
        _nearest(work.cost, m, near)
        unit = near[:m, 0].mean()
        outside = remaining[row] > m
        if outside:
            _outside(work.cost, m, unit)
        nodes = m + 3 if outside else m + 2
        between = work.cost[m, m + 1]
        work.cost[m, m + 1] = work.cost[m + 1, m] = work.cost[:nodes, :nodes].sum() + 1.0  # no edge of a path
        bound = relax(work, nodes, m, outside, steps, 0.5 * unit)
        work.cost[m, m + 1] = work.cost[m + 1, m] = between
        if bound > 0.0:
            unit = bound / (nodes - 1)
        if unit <= 0.0:  # all cities in one place
            unit = 1.0
        scale[row] = unit * (remaining[row] + 1)
        _describe(work, near, m, outside, remaining[row], unit, slot, x[row])
        _describe_pairs(work, m, unit, slot, pairs[row])


@kernel
def _costs(points: Any, matrix: Any, row: Any, slot: Any, m: Any, cost: Any) -> None:
    """Distances among the cities of a row."""
    for i in range(m + 2):
        cost[i, i] = 0.0
        for j in range(i):
            length = 0.0
            if points.shape[1]:
                for axis in range(points.shape[2]):
                    length += (points[row, slot[i], axis] - points[row, slot[j], axis]) ** 2
                length = math.sqrt(length)
            if matrix.shape[1]:  # zero where the row has coordinates
                length += 0.5 * (matrix[row, slot[i], slot[j]] + matrix[row, slot[j], slot[i]])
            cost[i, j] = cost[j, i] = length


@kernel
def _nearest(cost: Any, m: Any, near: Any) -> None:
    """The distances of the window's cities, origin and destination to their three nearest others in the window.

    Where there are fewer, the farthest there is stands in; the destination counts as one.
    """
    for i in range(m + 2):
        a = b = c = np.inf
        for j in range(m + 2):
            if j in (i, m) or (i == m and j == m + 1):
                continue
            length = cost[i, j]
            if length < a:
                a, b, c = length, a, b
            elif length < b:
                b, c = length, b
            elif length < c:
                c = length
        near[i, 0] = a
        near[i, 1] = b if b < np.inf else near[i, 0]
        near[i, 2] = c if c < np.inf else near[i, 1]


@kernel
def _outside(cost: Any, m: Any, unit: Any) -> None:
    """Node m + 2 stands for the cities beyond the window: they are at least as far from the origin as its last city."""
    radius = 0.0
    for i in range(m):
        radius = max(radius, cost[m, i])
    for i in range(m + 2):
        cost[m + 2, i] = cost[i, m + 2] = max(0.0, radius - cost[m, i]) + 0.5 * unit
    cost[m + 2, m + 2] = 0.0


@kernel
def _describe(work: Any, near: Any, m: Any, outside: Any, remaining: Any, unit: Any, slot: Any, x: Any) -> None:
    """The features of each token, lengths in units of the relaxation's mean edge."""
    cost, share, alpha, price = work.cost, work.share, work.alpha, work.price
    o, t = m, m + 1
    cheapest = np.inf
    for i in range(m):
        cheapest = min(cheapest, cost[o, i] + price[i])
    for i in range(m + 2):
        f = x[slot[i]]
        f[0] = math.log1p(cost[o, i] / unit)
        f[1] = math.log1p(cost[t, i] / unit)
        f[2], f[3], f[4] = math.log1p(near[i, 0] / unit), math.log1p(near[i, 1] / unit), math.log1p(near[i, 2] / unit)
        f[5], f[6] = share[o, i], share[t, i]
        f[7] = math.log1p(max(0.0, alpha[o, i]) / unit) if i < m else 0.0
        f[8] = math.log1p(max(0.0, alpha[t, i]) / unit) if i < m else 0.0
        f[9] = math.log1p((cost[o, i] + price[i] - cheapest) / unit) if i < m else 0.0
        f[10] = max(-3.0, min(3.0, price[i] / unit))
        total = most = second = 0.0
        for j in range(m + 3 if outside else m + 2):
            if j != i:
                total += share[i, j]
                if share[i, j] > most:
                    most, second = share[i, j], most
                elif share[i, j] > second:
                    second = share[i, j]
        f[11], f[12], f[13] = total - 2.0, most, second
        f[14] = share[m + 2, i] if outside else 0.0
        f[15] = math.log1p(cost[m + 2, i] / unit) if outside else 0.0
        f[16] = 1.0 if work.parent[i] == o or work.parent[o] == i else 0.0
        f[17] = i / 16.0 if i < m else 0.0
        f[18], f[19] = 1.0 if i == o else 0.0, 1.0 if i == t else 0.0
        f[20], f[21] = m / 16.0, math.log1p(remaining - m)


@kernel
def _describe_pairs(work: Any, m: Any, unit: Any, slot: Any, pairs: Any) -> None:
    """Distance on three scales, share of the trees, nearness by alpha, and whether it is one token."""
    for i in range(m + 2):
        for j in range(i + 1):
            length = work.cost[i, j] / unit
            f = pairs[slot[i], slot[j]]
            f[0] = math.log1p(length)
            f[1] = math.exp(-length)
            f[2] = math.exp(-length * length)
            if i != j:
                f[3] = work.share[i, j]
                f[4] = math.exp(-2.0 * max(0.0, work.alpha[i, j]) / unit)
            else:
                f[5] = 1.0
            pairs[slot[j], slot[i]] = f
