"""What insertion says of the rest of a path: after each listed node, the score that insertion and exchanges still collect."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.orienteering.environments.insertion.completions import LESS, going_by, improve, new_work, repair, sums
from corl.routing.graph_pool import graph_metric
from corl.routing.metric import distance

__all__ = ["TURNS", "Outlook", "observe", "plan_anew"]

TURNS = 4
"""How often a plan is taken apart after a step."""


class Outlook(NamedTuple):
    """Of R states with K listed nodes; a completion is a path from the last node to the end. 0 in empty slots."""

    collected: NDArray[np.float64]
    """[R, K] the score of the completion that goes to a listed node first, that node's among it."""
    spare: NDArray[np.float64]
    """[R, K] the length that it leaves."""
    best: NDArray[np.float64]
    """[R] the most score of these and of the plan, which goes where insertion likes."""
    place: NDArray[np.int32]
    """[R, K] where a listed node is in the plan: 1 for the first; 0 where it is not."""
    share: NDArray[np.float64]
    """[R, K] the share of the other listed nodes' completions that have a listed node."""
    following: NDArray[np.bool_]
    """[R, K + 2, K + 2] which slots (the last node and the end among them) are neighbours in the best completion."""
    around: NDArray[np.float64]
    """[R, K] the scores of all nodes that can be visited, weighted by e to the minus their distance in mean edges."""
    edge: NDArray[np.float64]
    """[R] the mean edge of the plan."""
    open: NDArray[np.float64]
    """[R] the scores of all nodes that can be visited."""

    @classmethod
    def empty(cls, rows: int, width: int) -> Outlook:
        """For so many rows, nothing in them yet."""
        each, slots = (rows, width), width + 2
        return cls(
            np.zeros(each), np.zeros(each), np.zeros(rows), np.zeros(each, np.int32), np.zeros(each),
            np.zeros((rows, slots, slots), bool), np.zeros(each), np.zeros(rows), np.zeros(rows),
        )  # fmt: skip


@kernel
def plan_anew(state: Any, row: Any, begin: Any, turns: Any) -> None:
    """Make the plan of a row that stands `begin` nodes before the first of `plan` is reached a legal and good one.

    The nodes of the plan from number `begin` on that can still be visited are kept as far as the limit lets them be.
    """
    instance, t, m, plan = state.instance[row], state.visited[row], state.open[row], state.plan[row]
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
    span = (4 * t, 4 * t + turns)
    size, _, _ = improve(work, m, count, total, spare, span, state.power[1], kept)
    for k in range(1, size - 1):
        plan[k - 1] = state.order[row, t - 1 + kept[k]]
    state.planned[row] = size - 2


@kernel
def observe(state: Any, rows: Any, actions: Any, seen: Any) -> None:
    """Fill `seen`, an Outlook, for `rows` of a pool of paths, whose listed nodes are `actions` [R, K]."""
    width = actions.shape[1]
    best, kept = np.empty(state.order.shape[1] + 2, np.int64), np.empty(state.order.shape[1] + 2, np.int64)
    for r in range(len(rows)):
        row = rows[r]
        instance, t, m = state.instance[row], state.visited[row], state.open[row]
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
        most, spare = sums(work, free, left)
        size, best[:free] = free, kept[:free]
        seen.edge[r] = (left - spare) / (free - 1)
        for k in range(1, free - 1):
            if slot[kept[k]] >= 0:
                seen.place[r, slot[kept[k]]] = k
        tried = 0
        for node in range(1, m + 1):
            k = slot[node]
            if k >= 0:
                tried += 1
                count, seen.collected[r, k], seen.spare[r, k] = going_by(work, m, node, left, state.power[1], kept, free)
                for i in range(2, count - 1):
                    if slot[work.path[i]] >= 0:
                        seen.share[r, slot[work.path[i]]] += 1.0
                if seen.collected[r, k] > most * (1.0 + LESS):
                    most, size = seen.collected[r, k], count
                    best[:count] = work.path[:count]
        seen.best[r] = most
        seen.share[r] /= max(1, tried - 1)
        for i in range(size - 1):
            a, b = slot[best[i]], slot[best[i + 1]]
            if a >= 0 and b >= 0:
                seen.following[r, a, b] = seen.following[r, b, a] = True
        _gather(work, m, slot, seen, r)


@kernel
def _planned(state: Any, row: Any, m: Any, work: Any, kept: Any) -> Any:
    """Fill `kept` with the row's plan as a completion; how many nodes that has."""
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
    """Distances and scores of a row's nodes."""
    instance, t = state.instance[row], state.visited[row]
    metric, first, order = graph_metric(state.graphs, instance), state.graphs.nodes_start[instance], state.order[row]
    for i in range(m + 2):
        a = order[t - 1 + i] if i <= m else state.end[instance]
        if 0 < i <= m:
            work.scores[i] = state.scores[first + a]
        for j in range(i):
            work.apart[i, j] = work.apart[j, i] = distance(metric, a, order[t - 1 + j])


@kernel
def _gather(work: Any, m: Any, slot: Any, seen: Any, r: Any) -> None:
    """The scores around each listed node, and those of all."""
    unit = max(seen.edge[r], 1e-12)
    for node in range(1, m + 1):
        seen.open[r] += work.scores[node]
        if slot[node] >= 0:
            for other in range(1, m + 1):
                seen.around[r, slot[node]] += work.scores[other] * np.exp(-work.apart[node, other] / unit)
