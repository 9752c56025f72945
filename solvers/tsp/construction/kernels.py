"""Kernels of construction heuristics, which give searches their first tours; a million cities take a few seconds."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.savings import join_ends
from corl.problems.tsp.metric import EXPLICIT, Metric, distance
from corl.rng import below, uniform
from corl.solvers.tsp.neighbours.candidates import nearest_among
from corl.solvers.tsp.neighbours.spatial import hilbert_order, live_tree, nearest_live, remove

__all__ = [
    "candidate_edges",
    "chain_fragments",
    "greedy_edge",
    "join_edges",
    "length_of",
    "nearest_neighbour",
    "random_greedy",
    "sorted_order",
    "tour_of_fragments",
]

_ENDS_PER_ROUND = 8  # nearest ends of paths that each end of a path considers in a round of joining paths


def nearest_neighbour(metric: Metric, neighbours: NDArray[np.int32], start: int = 0) -> NDArray[np.int32]:
    """Return the tour, int32 [n], that begins at `start` and always continues to the nearest unvisited city.

    The candidates `neighbours` (int32 [n, K], nearest first) are tried first. If all are visited, the nearest unvisited city is
    found by a scan of the matrix row, or for points by a tree.
    """
    n = len(neighbours)
    if metric.kind == EXPLICIT:
        tour: NDArray[np.int32] = _nearest_neighbour_matrix(metric.matrix, neighbours, start)
    elif n == 1:
        tour = np.zeros(1, np.int32)
    else:
        tour = _nearest_neighbour_points(metric, neighbours, start, live_tree(metric.points, hilbert_order(metric)))
    return tour


def greedy_edge(
    metric: Metric,
    neighbours: NDArray[np.int32],
    lengths: NDArray[np.float64],
    noise: float = 0.0,
    state: NDArray[np.uint64] | None = None,
) -> NDArray[np.int32]:
    """Return the greedy-edge tour, int32 [n]: edges are added, shortest first, if the result is a set of paths.

    Candidate edges come first. The resulting paths are then joined by edges between nearest ends, shortest first, in rounds.
    Edges whose lengths are equal in float32 are considered in the order in which they are listed.

    Args:
        metric: Metric of n cities.
        neighbours: int32 [n, K], candidate neighbours, nearest first.
        lengths: float64 [n, K], the distances to them.
        noise: Each candidate edge's length is multiplied by a random number, uniform on 1 - noise .. 1 + noise.
        state: uint64 [1], the state of the random numbers (corl.rng); may be None if `noise` is 0.
    """
    n = len(neighbours)
    link = np.full((n, 2), -1, np.int32)
    far = np.arange(n, dtype=np.int32)
    first, second, weight = candidate_edges(neighbours, lengths)
    if noise > 0.0:
        assert state is not None
        _perturb(weight, noise, state)
    join_edges(first, second, sorted_order(weight), link, far)
    while True:
        ends = np.flatnonzero(link[:, 1] < 0).astype(np.int32)
        if len(ends) <= 2:  # one path; its two ends close the tour
            tour: NDArray[np.int32] = tour_of_fragments(link, ends)
            return tour
        near, near_lengths = nearest_among(metric, ends, _ENDS_PER_ROUND)
        from_ends, to_ends = np.repeat(ends, near.shape[1]), near.ravel()
        join_edges(from_ends, to_ends, sorted_order(near_lengths.ravel()), link, far)


@kernel(nogil=True)
def candidate_edges(neighbours, lengths):
    """Return every candidate edge once: its cities and its length (first int32 [m], second int32 [m], weight float64 [m])."""
    n, k = neighbours.shape
    first, second, weight = np.empty(n * k, np.int32), np.empty(n * k, np.int32), np.empty(n * k)
    m = 0
    for i in range(n):
        for c in range(k):
            j = neighbours[i, c]
            if j > i or not _lists(neighbours, j, i):
                first[m], second[m], weight[m] = i, j, lengths[i, c]
                m += 1
    return first[:m].copy(), second[:m].copy(), weight[:m].copy()


@kernel(inline=True)
def _lists(neighbours, city, other):
    """Return whether `other` is a candidate neighbour of `city`."""
    listed = False
    for c in range(neighbours.shape[1]):
        listed |= neighbours[city, c] == other
    return listed


@kernel(nogil=True)
def random_greedy(metric, n, first, second, weight, noise, state):
    """Return a random greedy-edge tour, int32 [n]. Unlike `greedy_edge` it is a kernel, so that making many tours is fast.

    Paths are joined by `chain_fragments`, whose time grows with the square of their number: n should be at most about 50,000.

    Args:
        metric: Metric of n cities.
        n: Number of cities.
        first: int32 [m], first ends of the candidate edges.
        second: int32 [m], second ends.
        weight: float64 [m], their lengths.
        noise: Each length is multiplied by a random number, uniform on 1 - noise .. 1 + noise.
        state: uint64 [1], the state of the random numbers.
    """
    link, far = np.empty((n, 2), np.int32), np.empty(n, np.int32)
    for city in range(n):
        link[city, 0] = link[city, 1] = -1
        far[city] = city
    weight = weight.copy()
    _perturb(weight, noise, state)
    join_edges(first, second, sorted_order(weight), link, far)
    return chain_fragments(metric, link, below(state, n))


@kernel
def _perturb(weight, noise, state):
    """Multiply each weight by a random number, uniform on 1 - noise .. 1 + noise, in place."""
    for e in range(len(weight)):
        weight[e] *= 1.0 + noise * (2.0 * uniform(state) - 1.0)


@kernel
def sorted_order(weight):
    """Return the indices, int32 [m], that sort the values of float64 `weight` [m] as rounded to float32; a stable radix sort."""
    m = len(weight)
    keys, spare_keys = np.empty(m, np.uint32), np.empty(m, np.uint32)
    order, spare = np.empty(m, np.int32), np.empty(m, np.int32)
    single = weight.astype(np.float32).view(np.uint32)
    for e in range(m):  # an order-preserving map of floats to unsigned integers
        bits = single[e]
        keys[e] = np.uint32(~bits) if bits >> np.uint32(31) else np.uint32(bits | np.uint32(0x80000000))
        order[e] = e
    count = np.empty(2048, np.int64)
    for shift in (0, 11, 22):
        count[:] = 0
        for e in range(m):
            count[(keys[e] >> np.uint32(shift)) & np.uint32(2047)] += 1
        total = 0
        for b in range(2048):
            count[b], total = total, total + count[b]
        for e in range(m):
            b = (keys[e] >> np.uint32(shift)) & np.uint32(2047)
            spare_keys[count[b]], spare[count[b]] = keys[e], order[e]
            count[b] += 1
        keys, spare_keys = spare_keys, keys
        order, spare = spare, order
    return order


@kernel
def join_edges(first, second, order, link, far):
    """Add edges to a set of paths, in the given order and in place, if they join ends of two different paths.

    After Bentley, Fast algorithms for geometric TSPs (1992), section 2.

    Args:
        first: int32 [m], first ends of the edges.
        second: int32 [m], second ends.
        order: int32 [k], the edges to consider, in this order.
        link: int32 [n, 2], the neighbours of each city on its path, -1 if it has fewer; slot 0 is filled first.
        far: int32 [n], for an end of a path the other end; for a city without edges the city itself.
    """
    for e in order:
        a, b = first[e], second[e]
        if link[a, 1] >= 0 or link[b, 1] >= 0 or far[a] == b:
            continue
        join_ends(link, far, a, b)


@kernel
def tour_of_fragments(link, ends):
    """Return the tour, int32 [n], that consists of the paths of `link` in the order in which their ends appear in `ends`."""
    n = len(link)
    tour = np.empty(n, np.int32)
    visited = np.zeros(n, np.bool_)
    m = 0
    for start in ends:
        if visited[start] or link[start, 1] >= 0:
            continue
        city, previous = start, -1
        while city >= 0:
            tour[m] = city
            m += 1
            visited[city] = True
            following = link[city, 0] if link[city, 0] != previous else link[city, 1]
            previous, city = city, following
    return tour


@kernel
def chain_fragments(metric, link, start):
    """Return a tour, int32 [n], that joins the paths of `link`, each time continuing to the nearest end of another path.

    The tour begins at an end of a path: at the one with the greatest city number up to `start`, or, if all are greater, at the
    one with the least number. With m paths it takes
    O(m^2) time; greedy candidate edges leave a few paths for every hundred cities.
    """
    n = len(link)
    tour = np.empty(n, np.int32)
    ends = np.empty(n, np.int32)
    end_count = first = 0
    for city in range(n):
        if link[city, 1] < 0:
            if city <= start:
                first = end_count
            ends[end_count] = city
            end_count += 1
    m, chosen = 0, first
    while end_count > 0:
        city, previous = ends[chosen], -1
        end_count -= 1
        ends[chosen] = ends[end_count]
        while city >= 0:  # along the path
            tour[m] = city
            m += 1
            following = link[city, 0] if link[city, 0] != previous else link[city, 1]
            previous, city = city, following
        nearest = np.inf
        other = -1
        for i in range(end_count):
            if ends[i] == previous:
                other = i  # the end of the path just added, which is no longer free
        if other >= 0:
            end_count -= 1
            ends[other] = ends[end_count]
        for i in range(end_count):
            d = distance(metric, previous, ends[i])
            if d < nearest:
                nearest, chosen = d, i
    return tour


@kernel
def _nearest_neighbour_matrix(matrix, neighbours, start):
    """Return the nearest-neighbour tour on a matrix; see `nearest_neighbour`."""
    n, k = neighbours.shape
    tour = np.empty(n, np.int32)
    visited = np.zeros(n, np.bool_)
    city = start
    for m in range(n):
        tour[m] = city
        visited[city] = True
        following = -1
        for c in range(k):
            if not visited[neighbours[city, c]]:
                following = neighbours[city, c]
                break
        if following < 0:
            best = np.inf
            for other in range(n):
                if not visited[other] and (following < 0 or matrix[city, other] < best):
                    best, following = matrix[city, other], other
        city = following
    return tour


@kernel
def _nearest_neighbour_points(metric, neighbours, start, tree):
    """Return the nearest-neighbour tour of points in a `live_tree`; see `nearest_neighbour`."""
    n, k = neighbours.shape
    tour = np.empty(n, np.int32)
    visited = np.zeros(n, np.bool_)
    stack = np.empty(128, np.int64)
    city = start
    for m in range(n):
        tour[m] = city
        visited[city] = True
        remove(tree, city)
        following = -1
        for c in range(k):
            if not visited[neighbours[city, c]]:
                following = neighbours[city, c]
                break
        city = following if following >= 0 else nearest_live(metric, tree, visited, city, stack)
    return tour


@kernel
def length_of(metric, tour):
    """Return the length of a closed tour, float64."""
    total = 0.0
    for i in range(len(tour)):
        total += distance(metric, tour[i - 1], tour[i])
    return total
