"""Shortest paths on a complete graph whose distances are computed row by row.

E. W. Dijkstra, A note on two problems in connexion with graphs, Numerische Mathematik 1, 1959, without a heap: each node takes
O(n) NumPy operations, and a heap would not be faster on a complete graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["dijkstra"]


def dijkstra(
    row: Callable[[int], NDArray[np.float64]],
    length: NDArray[np.float64],
    unvisited: NDArray[np.bool_],
    before: NDArray[np.int64] | None = None,
) -> Iterator[int]:
    """Yield the nodes that can be reached, nearest first. A node is yielded before the arcs from it are used.

    Args:
        row: row(i) is float64 [n], the lengths of the arcs from node i, at least 0; infinite if there is no arc.
        length: float64 [n], at first the lengths of the arcs from the start; in place, the lengths of the shortest paths found so
            far. They are final for the nodes yielded and, when the iterator ends, for all nodes.
        unvisited: bool [n], at first the nodes to visit, without the start; in place, the nodes whose arcs were not used yet.
        before: int64 [n] or None; in place, the predecessor of each node on its path. The entry of a node whose path is the arc
            from the start is not changed.

    Yields:
        The next node.
    """
    while unvisited.any():
        nearest = int(np.where(unvisited, length, np.inf).argmin())
        if not unvisited[nearest] or length[nearest] == np.inf:
            break
        yield nearest
        unvisited[nearest] = False
        through = length[nearest] + row(nearest)
        shorter = through < length
        length[shorter] = through[shorter]
        if before is not None:
            before[shorter] = nearest
