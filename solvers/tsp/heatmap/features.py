"""Features of an instance for the graph network: cities and their candidate edges in units of local distances.

Everything is relative to a city's neighbourhood, so that one network serves instances of any size, scale and place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import Metric, metric_of
from corl.solvers.tsp.construction.kernels import candidate_edges, join_edges, sorted_order
from corl.solvers.tsp.neighbours.candidates import neighbours

__all__ = ["CANDIDATES", "EDGES", "FEATURES", "NODES", "EdgeGraph", "edge_graph", "links_of", "readable", "symmetric", "turned"]

FEATURES = "candidate-edges"
"""The name of these features in the configuration of a network."""
NODES, EDGES = 3, 9
"""The numbers of features of a node and of an edge."""
# Columns of EdgeGraph.nodes and EdgeGraph.edges, explained there; the direction has two columns.
_NEAREST, _MEAN, _LISTS = range(NODES)
_TAIL, _HEAD, _LENGTH, _RANK, _RANK_BACK, _MUTUAL, _GREEDY, _DIRECTION, _ = range(EDGES)
CANDIDATES = 10
"""The number of candidate neighbours of a city: first its two nearest in each quadrant, then the nearest others. 1 edge in
3000 of optimal tours is not among the edges to these neighbours."""
_PER_QUADRANT = 2
_LONGEST = 4.0  # distances, in units of local mean distances, are clipped to this


class EdgeGraph(NamedTuple):
    """The candidate edges of n cities, K for each: the edge e = i K + c joins city i and its neighbour near[i, c]."""

    near: NDArray[np.int32]
    """[n, K] the candidate neighbours of each city, nearest first."""
    lengths: NDArray[np.float64]
    """[n, K] the distances to them."""
    nodes: NDArray[np.float32]
    """[n, NODES] features of city i, whose mean distance is the mean of lengths[i]. _NEAREST: its nearest distance over its mean
    distance. _MEAN: its mean distance over the mean of its neighbours' mean distances. _LISTS: in how many cities' lists it is,
    over K."""
    edges: NDArray[np.float32]
    """[n K, EDGES] features of the edge from i to j. _TAIL, _HEAD, _LENGTH: its length over the mean distance of i, over that of
    j, and over the nearest distance of i. _RANK, _RANK_BACK: the rank of j in the list of i, and of i in the list of j (K if
    it is not listed), over K. _MUTUAL: whether j lists i. _GREEDY: whether the paths of greedy edges contain it. _DIRECTION: the
    vector from i to j, two numbers, over the mean distance of i."""


def readable(instance: TspInstance) -> bool:
    """Return whether an instance has coordinates in the plane, from which the features are computed."""
    return instance.points is not None and instance.points.shape[1] == 2 and instance.edge_weight_type != "GEO" and instance.n > 3


def edge_graph(instance: TspInstance, metric: Metric | None = None) -> EdgeGraph:
    """Return the graph of an instance that is `readable`, in O(n K) time and memory.

    `metric` is the instance's metric, perhaps with renumbered cities; None: with the instance's own numbers.
    """
    metric = metric_of(instance) if metric is None else metric
    near, lengths = neighbours(instance, metric, CANDIDATES, _PER_QUADRANT)
    first, second, weight = candidate_edges(near, lengths)
    link, far = np.full((instance.n, 2), -1, np.int32), np.arange(instance.n, dtype=np.int32)
    join_edges(first, second, sorted_order(weight), link, far)
    return EdgeGraph(near, lengths, *_describe(metric, near, lengths, link))


def links_of(near: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the edges of the graph network's messages, (from, to) int64 [2, n K]: to each city from the cities in its list."""
    return np.stack((near.ravel(), np.repeat(np.arange(len(near)), near.shape[1]))).astype(np.int64)


def turned(edges: NDArray[np.float32], angle: float, mirrored: bool) -> NDArray[np.float32]:
    """Return the edge features, float32 [n K, EDGES], after mirroring the plane (if `mirrored`), then turning it by `angle`."""
    cosine, sine = np.cos(angle), np.sin(angle)
    turn = np.array([[cosine, -sine], [sine, cosine]]) @ np.diag([1.0, -1.0 if mirrored else 1.0])
    out = edges.copy()
    out[:, _DIRECTION:] = edges[:, _DIRECTION:] @ turn.T
    return out


@kernel
def symmetric(near: NDArray[np.int32], logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logits, float64 [n, K], in which an edge listed by both of its cities has the mean of its two logits."""
    n, k = near.shape
    out = np.empty((n, k))
    for i in range(n):
        for c in range(k):
            out[i, c] = logits[i, c]
            for back in range(k):
                if near[near[i, c], back] == i:
                    out[i, c] = 0.5 * (logits[i, c] + logits[near[i, c], back])
    return out


@kernel
def _describe(
    metric: Metric, near: NDArray[np.int32], lengths: NDArray[np.float64], link: NDArray[np.int32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return node and edge features, (float32 [n, NODES], float32 [n K, EDGES]).

    Args:
        metric: Metric of n cities.
        near: int32 [n, K], candidate neighbours, nearest first.
        lengths: float64 [n, K], their distances.
        link: int32 [n, 2], the neighbours of each city on the paths of greedy edges, -1 if it has fewer than two.
    """
    n, k = near.shape
    nodes, edges = np.zeros((n, NODES), np.float32), np.zeros((n * k, EDGES), np.float32)
    mean = np.empty(n)
    for i in range(n):
        mean[i] = max(lengths[i].mean(), 1e-300)
    for i in range(n):
        neighbours_mean = 0.0
        for c in range(k):
            j, e = near[i, c], i * k + c
            neighbours_mean += mean[j] / k
            nodes[j, _LISTS] += 1.0 / k
            edges[e, _TAIL] = min(_LONGEST, lengths[i, c] / mean[i])
            edges[e, _HEAD] = min(_LONGEST, lengths[i, c] / mean[j])
            edges[e, _LENGTH] = min(_LONGEST, lengths[i, c] / max(lengths[i, 0], 0.1 * mean[i]))
            edges[e, _RANK], edges[e, _RANK_BACK] = c / k, 1.0
            for back in range(k):
                if near[j, back] == i:
                    edges[e, _RANK_BACK], edges[e, _MUTUAL] = back / k, 1.0
            edges[e, _GREEDY] = link[i, 0] == j or link[i, 1] == j
            for axis in range(2):
                step = (metric.points[j, axis] - metric.points[i, axis]) / mean[i]
                edges[e, _DIRECTION + axis] = min(_LONGEST, max(-_LONGEST, step))
        nodes[i, _NEAREST] = lengths[i, 0] / mean[i]
        nodes[i, _MEAN] = min(_LONGEST, mean[i] / neighbours_mean)
    return nodes, edges
