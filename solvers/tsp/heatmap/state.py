"""What the search holds: the tour as an array with its inverse, sparse edge weights and visits, and a log to undo."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["LOG", "Mcts", "log_is_full", "new_mcts", "reverse_path", "set_tour", "undo"]

LOG = 1 << 16
"""Integers in the log of reversals; a kick and its repair make some tens."""


class Mcts(NamedTuple):
    """The state of a search over n cities with K candidates each; kernels go on from it."""

    near: NDArray[np.int32]
    """[n, K] other ends of the edges that have weights, the heaviest first."""
    lengths: NDArray[np.float64]
    """[n, K] of these edges."""
    weight: NDArray[np.float64]
    """[n, K] W, kept symmetric in what is learned."""
    total: NDArray[np.float64]
    """[n] the sum of each row of W."""
    visits: NDArray[np.int32]
    """[n, K] Q: how often an action linked city i to near[i, c]."""
    order: NDArray[np.int32]
    """[n] the tour, always a permutation."""
    position: NDArray[np.int32]
    """[n] its inverse."""
    log: NDArray[np.int32]
    """[LOG] pairs (first position, cities reversed)."""
    ends: NDArray[np.int32]
    """[2 D + 4] a_1, b_1, a_2, b_2, ... of the action at hand."""
    choice: NDArray[np.float64]
    """[K] Z of the candidates at hand."""
    queue: NDArray[np.int32]
    """[n] a ring of cities to begin actions at."""
    queued: NDArray[np.bool_]
    """[n]"""
    length: NDArray[np.float64]
    """[2] of the tour, and of the best one."""
    best: NDArray[np.int32]
    """[n] the best tour, where it is another one than `order`."""
    counts: NDArray[np.int64]
    """[8] M; integers in the log; first in the queue, cities in it; pairs in `ends`; phase, cursor, tries of an episode."""
    random: NDArray[np.uint64]
    """[1]"""


def new_mcts(
    near: NDArray[np.int32],
    lengths: NDArray[np.float64],
    weight: NDArray[np.float64],
    depth: int,
    random: NDArray[np.uint64],
) -> Mcts:
    """A search whose tour is 0, 1, 2, ..., of unknown length (inf)."""
    n, k = near.shape
    return Mcts(
        near=near,
        lengths=lengths,
        weight=weight.copy(),
        total=weight.sum(1),
        visits=np.zeros((n, k), np.int32),
        order=np.arange(n, dtype=np.int32),
        position=np.arange(n, dtype=np.int32),
        log=np.zeros(LOG, np.int32),
        ends=np.zeros(2 * depth + 4, np.int32),
        choice=np.zeros(k),
        queue=np.zeros(n, np.int32),
        queued=np.zeros(n, np.bool_),
        length=np.full(2, np.inf),
        best=np.arange(n, dtype=np.int32),
        counts=np.zeros(8, np.int64),
        random=random,
    )


@kernel
def set_tour(mcts, tour, length):
    """Start from a tour of that length; the log is emptied."""
    for i in range(len(tour)):
        mcts.order[i] = tour[i]
        mcts.position[tour[i]] = i
    mcts.length[0] = length
    mcts.counts[1] = 0


@kernel
def _reverse(mcts, first, size):
    """Reverse the `size` cities from position `first` on, round the end of the array."""
    order, position = mcts.order, mcts.position
    n = len(order)
    i, j = first, first + size - 1
    if j >= n:
        j -= n
    for _ in range(size // 2):
        a, b = order[i], order[j]
        order[i], order[j] = b, a
        position[b], position[a] = i, j
        i = i + 1 if i + 1 < n else 0
        j = j - 1 if j > 0 else n - 1


@kernel
def reverse_path(mcts, first, last, forward):
    """Reverse the path from city `first` to city `last` in the direction of the tour that `forward` names; log it.

    The shorter side is turned: where that is the rest of the tour, the array now runs the other way. Returns `forward` for
    the same direction of the tour as before.
    """
    n = len(mcts.order)
    i, j = mcts.position[first], mcts.position[last]
    if not forward:
        i, j = j, i
    size = j - i + 1
    if size <= 0:
        size += n
    if 2 * size > n:
        i, size = j + 1 if j + 1 < n else 0, n - size
        forward = not forward
    _reverse(mcts, i, size)
    at = mcts.counts[1]
    mcts.log[at], mcts.log[at + 1] = i, size
    mcts.counts[1] = at + 2
    return forward


@kernel(inline=True)
def log_is_full(mcts):
    """Whether an action of full depth, and a kick, might not fit the log any more."""
    return mcts.counts[1] + len(mcts.ends) + 16 > len(mcts.log)


@kernel
def undo(mcts, mark):
    """Take back all reversals logged after the first `mark` integers: the array is again what it was."""
    while mcts.counts[1] > mark:
        at = mcts.counts[1] - 2
        _reverse(mcts, mcts.log[at], mcts.log[at + 1])
        mcts.counts[1] = at
