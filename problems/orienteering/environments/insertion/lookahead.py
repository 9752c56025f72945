"""The plans of partial paths, and completions that begin with given nodes (completions.py).

A completion is a sequence of nodes from the path's last node to the end, within the limit; the plan of a row is the completion
that the environment keeps for it. A listed node is one that the environment lists as an action; its
slot is its place in the list.
"""

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
"""The number of rounds of improvement (completions.improve) of a plan after each step."""


class InsertionLookahead(NamedTuple):
    """For R states, completions that begin with each of the K listed nodes. Entries of empty slots are 0."""

    collected: NDArray[np.float64]
    """[R, K] the score of the completion whose next node is the listed node, the score of this node included."""
    spare: NDArray[np.float64]
    """[R, K] the limit minus the length of the path with this completion."""
    best: NDArray[np.float64]
    """[R] the best score of all these completions and of the plan."""
    place: NDArray[np.int32]
    """[R, K] the position of a listed node in the plan, from 1; 0 if it is not in the plan."""
    share: NDArray[np.float64]
    """[R, K] the share of the other listed nodes' completions that visit this node."""
    following: NDArray[np.bool_]
    """[R, K + 2, K + 2] whether the nodes of two slots (slot K: the last node, slot K + 1: the end) are neighbours in the best
    completion.
    """
    around: NDArray[np.float64]
    """[R, K] the sum of score * exp(-distance / mean edge of the plan) over all nodes that can be visited; the distance is from
    the listed node.
    """
    edge: NDArray[np.float64]
    """[R] the mean length of the plan's edges."""
    open: NDArray[np.float64]
    """[R] the sum of the scores of all nodes that can be visited."""

    @classmethod
    def empty(cls, rows: int, width: int) -> InsertionLookahead:
        """Return the arrays for `rows` states with `width` listed nodes, filled with zeros."""
        each, slots = (rows, width), width + 2
        return cls(
            np.zeros(each), np.zeros(each), np.zeros(rows), np.zeros(each, np.int32), np.zeros(each),
            np.zeros((rows, slots, slots), bool), np.zeros(each), np.zeros(rows), np.zeros(rows),
        )  # fmt: skip


@kernel
def replan(state: Any, row: Any, first: Any, rounds: Any) -> None:
    """Repair and improve the plan of a row, in place, after a step or at the start.

    Args:
        state: State (transitions.py) of an environment that keeps plans.
        row: The row.
        first: The index of the plan's first node that may be kept: 1 if the step went to the plan's node 0, otherwise 0.
        rounds: The number of rounds of improvement.
    """
    instance, t, m, plan = state.instance[row], state.visited[row], state.reachable[row], state.plan[row]
    if m == 0:
        state.planned[row] = 0
        return
    work, improved, number = new_work(m), np.empty(m + 2, np.int64), np.zeros(state.graphs.size[instance], np.int64)
    _measure(state, row, m, work)
    for i in range(m):
        number[state.order[row, t + i]] = i + 1
    work.path[0], count = 0, 1
    for k in range(first, state.planned[row]):
        if number[plan[k]] > 0:
            work.path[count] = number[plan[k]]
            count += 1
    work.path[count] = m + 1
    count, length_left = count + 1, state.limit[instance] - state.length[row]
    total, spare = sums(work, count, length_left)
    if spare < 0.0 or first == 0:
        count, total, spare = repair(work, m, count, total, spare, 0, state.power[1])
    round_numbers = (4 * t, 4 * t + rounds)
    improved_size, _, _ = improve(work, m, count, total, spare, round_numbers, state.power[1], improved)
    for k in range(1, improved_size - 1):
        plan[k - 1] = state.order[row, t - 1 + improved[k]]
    state.planned[row] = improved_size - 2


@kernel
def observe(state: Any, rows: Any, actions: Any, lookahead: Any) -> None:
    """Write the completions of rows of an environment that keeps plans to `lookahead`, in place.

    Entries of rows that can visit no node are not changed.

    Args:
        state: State.
        rows: int [R], rows of the pool.
        actions: int32 [R, K], the listed nodes, -1 in empty slots.
        lookahead: The arrays of InsertionLookahead.empty(R, K), which receive the results.
    """
    width = actions.shape[1]
    best, planned_path = np.empty(state.order.shape[1] + 2, np.int64), np.empty(state.order.shape[1] + 2, np.int64)
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
        length_left = state.limit[instance] - state.length[row]
        plan_size = _planned(state, row, m, work, planned_path)
        work.path[:plan_size] = planned_path[:plan_size]
        best_score, spare = sums(work, plan_size, length_left)
        best_size, best[:plan_size] = plan_size, planned_path[:plan_size]
        lookahead.edge[r] = (length_left - spare) / (plan_size - 1)
        for k in range(1, plan_size - 1):
            if slot[planned_path[k]] >= 0:
                lookahead.place[r, slot[planned_path[k]]] = k
        completions = 0
        for node in range(1, m + 1):
            k = slot[node]
            if k >= 0:
                completions += 1
                count, lookahead.collected[r, k], lookahead.spare[r, k] = complete_via(
                    work, m, node, length_left, state.power[1], planned_path, plan_size
                )
                for i in range(2, count - 1):
                    if slot[work.path[i]] >= 0:
                        lookahead.share[r, slot[work.path[i]]] += 1.0
                if lookahead.collected[r, k] > best_score * (1.0 + ROUNDING):
                    best_score, best_size = lookahead.collected[r, k], count
                    best[:count] = work.path[:count]
        lookahead.best[r] = best_score
        lookahead.share[r] /= max(1, completions - 1)
        for i in range(best_size - 1):
            a, b = slot[best[i]], slot[best[i + 1]]
            if a >= 0 and b >= 0:
                lookahead.following[r, a, b] = lookahead.following[r, b, a] = True
        _gather(work, m, slot, lookahead, r)


@kernel
def _planned(state: Any, row: Any, m: Any, work: Any, planned_path: Any) -> Any:
    """Write the row's plan to `planned_path`, int64 [m + 2], with nodes numbered as in `work`; return its number of nodes."""
    t, count = state.visited[row], 1
    planned_path[0] = 0
    for k in range(state.planned[row]):
        for i in range(m):
            if state.order[row, t + i] == state.plan[row, k]:
                planned_path[count] = i + 1
                count += 1
    planned_path[count] = m + 1
    return count + 1


@kernel
def _measure(state: Any, row: Any, m: Any, work: Any) -> None:
    """Write the distances and scores of a row's m reachable nodes, of its last node and of the end to `work`, in place."""
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
    """Write `around` and `open` of row r of `lookahead`, in place.

    slot: int64 [m + 2], the slot of each node of `work`, -1 for a node that is not listed.
    """
    unit = max(lookahead.edge[r], 1e-12)
    for node in range(1, m + 1):
        lookahead.open[r] += work.scores[node]
        if slot[node] >= 0:
            for other in range(1, m + 1):
                lookahead.around[r, slot[node]] += work.scores[other] * np.exp(-work.distances[node, other] / unit)
