"""Candidate neighbours: for every city the few others that a good tour may link it to, nearest first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.sorted_lists import insert_sorted
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import EXPLICIT, MANHATTAN, MAXIMUM, Metric, distance
from corl.solvers.tsp.neighbours.spatial import LiveTree, hilbert_order, live_tree, nearest_in_quadrant

__all__ = ["near_points", "nearest_among", "neighbours"]

_CITIES_PER_QUERY = 1 << 16  # cities in one query of the KD-tree; so scipy's temporary arrays have at most some tens of MB
_WIDER = 5  # the nearest cities of each quadrant are chosen among the _WIDER * k nearest cities


def neighbours(
    instance: TspInstance, metric: Metric, k: int, per_quadrant: int = 0
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return candidate neighbours of every city, in O(n k) memory.

    If more than k / 2 + 1 cities lie at one point, each of them lists only k / 2 of the others, and then cities elsewhere. Thus
    candidate edges connect these cities with each other (in a ring) and with the cities elsewhere.

    Args:
        instance: The instance.
        metric: Its metric, perhaps with renumbered cities.
        k: The number of neighbours; K = min(k, n - 1).
        per_quadrant: For coordinates in the plane: from each of the four quadrants around a city, the `per_quadrant` nearest
            cities in that quadrant are taken; then the nearest of all others. Quadrants are filled from the 5 k nearest cities;
            only if none of these lies in a quadrant, the nearest city of the quadrant is searched. This is better for clustered
            cities, whose nearest cities are all in their own cluster.

    Returns (neighbours int32 [n, K], lengths float64 [n, K]), rows sorted by distance.
    """
    if metric.kind == EXPLICIT:
        found = _nearest_in_matrix(metric.matrix, np.arange(instance.n), k)
    else:
        found = _nearest_points(metric, k, per_quadrant)
    return found, _sorted_lengths(metric, np.arange(instance.n, dtype=np.int32), found)


def near_points(metric: Metric, k: int, per_quadrant: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return candidate neighbours of a metric's points, as `neighbours` does."""
    found = _nearest_points(metric, k, per_quadrant)
    return found, _sorted_lengths(metric, np.arange(len(metric.points), dtype=np.int32), found)


def nearest_among(metric: Metric, cities: NDArray[np.int32], k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return, for each of the int32 `cities` [m], its nearest neighbours among the other cities of this array.

    Returns (neighbours int32 [m, K], lengths float64 [m, K]), with K = min(k, m - 1) and rows sorted by distance.
    """
    if metric.kind == EXPLICIT:
        found = _nearest_in_matrix(metric.matrix, cities, k)
    else:
        found = _nearest_points(metric._replace(points=metric.points[cities]), k, 0)
    found = cities[found].astype(np.int32)
    return found, _sorted_lengths(metric, cities, found)


def _nearest_in_matrix(matrix: NDArray[np.float64], cities: NDArray, k: int) -> NDArray[np.int32]:
    """Return the k nearest cities for each row of the sub-matrix of `cities` [m], as indices into `cities`, int32 [m, K]."""
    m = len(cities)
    k = min(k, m - 1)
    found = np.empty((m, k), np.int32)
    all_cities = m == len(matrix)
    for i in range(m):
        row = matrix[cities[i]].copy() if all_cities else matrix[cities[i], cities]
        row[i] = np.inf
        near = np.argpartition(row, k - 1)[:k] if k else np.empty(0, np.int64)
        found[i] = near[np.lexsort((near, row[near]))]
    return found


def _nearest_points(metric: Metric, k: int, per_quadrant: int) -> NDArray[np.int32]:
    """Return the candidate neighbours of every point of the metric, int32 [n, K], rows unsorted."""
    n = len(metric.points)
    k = min(k, n - 1)
    if k == 0:
        return np.empty((n, 0), np.int32)
    heaps = _heaps(metric.points, max(1, k // 2))
    if heaps is None:
        return _query(metric, k, per_quadrant)
    order, starts = heaps
    places = metric._replace(points=metric.points[order[starts[:-1]]])  # one city of each heap
    near = _query(places, min(k, len(places.points) - 1), per_quadrant)
    return _spread(order, starts, near, k)


def _heaps(points: NDArray[np.float64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the cities grouped by equal points (a group is a heap) if some heap has more than `most` + 1 cities, else None.

    Returns (order int64 [n], starts int64 [m + 1]): heap g consists of the cities order[starts[g]:starts[g + 1]].
    """
    x = np.sort(points[:, 0])
    if len(x) <= most + 1 or not (x[most + 1 :] == x[: -most - 1]).any():
        return None
    order = np.lexsort(points.T[::-1])
    new = np.concatenate(([True], (np.diff(points[order], axis=0) != 0).any(1)))
    starts = np.append(np.flatnonzero(new), len(points))
    return (order, starts) if np.diff(starts).max() > most + 1 else None


def _query(metric: Metric, k: int, per_quadrant: int) -> NDArray[np.int32]:
    """Return candidate neighbours as `_nearest_points` does, for points of which no more than a few are equal."""
    from scipy.spatial import cKDTree

    n = len(metric.points)
    if k <= 0:
        return np.empty((n, 0), np.int32)
    flat = not metric.points[:, 2].any()
    points = np.ascontiguousarray(metric.points[:, :2]) if flat else metric.points
    norm = {MANHATTAN: 1.0, MAXIMUM: np.inf}.get(metric.kind, 2.0)  # rounding distances does not change their order
    quadrants = per_quadrant > 0 and flat
    searched = min(_WIDER * k if quadrants else k, n - 1)
    tree = cKDTree(points)
    boxes = live_tree(metric.points, hilbert_order(metric)) if quadrants else None
    found = np.empty((n, k), np.int32)
    by_leaf = tree.indices  # queries in the tree's own order stay in the processor's cache
    for first in range(0, n, _CITIES_PER_QUERY):
        cities = by_leaf[first : first + _CITIES_PER_QUERY]
        near = tree.query(points[cities], searched + 1, p=norm, workers=1)[1].reshape(len(cities), searched + 1)
        others = _without_self(cities, near)
        found[cities] = others if boxes is None else _pick_quadrants(metric, boxes, cities, others, k, per_quadrant)
    return found


def _without_self(cities: NDArray[np.int64], near: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return `near` [m, w] without cities[i] in row i, int32 [m, w - 1]; a row without cities[i] loses its last entry."""
    dropped = near == cities[:, None]
    dropped[~dropped.any(1), -1] = True
    kept: NDArray[np.int32] = near[~dropped].reshape(len(near), -1).astype(np.int32)
    return kept


@kernel(nogil=True)
def _pick_quadrants(
    metric: Metric, boxes: LiveTree, cities: NDArray[np.int64], near: NDArray[np.int32], k: int, per_quadrant: int
) -> NDArray[np.int32]:
    """Choose k cities from each row of `near`, first the nearest of each quadrant; return them, int32 [m, k], unsorted.

    Args:
        metric: Metric of n cities in the plane.
        boxes: LiveTree of the cities, to find the nearest city of a quadrant in which no city of `near` lies.
        cities: int64 [m], the cities.
        near: int32 [m, w], nearest cities of each, sorted by distance.
        k: The number of neighbours to return.
        per_quadrant: The number taken first from each quadrant.
    """
    points = metric.points
    m, wide = near.shape
    out = np.empty((m, k), np.int32)
    taken = np.empty(wide, np.bool_)
    count = np.empty(4, np.int64)
    stack = np.empty(128, np.int64)
    for i in range(m):
        v = cities[i]
        taken[:] = False
        count[:] = 0
        kept = 0
        for c in range(wide):
            u = near[i, c]
            quadrant = 2 * (points[u, 0] >= points[v, 0]) + (points[u, 1] >= points[v, 1])
            count[quadrant] += 1
            if kept < k and count[quadrant] <= per_quadrant:
                taken[c] = True
                out[i, kept] = u
                kept += 1
        for quadrant in range(4):
            if kept < k and count[quadrant] == 0:
                u = nearest_in_quadrant(metric, boxes, v, quadrant, stack)
                if u >= 0:
                    out[i, kept] = u
                    kept += 1
        for c in range(wide):
            if kept < k and not taken[c]:
                out[i, kept] = near[i, c]
                kept += 1
    return out


@kernel
def _spread(order: NDArray[np.int64], starts: NDArray[np.int64], near: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Return neighbours of all cities, int32 [n, k], unsorted: up to k / 2 cities of the same heap, then cities of near heaps.

    A heap is a group of cities at one point (`_heaps`).

    Args:
        order: int64 [n], the cities, grouped by heap.
        starts: int64 [m + 1], the index in `order` at which each heap begins.
        near: int32 [m, K], the nearest heaps of each heap.
        k: The number of neighbours.
    """
    n, near_heaps = len(order), near.shape[1]
    out = np.empty((n, k), np.int32)
    for g in range(len(starts) - 1):
        size = starts[g + 1] - starts[g]
        for rank in range(size):
            city = order[starts[g] + rank]
            own = min(size - 1, k // 2)
            c, lap, last_count = own, 0, -1
            while c < k and c > last_count:  # one city of each near heap, then a second one, ...
                last_count = c
                for q in range(near_heaps):
                    other = starts[near[g, q] + 1] - starts[near[g, q]]
                    if c < k and lap < other:
                        out[city, c] = order[starts[near[g, q]] + (rank + lap) % other]
                        c += 1
                lap += 1
            own += k - c  # if there are too few cities elsewhere, more of the same heap
            for j in range(own):  # a ring: +1, -1, +2, -2, ...
                step = j // 2 + 1 if j % 2 == 0 else size - (j // 2 + 1)
                out[city, j if j < own - (k - c) else c + j - (own - (k - c))] = order[starts[g] + (rank + step) % size]
    return out


@kernel(nogil=True)
def _sorted_lengths(metric: Metric, cities: NDArray[np.integer], found: NDArray[np.int32]) -> NDArray[np.float64]:
    """Sort each row of int32 `found` [m, K] by the distance from cities[i], in place; return the distances, float64 [m, K]."""
    out = np.empty(found.shape)
    for i in range(found.shape[0]):
        near, lengths = found[i], out[i]
        for c in range(len(near)):
            insert_sorted(lengths, near, c, distance(metric, cities[i], near[c]), near[c])
    return out
