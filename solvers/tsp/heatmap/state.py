"""The state of the search: an array tour and its log, sparse edge weights and visits, and a queue of first cities of actions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.solvers.tsp.tours.array_tour import ArrayTour, array_tour
from corl.solvers.tsp.tours.city_queue import CityQueue, city_queue

__all__ = ["ACTIONS", "BEST", "CITIES", "CURRENT", "FAILURES", "PAIRS", "PHASE", "Mcts", "new_mcts"]

ACTIONS, PAIRS, PHASE, CITIES, FAILURES = range(5)
CURRENT, BEST = range(2)  # what `length` of an Mcts holds
"""Indices of Mcts.counts."""


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
    tour: ArrayTour
    queue: CityQueue
    """Cities to begin actions at."""
    ends: NDArray[np.int32]
    """[2 D + 4] a_1, b_1, a_2, b_2, ... of the action at hand; of a kick, its cities."""
    choice: NDArray[np.float64]
    """[K] Z of the candidates at hand."""
    length: NDArray[np.float64]
    """[2] of the tour, and of the best one."""
    best: NDArray[np.int32]
    """[n] the best tour, where it is another one than tour.order."""
    counts: NDArray[np.int64]
    """[5] ACTIONS: M, actions sampled so far; PAIRS: pairs in `ends`; PHASE of the search; CITIES: done in the phase;
    FAILURES: actions without gain, or in a descent moves made."""
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
        tour=array_tour(n),
        queue=city_queue(n),
        ends=np.zeros(max(8, 2 * depth + 4), np.int32),
        choice=np.zeros(k),
        length=np.full(2, np.inf),
        best=np.arange(n, dtype=np.int32),
        counts=np.zeros(5, np.int64),
        random=random,
    )
