"""The nodes that a path can visit, numbered for the kernels, their neighbours, and an upper bound on the score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.orienteering.metric import metric_of
from corl.routing.edge_weights import edge_lengths
from corl.routing.metric import EXPLICIT, Metric
from corl.routing.neighbours import nearest_cities
from corl.tolerance import LIMIT

__all__ = ["Space", "upper_bound"]


class Space:
    """The nodes that a path can visit, numbered 0..N-1.

    Node 0 is the start, node N - 1 the end (a copy of the start in a closed tour). Between them are the nodes with a positive
    score that a path within the limit can visit.
    """

    def __init__(self, instance: OrienteeringInstance) -> None:
        self.instance = instance
        self.limit = instance.limit * (1.0 + 0.5 * LIMIT)
        inner = np.flatnonzero((instance.scores > 0) & (_detour(instance) <= self.limit))
        inner = inner[(inner != instance.start) & (inner != instance.end)]
        self.nodes: NDArray[np.int64] = np.concatenate([[instance.start], inner, [instance.end]])
        """int64 [N]: the instance's node of each number."""
        self.metric = _submetric(metric_of(instance), self.nodes)
        self.scores = instance.scores[self.nodes]
        if instance.closed:
            self.scores[-1] = 0.0

    @property
    def n(self) -> int:
        """The number of nodes, N."""
        return len(self.nodes)

    def neighbours(self, most: int) -> NDArray[np.int32]:
        """Return the nearest other nodes of each node, nearest first, int32 [N, K] with K = min(most, N - 1)."""
        return nearest_cities(self.metric, min(most, self.n - 1))

    def path(self, following: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the instance's nodes along a path, int32 [k].

        following: int32 [N], the number of the node after each node; -1 after the last one.
        """
        order, at = [], 0
        while at >= 0:
            order.append(at)
            at = int(following[at])
        return self.nodes[order].astype(np.int32)

    def numbers(self, path: Any) -> NDArray[np.int32] | None:
        """Return the numbers of the nodes between start and end of `path`, int32 [k]; None if one of these nodes has no number.

        path: The instance's nodes along a path.
        """
        number_of = np.full(self.instance.n, -1)
        number_of[self.nodes[1:-1]] = np.arange(1, self.n - 1)
        inner = number_of[np.asarray(path)[1:-1]]
        return None if (inner < 0).any() else inner.astype(np.int32)


def _detour(instance: OrienteeringInstance) -> NDArray[np.float64]:
    """Return float64 [n]: the distance from the start via each node to the end."""
    graph, all_nodes = instance.graph, np.arange(instance.n)
    distances = [
        edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, np.full(instance.n, terminal), all_nodes)
        for terminal in (instance.start, instance.end)
    ]
    return distances[0] + distances[1]


def _submetric(metric: Metric, nodes: NDArray[np.int64]) -> Metric:
    """Return the metric of the given nodes, int64 [N], numbered 0..N-1; the first and the last node may be the same."""
    if metric.kind == EXPLICIT:
        return Metric(metric.kind, metric.points, np.ascontiguousarray(metric.matrix[np.ix_(nodes, nodes)]))
    return Metric(metric.kind, np.ascontiguousarray(metric.points[nodes]), metric.matrix)


def upper_bound(instance: OrienteeringInstance) -> float:
    """Return a proven upper bound on the score: the linear relaxation of a knapsack problem.

    In this knapsack, the capacity is the limit, and the weight of a node is half the sum of its two shortest edges: on a path,
    every node but the ends has two edges, each end has one, and each edge belongs to two nodes. A closed tour that visits one
    node uses the same edge twice, and is considered separately. If distances satisfy the triangle inequality, nodes that no path
    within the limit can visit are ignored.
    """
    n = instance.n
    end_scores = float(instance.scores[[*{instance.start, instance.end}]].sum())
    others = np.setdiff1d(np.arange(n), [instance.start, instance.end])
    limit = instance.limit * (1.0 + LIMIT)
    if instance.graph.edge_weight_type.startswith("EXACT"):  # other types of distances may violate the triangle inequality
        others = others[_detour(instance)[others] <= limit * (1.0 + 1e-12)]
    if not len(others):
        return end_scores
    cost = _half_edges(instance)
    ends_cost = cost[instance.start].sum() if instance.closed else cost[instance.start, 0] + cost[instance.end, 0]
    length_left, costs, gains = max(0.0, limit - float(ends_cost)), cost[others].sum(axis=1), instance.scores[others]
    order = np.argsort(-gains / np.maximum(costs, 1e-300), kind="stable")
    used_length = np.cumsum(costs[order])
    whole_count = int(np.searchsorted(used_length, length_left, "right"))
    best = float(gains[order[:whole_count]].sum())
    if whole_count < len(order):
        before = float(used_length[whole_count - 1]) if whole_count else 0.0
        best += float(gains[order[whole_count]]) * (length_left - before) / float(costs[order[whole_count]])
    if instance.closed:
        best = max(best, float(gains.max()))
    bound = end_scores + best * (1.0 + 1e-12)
    return float(np.floor(bound + 1e-6)) if instance.integral else bound


def _half_edges(instance: OrienteeringInstance) -> NDArray[np.float64]:
    """Return float64 [n, 2]: half the distances to the two nearest other nodes. If n is 2, the other node counts twice."""
    n, graph = instance.n, instance.graph
    near = nearest_cities(metric_of(instance), min(2, n - 1))
    tails = np.repeat(np.arange(n), near.shape[1])
    halves = edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, tails, near.ravel()).reshape(near.shape) / 2.0
    return np.sort(halves if near.shape[1] == 2 else np.repeat(halves, 2, axis=1), axis=1)
