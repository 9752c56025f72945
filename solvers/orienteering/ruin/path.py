"""A path as linked nodes, with a journal to undo changes: kernels of `RuinRecreate`."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.routing.metric import Metric, distance

__all__ = ["Path", "insert", "new_path", "remove", "undo"]

LENGTH, SCORE = range(2)  # what `sums` holds


class Path(NamedTuple):
    """Node 0 is the first, node N - 1 the last; the others are on it or not."""

    metric: Metric
    scores: NDArray[np.float64]
    """[N]"""
    after: NDArray[np.int32]
    """[N] the next node; -1 of the last and of nodes that are not on the path."""
    before: NDArray[np.int32]
    """[N] likewise."""
    on: NDArray[np.bool_]
    """[N] whether a node is on the path."""
    ahead: NDArray[np.float64]
    """[N] the distance to the next node."""
    sums: NDArray[np.float64]
    """[2] length and score"""
    journal: NDArray[np.int32]
    """[J, 2] changes since `noted[0]` was 0: a node, and the node it stood behind if it was removed, or -1 if it was inserted."""
    noted: NDArray[np.int64]
    """[1] how many."""


def new_path(metric: Metric, scores: NDArray[np.float64], journal: int) -> Path:
    """Straight from the first node to the last."""
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
    """The distance, for callers that are not compiled."""
    return distance(metric, i, j)


@kernel(borrow=True)
def _link(path, node, behind):
    """Insert a node after another."""
    follower = path.after[behind]
    old = path.ahead[behind]
    path.after[behind], path.before[node] = node, behind
    path.after[node], path.before[follower] = follower, node
    path.ahead[behind] = distance(path.metric, behind, node)
    path.ahead[node] = distance(path.metric, node, follower)
    path.on[node] = True
    path.sums[LENGTH] += path.ahead[behind] + path.ahead[node] - old
    path.sums[SCORE] += path.scores[node]


@kernel(borrow=True)
def _unlink(path, node):
    """Remove a node; return its predecessor."""
    behind, follower = path.before[node], path.after[node]
    old = path.ahead[behind] + path.ahead[node]
    path.after[behind], path.before[follower] = follower, behind
    path.ahead[behind] = distance(path.metric, behind, follower)
    path.after[node] = path.before[node] = -1
    path.on[node] = False
    path.sums[LENGTH] += path.ahead[behind] - old
    path.sums[SCORE] -= path.scores[node]
    return behind


@kernel(borrow=True)
def insert(path, node, behind):
    """Insert a node after another, and record it in the journal."""
    path.journal[path.noted[0], 0], path.journal[path.noted[0], 1] = node, -1
    path.noted[0] += 1
    _link(path, node, behind)


@kernel(borrow=True)
def remove(path, node):
    """Take a node out, and note it."""
    path.journal[path.noted[0], 0] = node
    path.journal[path.noted[0], 1] = _unlink(path, node)
    path.noted[0] += 1


@kernel(borrow=True)
def undo(path, length, score):
    """Take back all changes in the journal; length and score are what they were then, without what rounding makes of them."""
    while path.noted[0] > 0:
        path.noted[0] -= 1
        node, behind = path.journal[path.noted[0], 0], path.journal[path.noted[0], 1]
        if behind < 0:
            _unlink(path, node)
        else:
            _link(path, node, behind)
    path.sums[LENGTH], path.sums[SCORE] = length, score
