"""The graphs of several instances in flat arrays, so that one pool of states may mix sizes and kinds of distances.

An environment of a routing problem has a `GraphPool` as the field `graphs` of its state; its kernels read the distances of an
instance through `graph_metric`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.routing.metric import EXPLICIT, Metric, distance
from corl.routing.neighbours import nearest_cities

__all__ = ["GraphPool", "distances_between", "graph_metric", "graph_pool", "offsets"]


class GraphPool(NamedTuple):
    """I graphs; n is the number of nodes of a graph."""

    kind: NDArray[np.int64]
    """[I] the metric's kind (corl.routing.metric)."""
    size: NDArray[np.int64]
    """[I] the number of nodes, n."""
    nodes_start: NDArray[np.int64]
    """[I] the index of a graph's first node in arrays [sum of n] that a problem adds, such as scores or demands."""
    points_start: NDArray[np.int64]
    """[I] the index of a graph's first node in `points`."""
    matrix_start: NDArray[np.int64]
    """[I] the index of the first of a graph's n * n distances in `matrix`."""
    listed: NDArray[np.int64]
    """[I] the length of a node's neighbour list."""
    lists_start: NDArray[np.int64]
    """[I] the index of a graph's first neighbour list in `lists`."""
    points: NDArray[np.float64]
    """[sum of n over graphs with coordinates, 3] the coordinates, as in `Metric.points`."""
    matrix: NDArray[np.float64]
    """[sum of n * n over graphs with a matrix] the distances, row by row."""
    lists: NDArray[np.int32]
    """[sum of n * listed] the nearest nodes of every node, nearest first."""


def graph_pool(metrics: Sequence[Metric], listed: int = 0, prices: Sequence[NDArray[np.float64] | None] = ()) -> GraphPool:
    """Return the pool of some graphs.

    Args:
        metrics: The metrics of the graphs.
        listed: The greatest length of a neighbour list.
        prices: For each graph None, or float64 [n]: the price of a node is subtracted from a matrix's distances to this node
            before the nearest nodes are listed.
    """
    size = np.array([len(metric.points) or len(metric.matrix) for metric in metrics], np.int64)
    lists = [
        nearest_cities(metric, min(n - 1, listed), priced)
        for metric, n, priced in zip(metrics, size.tolist(), prices or [None] * len(metrics), strict=True)
    ]
    return GraphPool(
        kind=np.array([metric.kind for metric in metrics], np.int64),
        size=size,
        nodes_start=offsets(size),
        points_start=offsets([len(metric.points) for metric in metrics]),
        matrix_start=offsets([metric.matrix.size for metric in metrics]),
        listed=np.array([array.shape[1] for array in lists], np.int64),
        lists_start=offsets([array.size for array in lists]),
        points=np.concatenate([metric.points for metric in metrics]),
        matrix=np.concatenate([metric.matrix.ravel() for metric in metrics]),
        lists=np.concatenate([array.ravel() for array in lists]),
    )


def offsets(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the start indices, int64, of consecutive parts with the given lengths."""
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)


@kernel(inline=True)
def graph_metric(graphs: Any, instance: Any) -> Any:
    """Return the Metric of one graph; its arrays are views of the pool's arrays."""
    n, kind, start = graphs.size[instance], graphs.kind[instance], graphs.matrix_start[instance]
    m = n if kind == EXPLICIT else 0
    first = graphs.points_start[instance]
    return Metric(kind, graphs.points[first : first + n], graphs.matrix[start : start + m * m].reshape((m, m)))


@kernel
def distances_between(metric: Any, nodes: Any, out: Any) -> None:
    """Write the distances between `nodes` [K] to `out`, float64 [K, K].

    Entries between a node and itself, and entries of nodes that are -1, are not written.
    """
    for i in range(len(nodes)):
        for j in range(i):
            if nodes[i] >= 0 and nodes[j] >= 0 and nodes[i] != nodes[j]:
                out[i, j] = distance(metric, nodes[i], nodes[j])
                out[j, i] = distance(metric, nodes[j], nodes[i]) if metric.kind == EXPLICIT else out[i, j]
