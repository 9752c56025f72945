"""A path as a doubly linked list of nodes, with a journal for undoing changes: kernels of `RuinRecreate`."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.routing.metric import Metric, distance

__all__ = ["Path", "insert", "new_path", "remove", "undo"]

LENGTH, SCORE = range(2)  # indices of Path.sums


class Path(NamedTuple):
    """A path from node 0 to node N - 1 that visits some of the other nodes."""

    metric: Metric
    """The distances between the N nodes."""
    scores: NDArray[np.float64]
    """[N] the scores of the nodes."""
    after: NDArray[np.int32]
    """[N] the next node; -1 for the last node and for nodes that are not on the path."""
    before: NDArray[np.int32]
    """[N] the previous node; -1 for the first node and for nodes that are not on the path."""
    on: NDArray[np.bool_]
    """[N] whether the node is on the path."""
    ahead: NDArray[np.float64]
    """[N] the distance from the node to the next node."""
    sums: NDArray[np.float64]
    """[2] the length and the score of the path."""
    journal: NDArray[np.int32]
    """[J, 2] the first `noted[0]` rows are the changes to be undone: (removed node, its predecessor) or (inserted node, -1)."""
    noted: NDArray[np.int64]
    """[1] the number of changes in the journal."""


def new_path(metric: Metric, scores: NDArray[np.float64], journal: int) -> Path:
    """Return the direct path from the first node to the last, with room for `journal` changes in its journal."""
    n = len(scores)
    after, before = np.full((2, n), -1, np.int32)
    after[0], before[n - 1] = n - 1, 0
    on = np.zeros(n, bool)
    on[[0, n - 1]] = True
    ahead = np.zeros(n)
    ahead[0] = direct = float(_between(metric, 0, n - 1))
    sums = np.array([direct, scores[0] + scores[n - 1]])
    return Path(metric, scores, after, before, on, ahead, sums, np.zeros((journal, 2), np.int32), np.zeros(1, np.int64))


@kernel
def _between(metric, i, j):
    """Return the distance from i to j, for callers that are not compiled."""
    return distance(metric, i, j)


@kernel(borrow=True)
def _link(path, node, predecessor):
    """Insert a node after `predecessor`, in place."""
    successor = path.after[predecessor]
    old = path.ahead[predecessor]
    path.after[predecessor], path.before[node] = node, predecessor
    path.after[node], path.before[successor] = successor, node
    path.ahead[predecessor] = distance(path.metric, predecessor, node)
    path.ahead[node] = distance(path.metric, node, successor)
    path.on[node] = True
    path.sums[LENGTH] += path.ahead[predecessor] + path.ahead[node] - old
    path.sums[SCORE] += path.scores[node]


@kernel(borrow=True)
def _unlink(path, node):
    """Remove a node, in place; return its predecessor."""
    predecessor, successor = path.before[node], path.after[node]
    old = path.ahead[predecessor] + path.ahead[node]
    path.after[predecessor], path.before[successor] = successor, predecessor
    path.ahead[predecessor] = distance(path.metric, predecessor, successor)
    path.after[node] = path.before[node] = -1
    path.on[node] = False
    path.sums[LENGTH] += path.ahead[predecessor] - old
    path.sums[SCORE] -= path.scores[node]
    return predecessor


@kernel(borrow=True)
def insert(path, node, predecessor):
    """Insert a node after `predecessor`, in place, and record the change in the journal."""
    path.journal[path.noted[0], 0], path.journal[path.noted[0], 1] = node, -1
    path.noted[0] += 1
    _link(path, node, predecessor)


@kernel(borrow=True)
def remove(path, node):
    """Remove a node, in place, and record the change in the journal."""
    path.journal[path.noted[0], 0] = node
    path.journal[path.noted[0], 1] = _unlink(path, node)
    path.noted[0] += 1


@kernel(borrow=True)
def undo(path, length, score):
    """Undo all changes in the journal, in place.

    length, score: The path's length and score before the changes, which are restored without rounding errors.
    """
    while path.noted[0] > 0:
        path.noted[0] -= 1
        node, predecessor = path.journal[path.noted[0], 0], path.journal[path.noted[0], 1]
        if predecessor < 0:
            _unlink(path, node)
        else:
            _link(path, node, predecessor)
    path.sums[LENGTH], path.sums[SCORE] = length, score
