"""A space-filling curve, and nearest-neighbour queries over a set of points from which points are removed."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.metric import EXPLICIT, MANHATTAN, MAXIMUM, Metric

__all__ = ["LiveTree", "hilbert_order", "live_tree", "nearest_in_quadrant", "nearest_live", "remove"]

_BITS = 20  # bits of each coordinate in a key; the bits of three coordinates fit into an int64
_POINTS_PER_BLOCK = 4096  # points whose keys are computed at a time, in the processor's cache


def hilbert_order(metric: Metric) -> NDArray[np.int32]:
    """Return the cities along a Hilbert curve, int32 [n], so that consecutive cities are near each other; 0..n-1 for a matrix."""
    if metric.kind == EXPLICIT:
        return np.arange(len(metric.matrix), dtype=np.int32)
    return np.argsort(_hilbert_keys(metric.points), kind="stable").astype(np.int32)


def _hilbert_keys(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a key for each point of float64 `points` [n, 3] that sorts the points along the Hilbert curve, int64 [n].

    After Skilling, Programming the Hilbert curve, AIP Conf. Proc. 707 (2004).
    """
    low, spread = points.min(0), np.ptp(points, axis=0)
    extent = float(spread.max())
    scale = ((1 << _BITS) - 1) / extent if extent > 0.0 else 0.0
    keys = np.zeros(len(points), np.int64)
    for first in range(0, len(points), _POINTS_PER_BLOCK):
        block = slice(first, first + _POINTS_PER_BLOCK)
        axes = ((points[block] - low) * scale).astype(np.int64).T[: 3 if spread[2] > 0.0 else 2].copy()
        _to_transpose(axes)
        for bit in range(_BITS - 1, -1, -1):
            for x in axes:
                keys[block] = (keys[block] << 1) | ((x >> bit) & 1)
    return keys


def _to_transpose(axes: NDArray[np.int64]) -> None:
    """Replace coordinates, int64 [2 or 3, n], by interleaved bits of the Hilbert key, in place (Skilling's AxestoTranspose)."""
    bits = [1 << bit for bit in range(_BITS - 1, 0, -1)]
    for q in bits:
        for x in axes:
            unset = ((x & q) != 0) - np.int64(1)  # all bits where bit q of x is 0, else none
            swapped = (axes[0] ^ x) & (q - 1) & unset
            axes[0] ^= swapped | ((q - 1) & ~unset)
            x ^= swapped
    for a in range(1, len(axes)):
        axes[a] ^= axes[a - 1]
    flips = np.zeros(axes.shape[1], np.int64)
    for q in bits:
        flips ^= np.where(axes[-1] & q, q - 1, 0)
    axes ^= flips


# ---------------------------------------------------------------- nearest neighbour among the points not yet removed
# A complete binary tree whose leaves hold _LEAF consecutive points in Hilbert order, which are near each other. Each node has the
# bounding box of its points and the number of points not yet removed. The root is node 1, the children of node q are 2q and
# 2q + 1, and the m leaves are nodes m..2m-1.
_LEAF = 8
LiveTree = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]
"""The tree that `live_tree` returns: (order, place, boxes, live_count)."""


def live_tree(points: NDArray[np.float64], order: NDArray[np.int32]) -> LiveTree:
    """Return the tree over float64 `points` [n, 3] in the Hilbert order int32 `order` [n], for `nearest_live` and `remove`.

    Returns (order, place, boxes, live_count): the argument `order`; its inverse, int32 [n]; the low and high corners of each
    node's box, float64 [2 m, 2, 3] for m leaves; the number of points not yet removed below each node, int32 [2 m].
    """
    leaves = 1
    while leaves * _LEAF < len(order):
        leaves *= 2
    return _build(points, order, leaves)


@kernel
def _build(points: NDArray[np.float64], order: NDArray[np.int32], leaves: int) -> LiveTree:
    """Build the tree of `live_tree` with `leaves` leaves, a power of 2."""
    n = len(order)
    place = np.empty(n, np.int32)
    boxes = np.empty((2 * leaves, 2, 3))
    boxes[:, 0, :] = np.inf
    boxes[:, 1, :] = -np.inf
    live_count = np.zeros(2 * leaves, np.int32)
    for i in range(n):
        place[order[i]] = i
        node = leaves + i // _LEAF
        live_count[node] += 1
        for a in range(3):
            boxes[node, 0, a] = min(boxes[node, 0, a], points[order[i], a])
            boxes[node, 1, a] = max(boxes[node, 1, a], points[order[i], a])
    for node in range(leaves - 1, 0, -1):
        live_count[node] = live_count[2 * node] + live_count[2 * node + 1]
        for a in range(3):
            boxes[node, 0, a] = min(boxes[2 * node, 0, a], boxes[2 * node + 1, 0, a])
            boxes[node, 1, a] = max(boxes[2 * node, 1, a], boxes[2 * node + 1, 1, a])
    return order, place, boxes, live_count


@kernel
def remove(tree, city):
    """Remove a city from the tree, in place. The city must not have been removed before."""
    _order, place, _boxes, live_count = tree
    node = len(live_count) // 2 + place[city] // _LEAF
    while node > 0:
        live_count[node] -= 1
        node //= 2


@kernel
def nearest_live(metric, tree, gone, city, stack):
    """Return the nearest city to `city` among those not removed, by unrounded distance; -1 if there is none.

    bool `gone` [n] marks the removed cities; `stack`, int64 [128], is a work array.
    """
    order, _place, boxes, live_count = tree
    leaves = len(live_count) // 2
    best, best_city = np.inf, -1
    depth, stack[0] = 1, 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if live_count[node] == 0 or _box_distance(metric, boxes, node, city) >= best:
            continue
        if node >= leaves:
            first = (node - leaves) * _LEAF
            for i in range(first, min(first + _LEAF, len(order))):
                if not gone[order[i]]:
                    d = _norm_of(metric, order[i], city)
                    if d < best:
                        best, best_city = d, order[i]
            continue
        near, far = 2 * node, 2 * node + 1
        if _box_distance(metric, boxes, far, city) < _box_distance(metric, boxes, near, city):
            near, far = far, near
        stack[depth], stack[depth + 1] = far, near
        depth += 2
    return best_city


@kernel
def nearest_in_quadrant(metric, tree, city, quadrant, stack):
    """Return the nearest other point in a quadrant around `city` in the plane; -1 if there is none.

    Quadrant 2 a + b holds the points whose x is at least (a = 1) or less than (a = 0) the city's x; b says the same of y.
    `stack`, int64 [128], is a work array.
    """
    order, _place, boxes, live_count = tree
    leaves = len(live_count) // 2
    points = metric.points
    best, best_city = np.inf, -1
    depth, stack[0] = 1, 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        outside = live_count[node] == 0
        for a in range(2):
            above = (quadrant >> (1 - a)) & 1
            outside |= boxes[node, 1, a] < points[city, a] if above else boxes[node, 0, a] >= points[city, a]
        if outside or _box_distance(metric, boxes, node, city) >= best:
            continue
        if node < leaves:
            near, far = 2 * node, 2 * node + 1
            if _box_distance(metric, boxes, far, city) < _box_distance(metric, boxes, near, city):
                near, far = far, near
            stack[depth], stack[depth + 1] = far, near
            depth += 2
            continue
        first = (node - leaves) * _LEAF
        for i in range(first, min(first + _LEAF, len(order))):
            u = order[i]
            if u != city and 2 * (points[u, 0] >= points[city, 0]) + (points[u, 1] >= points[city, 1]) == quadrant:
                d = _norm_of(metric, u, city)
                if d < best:
                    best, best_city = d, u
    return best_city


@kernel
def _box_distance(metric, boxes, node, city):
    """Return a lower bound on `_norm_of` from a city to the points in a box."""
    total = 0.0
    for a in range(3):
        x = metric.points[city, a]
        d = max(boxes[node, 0, a] - x, x - boxes[node, 1, a], 0.0)
        total = _add(metric.kind, total, d)
    return total


@kernel
def _norm_of(metric, i, j):
    """Return a number that grows with the distance between two cities, unrounded; for Euclidean distances it is the square."""
    total = 0.0
    for a in range(3):
        total = _add(metric.kind, total, abs(metric.points[i, a] - metric.points[j, a]))
    return total


@kernel(inline=True)
def _add(kind, total, d):
    """Return `total` with the difference d >= 0 in one more coordinate added, for `_norm_of`."""
    if kind == MANHATTAN:
        return total + d
    return max(total, d) if kind == MAXIMUM else total + d * d
