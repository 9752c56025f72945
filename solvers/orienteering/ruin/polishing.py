"""Improvement of a path without ruin: it is shortened, and nodes that still fit are inserted; kernels of `RuinRecreate`."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.solvers.orienteering.ruin.path import LENGTH, insert
from corl.solvers.orienteering.ruin.positions import cheapest
from corl.solvers.orienteering.ruin.shortening import shorten

__all__ = ["polish"]

_MOST_ADDED = 4  # greatest number of nodes that a call inserts
_LEAST_DETOUR = 1e-9  # shorter detours, which rounded distances may even make negative, count as this


@kernel(borrow=True)
def polish(search, limit):
    """Shorten the path, in place, and insert up to four nodes that still fit, the greatest score per detour first.

    A node whose score is less than the charge for its detour is inserted too: at the end, length that is left has no other use.

    Args:
        search: PathSearch. Its path changes and its journal is emptied, so that the change cannot be undone.
        limit: The greatest length of the path.
    """
    path = search.path
    shorten(path, search.neighbours, search.lengths, search.order)
    for _ in range(_MOST_ADDED):
        greatest, chosen, place = 0.0, -1, 0
        for node in range(1, len(path.scores) - 1):
            if path.on[node] or not _is_near(search, node):
                continue
            detour, predecessor = cheapest(search, node)
            ratio = path.scores[node] / max(detour, _LEAST_DETOUR)
            if path.sums[LENGTH] + detour <= limit and ratio > greatest:
                greatest, chosen, place = ratio, node, predecessor
        path.noted[0] = 0
        if chosen < 0:
            break
        insert(path, chosen, place)


@kernel(inline=True, borrow=True)
def _is_near(search, node):
    """Return whether a neighbour of the node is on the path."""
    found = False
    for k in range(search.neighbours.shape[1]):
        found = found or search.path.on[search.neighbours[node, k]]
    return found
