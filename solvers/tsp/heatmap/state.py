"""The state of the search `heatmap-mcts` for its kernels: a tour, weights and visits of candidate edges, a queue of cities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.solvers.tsp.tours.array_tour import ArrayTour, array_tour
from corl.solvers.tsp.tours.city_queue import CityQueue, city_queue

__all__ = ["ACTIONS", "BEST", "CITIES", "CURRENT", "FAILURES", "PAIRS", "PHASE", "Mcts", "new_mcts"]

ACTIONS, PAIRS, PHASE, CITIES, FAILURES = range(5)
"""The indices of Mcts.counts, where they are explained."""
CURRENT, BEST = range(2)
"""The indices of Mcts.length."""


class Mcts(NamedTuple):
    """The state of a search over n cities with K weighted edges each, from which the kernels continue."""

    near: NDArray[np.int32]
    """[n, K] the other ends of each city's weighted edges (its candidates), by decreasing initial weight."""
    lengths: NDArray[np.float64]
    """[n, K] the lengths of these edges."""
    weight: NDArray[np.float64]
    """[n, K] W, the weights; an update changes both directions of an edge equally."""
    total: NDArray[np.float64]
    """[n] the sum of each row of W."""
    visits: NDArray[np.int32]
    """[n, K] Q: how often an action has added the edge from city i to near[i, c]."""
    tour: ArrayTour
    """The current tour."""
    queue: CityQueue
    """The cities at which actions are to begin (tuned search)."""
    ends: NDArray[np.int32]
    """[2 D + 4] the cities a_1, b_1, a_2, b_2, ... of the current action (actions.py), or the cities at the edges of a kick."""
    choice: NDArray[np.float64]
    """[K] work array: the potential Z of each candidate of the current city."""
    length: NDArray[np.float64]
    """[2] the length of the current tour, and that of `best`; infinite before there is one."""
    best: NDArray[np.int32]
    """[n] the best tour of earlier episodes."""
    counts: NDArray[np.int64]
    """[5] ACTIONS: M, the number of actions sampled so far. PAIRS: the number of pairs in `ends`. PHASE: the phase of the search.
    CITIES: how many cities are done in this phase. FAILURES: the number of consecutive actions without gain; during a sweep of
    2-opt, the number of moves made."""
    random: NDArray[np.uint64]
    """[1] the state of the random numbers."""


def new_mcts(
    near: NDArray[np.int32],
    lengths: NDArray[np.float64],
    weight: NDArray[np.float64],
    depth: int,
    random: NDArray[np.uint64],
) -> Mcts:
    """Return a search whose tour is 0, 1, 2, ...; its length is set to infinity, for unknown.

    Args:
        near: int32 [n, K], other ends of the weighted edges, the heaviest first.
        lengths: float64 [n, K], their distances.
        weight: float64 [n, K], their weights W.
        depth: D, the greatest depth of an action.
        random: uint64 [1], the state of the random numbers.
    """
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
