"""The nodes that a path can visit, numbered for the kernels, with neighbour lists and a bound."""

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
        """[N] the instance's node for each number here."""
        self.metric = _part(metric_of(instance), self.nodes)
        self.scores = instance.scores[self.nodes]
        if instance.closed:
            self.scores[-1] = 0.0

    @property
    def n(self) -> int:
        """The number of nodes, N."""
        return len(self.nodes)

    def neighbours(self, most: int) -> NDArray[np.int32]:
        """Return the nearest other nodes of each node, nearest first, int32 [N, K], K = min(most, N - 1)."""
        return nearest_cities(self.metric, min(most, self.n - 1))

    def path(self, following: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the instance's nodes along the path in which following[i] comes after node i (-1 after the last), int32 [k]."""
        order, at = [], 0
        while at >= 0:
            order.append(at)
            at = int(following[at])
        return self.nodes[order].astype(np.int32)

    def numbers(self, path: Any) -> NDArray[np.int32] | None:
        """Return the inner nodes of an instance's path in the numbers used here, int32 [k]; None if one of them has no number."""
        place = np.full(self.instance.n, -1)
        place[self.nodes[1:-1]] = np.arange(1, self.n - 1)
        inner = place[np.asarray(path)[1:-1]]
        return None if (inner < 0).any() else inner.astype(np.int32)


def _detour(instance: OrienteeringInstance) -> NDArray[np.float64]:
    """Return the distance from the start via each node to the end, float64 [n]."""
    graph, everyone = instance.graph, np.arange(instance.n)
    ways = [
        edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, np.full(instance.n, one), everyone)
        for one in (instance.start, instance.end)
    ]
    return ways[0] + ways[1]


def _part(metric: Metric, nodes: NDArray[np.int64]) -> Metric:
    """Return the metric of the given nodes, int64 [N]; the first and the last may be the same."""
    if metric.kind == EXPLICIT:
        return Metric(metric.kind, metric.points, np.ascontiguousarray(metric.matrix[np.ix_(nodes, nodes)]))
    return Metric(metric.kind, np.ascontiguousarray(metric.points[nodes]), metric.matrix)


def upper_bound(instance: OrienteeringInstance) -> float:
    """Return a proven upper bound: a knapsack's linear relaxation, in which visiting a node costs half its two shortest edges.

    Every inner node of a path has two edges, its ends have one each, and each edge belongs to two nodes. A closed tour of one
    node uses the same edge twice, and is considered separately. Nodes that no path within the limit can visit are left out if the
    distances obey the triangle inequality.
    """
    n = instance.n
    own = float(instance.scores[[*{instance.start, instance.end}]].sum())
    others = np.setdiff1d(np.arange(n), [instance.start, instance.end])
    limit = instance.limit * (1.0 + LIMIT)
    if instance.graph.edge_weight_type.startswith("EXACT"):  # rounded distances and matrices may break the inequality
        others = others[_detour(instance)[others] <= limit * (1.0 + 1e-12)]
    if not len(others):
        return own
    cost = _half_edges(instance)
    ends = cost[instance.start].sum() if instance.closed else cost[instance.start, 0] + cost[instance.end, 0]
    room, need, gain = max(0.0, limit - float(ends)), cost[others].sum(axis=1), instance.scores[others]
    order = np.argsort(-gain / np.maximum(need, 1e-300), kind="stable")
    filled = np.cumsum(need[order])
    full = int(np.searchsorted(filled, room, "right"))
    best = float(gain[order[:full]].sum())
    if full < len(order):
        before = float(filled[full - 1]) if full else 0.0
        best += float(gain[order[full]]) * (room - before) / float(need[order[full]])
    if instance.closed:
        best = max(best, float(gain.max()))
    bound = own + best * (1.0 + 1e-12)
    return float(np.floor(bound + 1e-6)) if instance.integral else bound


def _half_edges(instance: OrienteeringInstance) -> NDArray[np.float64]:
    """Return half the distances to the two nearest other nodes, float64 [n, 2]; of two nodes, the other one counts twice."""
    n, graph = instance.n, instance.graph
    near = nearest_cities(metric_of(instance), min(2, n - 1))
    tails = np.repeat(np.arange(n), near.shape[1])
    halves = edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, tails, near.ravel()).reshape(near.shape) / 2.0
    return np.sort(halves if near.shape[1] == 2 else np.repeat(halves, 2, axis=1), axis=1)
