"""What insertion says of the rest of a path: after each listed node, the score that greedy insertion and exchanges still collect.

The nodes that can be visited are inserted one by one where they lengthen the path least, the most score for the detour first
(B. Golden, L. Levy and R. Vohra, Naval Research Logistics 34, 1987, section 3); 2-opt shortens it, and nodes outside take the
places of nodes inside that score less, until nothing more fits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.routing.graph_pool import graph_metric
from corl.routing.metric import distance

__all__ = ["TURNS", "Outlook", "look_ahead", "plan_anew"]

TURNS = 4
"""How often a plan is taken apart after a step."""
_LONGEST = 6  # nodes of such a string
_GOLDEN = 0.6180339887498949  # strings begin evenly over the path
_LESS = 1e-9  # a share: lengths and scores that differ by less differ by rounding


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


class _Work(NamedTuple):
    """Nodes are 0, where the path is, 1..m that can be visited, and m + 1, the end."""

    apart: NDArray[np.float64]
    """[m + 2, m + 2]"""
    scores: NDArray[np.float64]
    """[m + 2]"""
    path: NDArray[np.int64]
    """[m + 2] a completion, its first `count` nodes."""
    outside: NDArray[np.int64]
    """[m] nodes that it does not visit."""
    cost: NDArray[np.float64]
    """[m + 2] how much longer it gets by a node outside, at the best place."""
    edge: NDArray[np.int64]
    """[m + 2] that place: the number of the edge."""
    inside: NDArray[np.bool_]
    """[m + 2] whether a completion visits a node."""


@kernel
def _new_work(m: Any) -> Any:
    """Room for m nodes."""
    return _Work(
        np.zeros((m + 2, m + 2)), np.zeros(m + 2), np.zeros(m + 2, np.int64), np.zeros(m + 1, np.int64), np.zeros(m + 2),
        np.zeros(m + 2, np.int64), np.zeros(m + 2, np.bool_),
    )  # fmt: skip


@kernel
def _scan(work: Any, node: Any, count: Any, fixed: Any) -> None:
    """Find the best place of a node among the edges from number `fixed` on."""
    apart, path = work.apart, work.path
    best, at = np.inf, fixed
    for k in range(fixed, count - 1):
        cost = apart[path[k], node] + apart[node, path[k + 1]] - apart[path[k], path[k + 1]]
        if cost < best:
            best, at = cost, k
    work.cost[node], work.edge[node] = best, at


@kernel
def _insert(work: Any, which: Any, count: Any, out: Any, fixed: Any) -> None:
    """Put outside[which] into its place; `count` and `out` are how many there are before."""
    apart, path, outside = work.apart, work.path, work.outside
    node = outside[which]
    at = work.edge[node]
    for k in range(count, at + 1, -1):
        path[k] = path[k - 1]
    path[at + 1] = node
    outside[which] = outside[out - 1]
    for i in range(out - 1):
        other = outside[i]
        if work.edge[other] == at:
            _scan(work, other, count + 1, fixed)
            continue
        if work.edge[other] > at:
            work.edge[other] += 1
        for k in range(at, at + 2):
            cost = apart[path[k], other] + apart[other, path[k + 1]] - apart[path[k], path[k + 1]]
            if cost < work.cost[other]:
                work.cost[other], work.edge[other] = cost, k


@kernel
def _shorten(work: Any, count: Any, fixed: Any) -> Any:
    """2-opt behind path[fixed]; how much shorter the path is."""
    apart, path = work.apart, work.path
    gained, going = 0.0, True
    while going:
        going = False
        for a in range(fixed, count - 3):
            for b in range(a + 2, count - 1):
                before = apart[path[a], path[a + 1]] + apart[path[b], path[b + 1]]
                less = before - apart[path[a], path[b]] - apart[path[a + 1], path[b + 1]]
                if less > _LESS * before:
                    i, j = a + 1, b
                    while i < j:
                        path[i], path[j] = path[j], path[i]
                        i, j = i + 1, j - 1
                    gained, going = gained + less, True
    return gained


@kernel
def _exchange(work: Any, count: Any, out: Any, spare: Any, fixed: Any) -> Any:
    """The place of a node in the path and the number of one outside that scores more and fits instead; -1 where none does."""
    apart, path, scores = work.apart, work.path, work.scores
    best, inside, which = 0.0, -1, -1
    for k in range(fixed + 1, count - 1):
        a, b, c = path[k - 1], path[k], path[k + 1]
        freed = apart[a, b] + apart[b, c] - apart[a, c]
        for i in range(out):
            node = work.outside[i]
            more = scores[node] - scores[b]
            if more <= best * (1.0 + _LESS):
                continue
            cost = apart[a, node] + apart[node, c] - apart[a, c]
            if work.edge[node] not in (k - 1, k):
                cost = min(cost, work.cost[node])
            if cost - freed <= spare:
                best, inside, which = more, k, i
    return inside, which


@kernel
def _fill(work: Any, count: Any, out: Any, total: Any, spare: Any, fixed: Any, power: Any) -> Any:
    """Insert, shorten and exchange until nothing more fits; how many nodes are on the path and outside, score, length left."""
    scores, outside = work.scores, work.outside
    for i in range(out):
        _scan(work, outside[i], count, fixed)
    while True:
        best, which = 0.0, -1
        for i in range(out):
            node = outside[i]
            if work.cost[node] <= spare:
                worth = scores[node] ** power / max(work.cost[node], 1e-12)
                if worth > best:
                    best, which = worth, i
        if which >= 0:
            node = outside[which]
            spare, total = spare - work.cost[node], total + scores[node]
            _insert(work, which, count, out, fixed)
            count, out = count + 1, out - 1
            continue
        gained = _shorten(work, count, fixed)
        spare += gained
        for i in range(out):
            if gained > 0.0:
                _scan(work, outside[i], count, fixed)
        inside, which = _exchange(work, count, out, spare, fixed)
        if which >= 0:
            node = outside[which]
            total, spare = total + scores[node] - scores[work.path[inside]], spare + _remove(work, inside, count)
            outside[which], outside[out] = work.path[count - 1], node
            for i in range(out + 1):
                _scan(work, outside[i], count - 1, fixed)
            spare -= work.cost[node]
            _insert(work, out, count - 1, out + 1, fixed)
        elif gained <= 0.0:
            return count, out, total, spare


@kernel
def _remove(work: Any, inside: Any, count: Any) -> Any:
    """Take path[inside] out and put it behind the path, at path[count - 1], whose node is then before it; the length freed."""
    apart, path = work.apart, work.path
    a, gone, c = path[inside - 1], path[inside], path[inside + 1]
    for k in range(inside, count - 1):
        path[k] = path[k + 1]
    path[count - 1] = gone
    return apart[a, gone] + apart[gone, c] - apart[a, c]


@kernel
def _improve(work: Any, m: Any, count: Any, total: Any, spare: Any, turns: Any, power: Any, kept: Any) -> Any:
    """Take strings out of the completion work.path, one after another, and fill it again; it stays where it collects less.

    turns: the numbers of the first turn and of the one after the last. `kept` gets the best; its nodes, score, length left.
    """
    path, scores = work.path, work.scores
    most, size, rest = total, count, spare
    kept[:count] = path[:count]
    for turn in range(turns[0], turns[1]):
        string = min(count - 2, 1 + turn % _LONGEST)
        if string < 1:
            break
        begin = 1 + int((0.5 + turn * _GOLDEN) % 1.0 * (count - 1 - string))
        out = _others(work, m, count)
        for _ in range(string):
            total -= scores[path[begin]]
            spare += _remove(work, begin, count)
            count -= 1
        count, out, total, spare = _fill(work, count, out, total, spare, 0, power)
        count, out, total, spare = _fill(work, count, _others(work, m, count), total, spare, 0, power)
        if total > most * (1.0 + _LESS) or (total >= most * (1.0 - _LESS) and spare > rest):
            most, size, rest = total, count, spare
            kept[:count] = path[:count]
        else:
            total, count, spare = most, size, rest
            path[:count] = kept[:count]
    return size, most, rest


@kernel
def _others(work: Any, m: Any, count: Any) -> Any:
    """Fill work.outside with the nodes that are not on the path; how many."""
    work.inside[: m + 2] = False
    for k in range(count):
        work.inside[work.path[k]] = True
    out = 0
    for node in range(1, m + 1):
        if not work.inside[node]:
            work.outside[out] = node
            out += 1
    return out


@kernel
def _by(work: Any, m: Any, first: Any, left: Any, power: Any, kept: Any, size: Any) -> Any:
    """Fill work.path with `kept` [size] changed so that it goes to `first` first; its nodes, score, length left."""
    path = work.path
    path[0], path[1], count = 0, first, 2
    for k in range(1, size):
        if kept[k] != first:
            path[count] = kept[k]
            count += 1
    total, spare = _sums(work, count, left)
    if kept[1] == first:
        return count, total, spare
    return _repair(work, m, count, total, spare, 1, power)


@kernel
def _sums(work: Any, count: Any, left: Any) -> Any:
    """The score of the path, and what it leaves of a length."""
    total, path = 0.0, work.path
    for k in range(1, count):
        left -= work.apart[path[k - 1], path[k]]
        total += work.scores[path[k]]
    return total, left


@kernel
def _repair(work: Any, m: Any, count: Any, total: Any, spare: Any, fixed: Any, power: Any) -> Any:
    """Shorten the path, leave out nodes while it is too long, and fill it; its nodes, score, length left."""
    apart, path, scores = work.apart, work.path, work.scores
    spare += _shorten(work, count, fixed)
    while spare < 0.0:
        worst, inside = np.inf, -1
        for k in range(fixed + 1, count - 1):
            a, b, c = path[k - 1], path[k], path[k + 1]
            worth = scores[b] / max(apart[a, b] + apart[b, c] - apart[a, c], 1e-12)
            if worth < worst:
                worst, inside = worth, k
        if inside < 0:
            break
        total -= scores[path[inside]]
        spare += _remove(work, inside, count)
        count -= 1
    count, _, total, spare = _fill(work, count, _others(work, m, count), total, spare, fixed, power)
    return count, total, spare


@kernel
def plan_anew(state: Any, row: Any, begin: Any, turns: Any) -> None:
    """Make the plan of a row that stands `begin` nodes before the first of `plan` is reached a legal and good one.

    The nodes of the plan from number `begin` on that can still be visited are kept as far as the limit lets them be.
    """
    instance, t, m, plan = state.instance[row], state.visited[row], state.open[row], state.plan[row]
    if m == 0:
        state.planned[row] = 0
        return
    work, kept, number = _new_work(m), np.empty(m + 2, np.int64), np.zeros(state.graphs.size[instance], np.int64)
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
    total, spare = _sums(work, count, left)
    if spare < 0.0 or begin == 0:
        count, total, spare = _repair(work, m, count, total, spare, 0, state.power[1])
    span = (4 * t, 4 * t + turns)
    size, _, _ = _improve(work, m, count, total, spare, span, state.power[1], kept)
    for k in range(1, size - 1):
        plan[k - 1] = state.order[row, t - 1 + kept[k]]
    state.planned[row] = size - 2


@kernel
def look_ahead(state: Any, rows: Any, actions: Any, seen: Any) -> None:
    """Fill `seen`, an Outlook, for `rows` of a pool of paths, whose listed nodes are `actions` [R, K]."""
    width = actions.shape[1]
    best, kept = np.empty(state.order.shape[1] + 2, np.int64), np.empty(state.order.shape[1] + 2, np.int64)
    for r in range(len(rows)):
        row = rows[r]
        instance, t, m = state.instance[row], state.visited[row], state.open[row]
        if m == 0:
            continue
        work, slot = _new_work(m), np.full(m + 2, -1)
        _measure(state, row, m, work)
        for k in range(width):
            for i in range(m):
                if state.order[row, t + i] == actions[r, k]:
                    slot[i + 1] = k
        slot[0], slot[m + 1] = width, width + 1
        left = state.limit[instance] - state.length[row]
        free = _planned(state, row, m, work, kept)
        work.path[:free] = kept[:free]
        most, spare = _sums(work, free, left)
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
                count, seen.collected[r, k], seen.spare[r, k] = _by(work, m, node, left, state.power[1], kept, free)
                for i in range(2, count - 1):
                    if slot[work.path[i]] >= 0:
                        seen.share[r, slot[work.path[i]]] += 1.0
                if seen.collected[r, k] > most * (1.0 + _LESS):
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
    metric, first, order = graph_metric(state.graphs, instance), state.graphs.first[instance], state.order[row]
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
