"""Plans for the rest of a path, and for each listed node the completion by insertion and exchanges that begins with it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.orienteering.environments.insertion.completions import ROUNDING, complete_via, improve, new_work, repair, sums
from corl.routing.graph_pool import graph_metric
from corl.routing.metric import distance

__all__ = ["ROUNDS", "InsertionLookahead", "observe", "replan"]

ROUNDS = 4
"""Rounds of improvement of a plan after each step (completions.improve)."""


class InsertionLookahead(NamedTuple):
    """Completions of R states with K listed nodes: paths from the last node to the end. Zero in empty slots."""

    collected: NDArray[np.float64]
    """[R, K] the score of the completion whose next node is the listed one, which is included."""
    spare: NDArray[np.float64]
    """[R, K] the length that this completion leaves."""
    best: NDArray[np.float64]
    """[R] the best score of these completions and of the plan."""
    place: NDArray[np.int32]
    """[R, K] the position of a listed node in the plan, from 1; 0 if it is not in the plan."""
    share: NDArray[np.float64]
    """[R, K] the share of the other listed nodes' completions that visit this node."""
    following: NDArray[np.bool_]
    """[R, K + 2, K + 2] whether two slots (the last node and the end included) are neighbours in the best completion."""
    around: NDArray[np.float64]
    """[R, K] the sum over all nodes that can be visited of their score times exp(-distance), in mean edges of the plan."""
    edge: NDArray[np.float64]
    """[R] the mean length of the plan's edges."""
    open: NDArray[np.float64]
    """[R] the sum of the scores of all nodes that can be visited."""

    @classmethod
    def empty(cls, rows: int, width: int) -> InsertionLookahead:
        """Return the arrays for `rows` states of `width` listed nodes, filled with zeros."""
        each, slots = (rows, width), width + 2
        return cls(
            np.zeros(each), np.zeros(each), np.zeros(rows), np.zeros(each, np.int32), np.zeros(each),
            np.zeros((rows, slots, slots), bool), np.zeros(each), np.zeros(rows), np.zeros(rows),
        )  # fmt: skip


@kernel
def replan(state: Any, row: Any, begin: Any, rounds: Any) -> None:
    """Repair and improve the plan of a row, in place, after a step or at the start.

    Args:
        state: State of a pool with plans.
        row: The row.
        begin: The plan's nodes from this number on are kept if they can be visited and the limit allows it: 1 if the step went to
            the plan's first node, otherwise 0.
        rounds: Rounds of improvement.
    """
    instance, t, m, plan = state.instance[row], state.visited[row], state.reachable[row], state.plan[row]
    if m == 0:
        state.planned[row] = 0
        return
    work, kept, number = new_work(m), np.empty(m + 2, np.int64), np.zeros(state.graphs.size[instance], np.int64)
    _measure(state, row, m, work)
    for i in range(m):
        number[state.order[row, t + i]] = i + 1
    work.path[0], count = 0, 1
    for k in range(begin, state.planned[row]):
        if number[plan[k]] > 0:
            work.path[count] = number[plan[k]]
            count += 1
    work.path[count] = m + 1
    count, left = count + 1, state.limit[instance] - state.length[row]
    total, spare = sums(work, count, left)
    if spare < 0.0 or begin == 0:
        count, total, spare = repair(work, m, count, total, spare, 0, state.power[1])
    span = (4 * t, 4 * t + rounds)
    size, _, _ = improve(work, m, count, total, spare, span, state.power[1], kept)
    for k in range(1, size - 1):
        plan[k - 1] = state.order[row, t - 1 + kept[k]]
    state.planned[row] = size - 2


@kernel
def observe(state: Any, rows: Any, actions: Any, lookahead: Any) -> None:
    """Write the completions of rows of a pool with plans to `lookahead`, in place. Rows without reachable nodes are unchanged.

    Args:
        state: State.
        rows: int [R], rows of the pool.
        actions: int32 [R, K], listed nodes, -1 in empty slots.
        lookahead: InsertionLookahead.empty(R, K), receives the results.
    """
    width = actions.shape[1]
    best, kept = np.empty(state.order.shape[1] + 2, np.int64), np.empty(state.order.shape[1] + 2, np.int64)
    for r in range(len(rows)):
        row = rows[r]
        instance, t, m = state.instance[row], state.visited[row], state.reachable[row]
        if m == 0:
            continue
        work, slot = new_work(m), np.full(m + 2, -1)
        _measure(state, row, m, work)
        for k in range(width):
            for i in range(m):
                if state.order[row, t + i] == actions[r, k]:
                    slot[i + 1] = k
        slot[0], slot[m + 1] = width, width + 1
        left = state.limit[instance] - state.length[row]
        free = _planned(state, row, m, work, kept)
        work.path[:free] = kept[:free]
        best_score, spare = sums(work, free, left)
        size, best[:free] = free, kept[:free]
        lookahead.edge[r] = (left - spare) / (free - 1)
        for k in range(1, free - 1):
            if slot[kept[k]] >= 0:
                lookahead.place[r, slot[kept[k]]] = k
        tried = 0
        for node in range(1, m + 1):
            k = slot[node]
            if k >= 0:
                tried += 1
                count, lookahead.collected[r, k], lookahead.spare[r, k] = complete_via(
                    work, m, node, left, state.power[1], kept, free
                )
                for i in range(2, count - 1):
                    if slot[work.path[i]] >= 0:
                        lookahead.share[r, slot[work.path[i]]] += 1.0
                if lookahead.collected[r, k] > best_score * (1.0 + ROUNDING):
                    best_score, size = lookahead.collected[r, k], count
                    best[:count] = work.path[:count]
        lookahead.best[r] = best_score
        lookahead.share[r] /= max(1, tried - 1)
        for i in range(size - 1):
            a, b = slot[best[i]], slot[best[i + 1]]
            if a >= 0 and b >= 0:
                lookahead.following[r, a, b] = lookahead.following[r, b, a] = True
        _gather(work, m, slot, lookahead, r)


@kernel
def _planned(state: Any, row: Any, m: Any, work: Any, kept: Any) -> Any:
    """Write the row's plan to `kept`, int64 [m + 2], as a completion in the numbers of `work`; return its number of nodes."""
    t, count = state.visited[row], 1
    kept[0] = 0
    for k in range(state.planned[row]):
        for i in range(m):
            if state.order[row, t + i] == state.plan[row, k]:
                kept[count] = i + 1
                count += 1
    kept[count] = m + 1
    return count + 1


@kernel
def _measure(state: Any, row: Any, m: Any, work: Any) -> None:
    """Write the distances and scores of a row's m reachable nodes and its two ends to `work`."""
    instance, t = state.instance[row], state.visited[row]
    metric, first, order = graph_metric(state.graphs, instance), state.graphs.nodes_start[instance], state.order[row]
    for i in range(m + 2):
        a = order[t - 1 + i] if i <= m else state.end[instance]
        if 0 < i <= m:
            work.scores[i] = state.scores[first + a]
        for j in range(i):
            work.distances[i, j] = work.distances[j, i] = distance(metric, a, order[t - 1 + j])


@kernel
def _gather(work: Any, m: Any, slot: Any, lookahead: Any, r: Any) -> None:
    """Write `around` and `open` of row r of `lookahead`; `slot`, int64 [m + 2], is the slot of each node of `work`, or -1."""
    unit = max(lookahead.edge[r], 1e-12)
    for node in range(1, m + 1):
        lookahead.open[r] += work.scores[node]
        if slot[node] >= 0:
            for other in range(1, m + 1):
                lookahead.around[r, slot[node]] += work.scores[other] * np.exp(-work.distances[node, other] / unit)
