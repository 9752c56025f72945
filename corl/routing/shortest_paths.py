"""Shortest paths on a complete graph whose distances are computed a row at a time.

E. W. Dijkstra, A note on two problems in connexion with graphs, Numerische Mathematik 1, 1959, without a queue: O(n) NumPy work
per settled node, which no heap improves on where every node has an arc to every other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["dijkstra"]


def dijkstra(
    row: Callable[[int], NDArray[np.float64]],
    length: NDArray[np.float64],
    left: NDArray[np.bool_],
    before: NDArray[np.int64] | None = None,
) -> Iterator[int]:
    """Yield the nodes that can be reached, the nearest first, each before its arcs are used, so that a caller may stop there.

    Args:
        row: row(i) is float64 [n], the lengths of the arcs from node i, at least 0; infinite if there is no arc.
        length: float64 [n], at first the arcs from the start of all paths; in place, the shortest lengths found so far.
            They are final for the nodes yielded, and for all nodes after the last one.
        left: bool [n], the nodes to visit, without the start; in place, those whose arcs were not used yet.
        before: int64 [n] or None; in place, the predecessor of each node on its path. Nodes reached from the start keep theirs.

    Yields:
        The next node.
    """
    while left.any():
        nearest = int(np.where(left, length, np.inf).argmin())
        if not left[nearest] or length[nearest] == np.inf:
            break
        yield nearest
        left[nearest] = False
        through = length[nearest] + row(nearest)
        shorter = through < length
        length[shorter] = through[shorter]
        if before is not None:
            before[shorter] = nearest
