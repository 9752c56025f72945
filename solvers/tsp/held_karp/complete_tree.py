"""Minimum spanning trees of complete graphs under node penalties pi: weight(i, j) = distance(i, j) + (pi[i] + pi[j]).

For points, Boruvka's algorithm with a tree of bounding boxes (exact, in O(n) memory); for a matrix, Prim's algorithm. Boruvka's
algorithm grows a forest, whose components are called parts here: in each round every part gets the lightest edge that leaves it.
Both algorithms can be interrupted: a call does a part of the work, and all state is kept in arrays.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.union_find import find, number_sets
from corl.problems.tsp.metric import ATT, CEIL, EUCLIDEAN, GEO, MANHATTAN, ROUNDED, distance

__all__ = ["Boxes", "Forest", "boxes", "fit", "forest", "grow", "prim"]

_LEAF = 8  # points per leaf of the tree of boxes


class Boxes(NamedTuple):
    """A balanced binary tree over points in the order of a space-filling curve.

    Node q has the children 2q and 2q + 1, and node 1 is the root. Leaf number b, node `leaves` + b, holds points 8b .. 8b + 7.
    """

    low: NDArray[np.float64]
    """[2 * leaves, 3]: the lower corner of each bounding box; +inf if it is empty."""
    high: NDArray[np.float64]
    """[2 * leaves, 3]: the upper corner; -inf if it is empty."""
    penalty: NDArray[np.float64]
    """[2 * leaves]: the smallest penalty of a point in the box."""
    part: NDArray[np.int32]
    """[2 * leaves]: the part to which all points in the box belong; -1 if they belong to several, -2 if the box is empty."""


class Forest(NamedTuple):
    """A minimum spanning forest that grows to a tree: the state of `grow`."""

    part: NDArray[np.int32]
    """[n]: the part to which each point belongs, 0..counts[0]-1."""
    best: NDArray[np.float64]
    """[n]: for each part, the weight of the lightest edge found that leaves the part."""
    ends: NDArray[np.int32]
    """[n, 2]: for each part, the point inside and the point outside of the edge of `best`."""
    proven: NDArray[np.float64]
    """[n]: for each point, a proven lower bound on the weights of its edges that leave its part."""
    edges: NDArray[np.int32]
    """[n - 1, 2]: the edges of the forest; the first counts[1] are valid."""
    counts: NDArray[np.int64]
    """[3]: the number of parts, the number of edges, the next point to examine."""


def boxes(n: int) -> Boxes:
    """Return the memory for a tree over n points; `fit` fills it."""
    leaves = 1
    while leaves * _LEAF < n:
        leaves *= 2
    return Boxes(np.empty((2 * leaves, 3)), np.empty((2 * leaves, 3)), np.empty(2 * leaves), np.empty(2 * leaves, np.int32))


def forest(n: int) -> Forest:
    """Return the forest of n points without edges."""
    return Forest(
        np.arange(n, dtype=np.int32), np.full(n, np.inf), np.full((n, 2), -1, np.int32), np.full(n, -np.inf),
        np.empty((max(n - 1, 0), 2), np.int32), np.array([n, 0, 0], np.int64),
    )  # fmt: skip


@kernel
def fit(tree, points, pi):
    """Fill the boxes and the smallest penalties of a tree over `points` [n, 3]."""
    n, leaves = len(points), len(tree.low) // 2
    for q in range(2 * leaves - 1, 0, -1):
        for x in range(3):
            tree.low[q, x], tree.high[q, x] = np.inf, -np.inf
        tree.penalty[q] = np.inf
        if q >= leaves:
            for i in range((q - leaves) * _LEAF, min(n, (q - leaves + 1) * _LEAF)):
                for x in range(3):
                    tree.low[q, x] = min(tree.low[q, x], points[i, x])
                    tree.high[q, x] = max(tree.high[q, x], points[i, x])
                tree.penalty[q] = min(tree.penalty[q], pi[i])
        else:
            for child in (2 * q, 2 * q + 1):
                for x in range(3):
                    tree.low[q, x] = min(tree.low[q, x], tree.low[child, x])
                    tree.high[q, x] = max(tree.high[q, x], tree.high[child, x])
                tree.penalty[q] = min(tree.penalty[q], tree.penalty[child])


@kernel
def _colour(tree, part):
    """Set the part of every box, from the part of each point, int32 `part` [n]."""
    n, leaves = len(part), len(tree.low) // 2
    for q in range(2 * leaves - 1, 0, -1):
        common = -2
        if q >= leaves:
            for i in range((q - leaves) * _LEAF, min(n, (q - leaves + 1) * _LEAF)):
                common = part[i] if common == -2 or common == part[i] else -1
        else:
            a, b = tree.part[2 * q], tree.part[2 * q + 1]
            common = b if a == -2 else (a if b == -2 or b == a else -1)
        tree.part[q] = common


@kernel(inline=True)
def _gap(metric, tree, i, q):
    """Return a lower bound on the distance of point i to any point in box q.

    Every kind of distance grows with the gaps between coordinates, and floating-point operations preserve this order. The points
    of GEO are unit vectors; its arc is computed from the chord, with a margin for the rounding of the cosine.
    """
    p = metric.points
    x = max(0.0, tree.low[q, 0] - p[i, 0], p[i, 0] - tree.high[q, 0])
    y = max(0.0, tree.low[q, 1] - p[i, 1], p[i, 1] - tree.high[q, 1])
    z = max(0.0, tree.low[q, 2] - p[i, 2], p[i, 2] - tree.high[q, 2])
    kind = metric.kind
    if kind <= CEIL:
        d = math.sqrt(x * x + y * y + z * z)
        if kind == EUCLIDEAN:
            return d
        return math.floor(d + 0.5) if kind == ROUNDED else math.ceil(d)
    if kind == ATT:
        return math.ceil(math.sqrt((x * x + y * y) / 10.0))
    if kind == MANHATTAN:
        return math.floor(x + y + z + 0.5)
    if kind == GEO:
        cosine = 1.0 - 0.5 * (x * x + y * y + z * z) + 1e-14
        return math.floor(6378.388 * math.acos(min(1.0, max(-1.0, cosine))) + 1.0)
    return max(math.floor(x + 0.5), math.floor(y + 0.5), math.floor(z + 0.5))


@kernel
def _shortest_out(metric, tree, pi, state, i, slack, stack):
    """Search for an edge from point i that leaves its part and is lighter than the part's best; update `best` and `proven`.

    Args:
        metric: Metric of n points.
        tree: Boxes, fitted and with parts.
        pi: float64 [n], penalties.
        state: Forest.
        i: The point.
        slack: A margin for rounding errors of the boxes' lower bounds.
        stack: int64 [80], work array, overwritten.
    """
    leaves, n = len(tree.low) // 2, len(pi)
    own = state.part[i]
    limit = state.best[own]
    top = 1
    stack[0] = 1
    while top:
        top -= 1
        q = stack[top]
        if tree.part[q] == own or tree.part[q] == -2 or _gap(metric, tree, i, q) + (pi[i] + tree.penalty[q]) - slack >= limit:
            continue
        if q < leaves:
            right_is_nearer = _gap(metric, tree, i, 2 * q) > _gap(metric, tree, i, 2 * q + 1)
            stack[top], stack[top + 1] = 2 * q + (not right_is_nearer), 2 * q + right_is_nearer  # the nearer child on top
            top += 2
            continue
        for j in range((q - leaves) * _LEAF, min(n, (q - leaves + 1) * _LEAF)):
            if state.part[j] != own:
                w = distance(metric, i, j) + (pi[i] + pi[j])
                if w < limit:
                    limit = w
                    state.ends[own, 0], state.ends[own, 1] = i, j
    state.best[own] = state.proven[i] = limit


@kernel
def grow(metric, tree, pi, u, v, d, state, slack, most):
    """Continue Boruvka's algorithm on the complete graph, in place; return whether the tree is complete.

    Args:
        metric: Metric of n points.
        tree: Boxes, fitted.
        pi: float64 [n], penalties.
        u: int32 [m], first ends of the edges of a sparse graph, from which each part gets its initial best edge.
        v: int32 [m], second ends.
        d: float64 [m], the distances between the two ends.
        state: Forest.
        slack: A margin for rounding errors of the boxes' lower bounds.
        most: The greatest number of points that this call examines. A round of the algorithm examines all n points, if need be
            in several calls; parts are joined when point n - 1 has been examined.
    """
    n = len(pi)
    parts, first = state.counts[0], state.counts[2]
    if parts == 1:
        return True
    if first == 0:
        state.best[:parts] = np.inf
        for e in range(len(u)):
            a, b = state.part[u[e]], state.part[v[e]]
            if a != b:
                w = d[e] + (pi[u[e]] + pi[v[e]])
                if w < state.best[a]:
                    state.best[a] = w
                    state.ends[a, 0], state.ends[a, 1] = u[e], v[e]
                if w < state.best[b]:
                    state.best[b] = w
                    state.ends[b, 0], state.ends[b, 1] = u[e], v[e]
        _colour(tree, state.part)
    stack = np.empty(80, np.int64)
    last = min(n, first + most)
    for i in range(first, last):
        if state.proven[i] < state.best[state.part[i]]:
            _shortest_out(metric, tree, pi, state, i, slack, stack)
    state.counts[2] = last
    if last < n:
        return False
    state.counts[2] = 0
    _join(state)
    return state.counts[0] == 1


@kernel
def _join(state):
    """End a round: add each part's best edge to the forest and renumber the parts."""
    parts = state.counts[0]
    root, name = np.empty(parts, np.int32), np.empty(parts, np.int32)
    for c in range(parts):
        root[c] = c
    for c in range(parts):
        if state.best[c] < np.inf:
            i, j = state.ends[c, 0], state.ends[c, 1]
            a, b = find(root, state.part[i]), find(root, state.part[j])
            if a != b:
                root[max(a, b)] = min(a, b)
                k = state.counts[1]
                state.edges[k, 0], state.edges[k, 1] = i, j
                state.counts[1] = k + 1
    state.counts[0] = number_sets(root, name, parts)
    for i in range(len(state.part)):
        state.part[i] = name[state.part[i]]


# ---------------------------------------------------------------- the complete graph of a matrix
@kernel
def prim(metric, pi, closest, parent, edges, count, most):
    """Continue Prim's algorithm on the complete graph, in place; return whether the tree is complete.

    Args:
        metric: Metric of n cities.
        pi: float64 [n], penalties.
        closest: float64 [n], for each city the weight of the lightest edge to the tree; +inf at first.
        parent: int32 [n], for each city the end in the tree of that edge; -1 at first, -2 for cities in the tree.
        edges: int32 [n - 1, 2], receives the tree's edges.
        count: int64 [2], the number of cities in the tree, and the city added last; zeros at first.
        most: The greatest number of cities that this call adds.
    """
    n = len(pi)
    if count[0] == 0:
        parent[0] = -2
        count[0], count[1] = 1, 0
    for _ in range(most):
        if count[0] == n:
            break
        last = count[1]
        nearest, least = -1, np.inf
        for j in range(n):
            if parent[j] != -2:
                w = distance(metric, last, j) + (pi[last] + pi[j])
                if w < closest[j]:
                    closest[j], parent[j] = w, last
                if closest[j] < least:
                    nearest, least = j, closest[j]
        edges[count[0] - 1, 0], edges[count[0] - 1, 1] = parent[nearest], nearest
        parent[nearest] = -2
        count[0], count[1] = count[0] + 1, nearest
    return count[0] == n
