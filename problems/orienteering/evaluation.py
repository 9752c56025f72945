"""The judge of solutions: the score and the length of a path, with the distances of corl.routing.edge_weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.routing.edge_weights import edge_lengths
from corl.routing.shortest_paths import dijkstra
from corl.tolerance import LIMIT, keeps

__all__ = ["check", "objective", "path_length", "shortest_path"]


def check(instance: OrienteeringInstance, solution: Any) -> NDArray[np.int64]:
    """Return `solution` as int64 [k], if it is a path from start to end within the limit that visits no node twice.

    A closed tour begins and ends with its start. Raises Infeasible, naming the first violated condition, with the file's ids.
    """
    try:
        path = np.asarray(solution)
    except ValueError:  # ragged
        raise Infeasible("a solution is a list of nodes") from None
    if path.ndim != 1 or path.dtype.kind not in "iu":
        raise Infeasible(f"a solution is a list of integers, not an array of {path.dtype} and shape {list(path.shape)}")
    path, ids = path.astype(np.int64), instance.graph.ids
    if (outside := (path < 0) | (path >= instance.n)).any():
        raise Infeasible(f"there is no node with index {path[outside.argmax()]}; accepted: 0 to {instance.n - 1}")
    ends = (ids[instance.start], ids[instance.end])
    if len(path) < 2 or (path[0], path[-1]) != (instance.start, instance.end):
        raise Infeasible(f"a path goes from node {ends[0]} to node {ends[1]}, both listed")
    inner = path[:-1] if instance.closed else path
    counts = np.bincount(inner, minlength=instance.n)
    if (counts > 1).any():
        raise Infeasible(f"node {ids[counts.argmax()]} is visited {counts.max()} times; accepted: once")
    length = path_length(instance, path)
    if not keeps(length, instance.limit):
        raise Infeasible(f"the path is {length:.10g} long; the limit is {instance.limit:.10g}")
    return path


def path_length(instance: OrienteeringInstance, path: NDArray[np.int64]) -> float:
    """Return the sum of the distances along a path, int64 [k]."""
    graph = instance.graph
    return math.fsum(edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, path[:-1], path[1:]).tolist())


def objective(instance: OrienteeringInstance, solution: Any) -> float:
    """Return the sum of the scores of all nodes on the path, each counted once. Raises Infeasible if the path is invalid."""
    path = check(instance, solution)
    return math.fsum(instance.scores[path[:-1] if instance.closed else path].tolist())


def shortest_path(instance: OrienteeringInstance) -> NDArray[np.int64] | None:
    """Return a path within the limit, int64 [k], whatever its score; None if every path is longer than the limit.

    The direct way is returned if it is short enough, otherwise the shortest path (Dijkstra): rounded distances and matrices need
    not satisfy the triangle inequality.
    """
    n, start, end, graph = instance.n, instance.start, instance.end, instance.graph
    direct = np.array([start, end])
    limit = instance.limit * (1.0 + LIMIT)
    if instance.closed or path_length(instance, direct) <= limit:
        return direct
    all_nodes = np.arange(n)

    def distances_from(node: int) -> NDArray[np.float64]:
        return edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, np.full(n, node), all_nodes)

    length, unvisited, before = distances_from(start), np.ones(n, bool), np.full(n, start)
    unvisited[start] = False
    for node in dijkstra(distances_from, length, unvisited, before):
        if length[node] > limit:
            return None
        if node == end:
            path = [end]
            while path[-1] != start:
                path.append(int(before[path[-1]]))
            return np.array(path[::-1])
    return None
