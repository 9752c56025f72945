"""Minimum 1-trees of sparse graphs under node penalties pi: weight(i, j) = distance(i, j) + (pi[i] + pi[j]).

The 1-trees are those of Helsgaun, EJOR 126, 2000, section 4: a minimum spanning tree plus the second shortest edge of one of its
leaves, the leaf for which that edge is longest. The subgradient ascent (bound.py) spends most of its time on the spanning trees.
They are found by Boruvka's algorithm on an edge list. A part is a component of the growing forest; in each round every part takes
the lightest edge that leaves it, and the parts joined by these edges become one part:

    a--1--b--5--c--2--d        round 1: a, b take (a b); c, d take (c d)        parts {a b}, {c d}
    +--------3--------+        round 2: both parts take (a d)                   part {a b c d}
                               leaves b, c: their second shortest edge is (b c), which the 1-tree adds
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.union_find import find, number_sets

__all__ = ["sparse_tree"]


@kernel
def sparse_tree(
    u: NDArray[np.int32],
    v: NDArray[np.int32],
    d: NDArray[np.float64],
    pi: NDArray[np.float64],
    edge_u: NDArray[np.int32],
    edge_v: NDArray[np.int32],
    edge_w: NDArray[np.float64],
    best: NDArray[np.int32],
    name: NDArray[np.int32],
    degree: NDArray[np.int32],
) -> float:
    """Return the weight of the minimum 1-tree of a connected sparse graph under penalties pi; 2 sum(pi) is not subtracted.

    The 1-tree is a minimum spanning tree plus the longest of its leaves' second shortest edges (Helsgaun 2000, section 4).

    Args:
        u: int32 [m], first ends of the edges.
        v: int32 [m], second ends.
        d: float64 [m], the distances between the two ends.
        pi: float64 [n], the penalties.
        edge_u: int32 [m], work array, overwritten: the part of each remaining edge's first end.
        edge_v: int32 [m], work array, overwritten: the part of its second end.
        edge_w: float64 [m], work array, overwritten: its weight.
        best: int32 [n], work array, overwritten: the lightest edge that leaves each part.
        name: int32 [n], work array, overwritten: the new number of each part after a round.
        degree: int32 [n], receives the degree of each city in the 1-tree.
    """
    n = len(pi)
    second, other = np.empty(n), np.empty(n, np.int32)
    _weigh_edges(u, v, d, pi, edge_u, edge_v, edge_w, best, second, other)
    for i in range(n):
        degree[i] = 0
    original = np.empty(len(u), np.int32)
    for e in range(len(u)):
        original[e] = e
    root = np.empty(n, np.int32)
    total, parts, edge_count = 0.0, n, len(u)
    while parts > 1:
        total, joined = _join_parts(u, v, edge_u, edge_v, edge_w, original, best, root, parts, degree, total)
        if joined == 0:
            break
        parts = number_sets(root, name, parts)
        edge_count = _contract(edge_u, edge_v, edge_w, original, best, name, parts, edge_count)
    leaf = _farthest_leaf(degree, second)
    if leaf >= 0:
        total += second[leaf]
        degree[leaf] += 1
        degree[other[leaf]] += 1
    return total


@kernel
def _weigh_edges(
    u: NDArray[np.int32],
    v: NDArray[np.int32],
    d: NDArray[np.float64],
    pi: NDArray[np.float64],
    edge_u: NDArray[np.int32],
    edge_v: NDArray[np.int32],
    edge_w: NDArray[np.float64],
    best: NDArray[np.int32],
    second: NDArray[np.float64],
    other: NDArray[np.int32],
) -> None:
    """Fill edge_u, edge_v and edge_w with the edges and their weights under the penalties.

    `best` [n] receives each city's shortest edge, -1 if it has none; `second` and `other` [n] receive the weight and the far end
    of its second shortest edge, inf and -1 if it has no second one.
    """
    n = len(pi)
    first = np.empty(n)
    nearest = np.empty(n, np.int32)  # the far end of the edge with weight `first`
    for i in range(n):
        first[i] = second[i] = np.inf
        best[i] = nearest[i] = other[i] = -1
    for e in range(len(u)):
        i, j = u[e], v[e]
        w = d[e] + (pi[i] + pi[j])
        edge_u[e], edge_v[e], edge_w[e] = i, j, w
        if w < first[i]:
            second[i], other[i], first[i], nearest[i], best[i] = first[i], nearest[i], w, j, e
        elif w < second[i]:
            second[i], other[i] = w, j
        if w < first[j]:
            second[j], other[j], first[j], nearest[j], best[j] = first[j], nearest[j], w, i, e
        elif w < second[j]:
            second[j], other[j] = w, i


@kernel
def _join_parts(
    u: NDArray[np.int32],
    v: NDArray[np.int32],
    edge_u: NDArray[np.int32],
    edge_v: NDArray[np.int32],
    edge_w: NDArray[np.float64],
    original: NDArray[np.int32],
    best: NDArray[np.int32],
    root: NDArray[np.int32],
    parts: int,
    degree: NDArray[np.int32],
    total: float,
) -> tuple[float, int]:
    """Take the best edge of each part into the tree, unless it closes a cycle.

    Sets `root` to the union-find forest of the joined parts (corl.kernels.union_find) and updates `degree`. Returns `total` plus
    the weights of the edges taken, and the number of these edges.
    """
    for c in range(parts):
        root[c] = c
    joined = 0
    for c in range(parts):
        e = best[c]
        if e < 0:
            continue
        a, b = find(root, edge_u[e]), find(root, edge_v[e])
        if a != b:
            root[max(a, b)] = min(a, b)
            total += edge_w[e]
            degree[u[original[e]]] += 1
            degree[v[original[e]]] += 1
            joined += 1
    return total, joined


@kernel
def _contract(
    edge_u: NDArray[np.int32],
    edge_v: NDArray[np.int32],
    edge_w: NDArray[np.float64],
    original: NDArray[np.int32],
    best: NDArray[np.int32],
    name: NDArray[np.int32],
    parts: int,
    edge_count: int,
) -> int:
    """Keep those of the first `edge_count` edges that join different parts, with ends renumbered by `name`; return their number.

    `best` becomes the lightest edge kept for each of the new parts, -1 for a part without edges.
    """
    for c in range(parts):
        best[c] = -1
    kept = 0
    for e in range(edge_count):
        a, b = name[edge_u[e]], name[edge_v[e]]
        if a != b:
            w = edge_w[e]
            edge_u[kept], edge_v[kept], edge_w[kept], original[kept] = a, b, w, original[e]
            if best[a] < 0 or w < edge_w[best[a]]:
                best[a] = kept
            if best[b] < 0 or w < edge_w[best[b]]:
                best[b] = kept
            kept += 1
    return kept


@kernel
def _farthest_leaf(degree: NDArray[np.int32], second: NDArray[np.float64]) -> int:
    """Return the leaf whose second shortest edge is the longest; -1 if no leaf has a second edge."""
    leaf, longest = -1, -np.inf
    for i in range(len(degree)):
        if degree[i] == 1 and second[i] < np.inf and second[i] > longest:
            leaf, longest = i, second[i]
    return leaf
