"""Completions of a partial path by insertion, 2-opt and exchanges.

A completion is a path from the last node of the partial path to the end, within the length that is left. Nodes are inserted one
by one at their cheapest positions, in the order of score per detour (B. Golden, L. Levy and R. Vohra, Naval Research Logistics
34, 1987, section 3). When no node fits, 2-opt shortens the path, and nodes outside replace nodes that score less, until neither
helps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["ROUNDING", "Work", "complete_via", "improve", "new_work", "repair", "sums"]

ROUNDING = 1e-9  # relative: smaller differences of lengths and scores are rounding errors
_LONGEST = 6  # nodes of the longest string that `improve` removes
_GOLDEN = 0.6180339887498949  # multiples of it, modulo 1, spread the beginnings of strings evenly over the path


class Work(NamedTuple):
    """A completion and scratch arrays. Node 0 is the last node of the partial path, 1..m can be visited, m + 1 is the end."""

    distances: NDArray[np.float64]
    """[m + 2, m + 2]"""
    scores: NDArray[np.float64]
    """[m + 2]"""
    path: NDArray[np.int64]
    """[m + 2] the completion: its first `count` nodes, from node 0 to node m + 1."""
    outside: NDArray[np.int64]
    """[m + 1] the nodes that the completion does not visit: the first `out`."""
    cost: NDArray[np.float64]
    """[m + 2] by how much a node outside lengthens the completion at its cheapest position."""
    edge: NDArray[np.int64]
    """[m + 2] this position: the node is inserted after path[edge]."""
    inside: NDArray[np.bool_]
    """[m + 2] whether the completion visits a node."""


@kernel
def new_work(m: Any) -> Any:
    """Return the memory for m nodes that can be visited."""
    return Work(
        np.zeros((m + 2, m + 2)), np.zeros(m + 2), np.zeros(m + 2, np.int64), np.zeros(m + 1, np.int64), np.zeros(m + 2),
        np.zeros(m + 2, np.int64), np.zeros(m + 2, np.bool_),
    )  # fmt: skip


@kernel
def _scan(work: Any, node: Any, count: Any, fixed: Any) -> None:
    """Write the cheapest position of a node to work.cost and work.edge, among the edges from path[fixed] on."""
    distances, path = work.distances, work.path
    best, at = np.inf, fixed
    for k in range(fixed, count - 1):
        cost = distances[path[k], node] + distances[node, path[k + 1]] - distances[path[k], path[k + 1]]
        if cost < best:
            best, at = cost, k
    work.cost[node], work.edge[node] = best, at


@kernel
def _insert(work: Any, index: Any, count: Any, out: Any, fixed: Any) -> None:
    """Insert node outside[index] at its cheapest position, and update the positions of the other nodes outside.

    Args:
        work: Work.
        index: Of the node, in `outside`.
        count: Nodes on the path before.
        out: Nodes outside before.
        fixed: Positions before path[fixed] are not used.
    """
    distances, path, outside = work.distances, work.path, work.outside
    node = outside[index]
    at = work.edge[node]
    for k in range(count, at + 1, -1):
        path[k] = path[k - 1]
    path[at + 1] = node
    outside[index] = outside[out - 1]
    for i in range(out - 1):
        other = outside[i]
        if work.edge[other] == at:
            _scan(work, other, count + 1, fixed)
            continue
        if work.edge[other] > at:
            work.edge[other] += 1
        for k in range(at, at + 2):
            cost = distances[path[k], other] + distances[other, path[k + 1]] - distances[path[k], path[k + 1]]
            if cost < work.cost[other]:
                work.cost[other], work.edge[other] = cost, k


@kernel
def _shorten(work: Any, count: Any, fixed: Any) -> Any:
    """Do 2-opt on the path after path[fixed] to a local optimum; return by how much it became shorter."""
    distances, path = work.distances, work.path
    gained, improved = 0.0, True
    while improved:
        improved = False
        for a in range(fixed, count - 3):
            for b in range(a + 2, count - 1):
                before = distances[path[a], path[a + 1]] + distances[path[b], path[b + 1]]
                less = before - distances[path[a], path[b]] - distances[path[a + 1], path[b + 1]]
                if less > ROUNDING * before:
                    i, j = a + 1, b
                    while i < j:
                        path[i], path[j] = path[j], path[i]
                        i, j = i + 1, j - 1
                    gained, improved = gained + less, True
    return gained


@kernel
def _exchange(work: Any, count: Any, out: Any, spare: Any, fixed: Any) -> Any:
    """Return the exchange of a node on the path for a node outside that gains most score and fits in the length `spare`.

    Nodes up to path[fixed] are not exchanged. Returns (position on the path, index in `outside`); (-1, -1) if none gains.
    """
    distances, path, scores = work.distances, work.path, work.scores
    best, inside, index = 0.0, -1, -1
    for k in range(fixed + 1, count - 1):
        a, b, c = path[k - 1], path[k], path[k + 1]
        freed = distances[a, b] + distances[b, c] - distances[a, c]
        for i in range(out):
            node = work.outside[i]
            more = scores[node] - scores[b]
            if more <= best * (1.0 + ROUNDING):
                continue
            cost = distances[a, node] + distances[node, c] - distances[a, c]
            if work.edge[node] not in (k - 1, k):
                cost = min(cost, work.cost[node])
            if cost - freed <= spare:
                best, inside, index = more, k, i
    return inside, index


@kernel
def _fill(work: Any, count: Any, out: Any, total: Any, spare: Any, fixed: Any, power: Any) -> Any:
    """Insert nodes, shorten the path and exchange nodes until nothing helps, in place.

    Args:
        work: Work; `path` and `outside` change.
        count: Nodes on the path.
        out: Nodes outside.
        total: The score of the path.
        spare: The length that it leaves.
        fixed: path[:fixed + 1] remains.
        power: Nodes are inserted in the order of score ** power / detour.

    Returns the new (count, out, total, spare).
    """
    scores, outside = work.scores, work.outside
    for i in range(out):
        _scan(work, outside[i], count, fixed)
    while True:
        best, index = 0.0, -1
        for i in range(out):
            node = outside[i]
            if work.cost[node] <= spare:
                ratio = scores[node] ** power / max(work.cost[node], 1e-12)
                if ratio > best:
                    best, index = ratio, i
        if index >= 0:
            node = outside[index]
            spare, total = spare - work.cost[node], total + scores[node]
            _insert(work, index, count, out, fixed)
            count, out = count + 1, out - 1
            continue
        gained = _shorten(work, count, fixed)
        spare += gained
        for i in range(out):
            if gained > 0.0:
                _scan(work, outside[i], count, fixed)
        inside, index = _exchange(work, count, out, spare, fixed)
        if index >= 0:
            node = outside[index]
            total, spare = total + scores[node] - scores[work.path[inside]], spare + _remove(work, inside, count)
            outside[index], outside[out] = work.path[count - 1], node
            for i in range(out + 1):
                _scan(work, outside[i], count - 1, fixed)
            spare -= work.cost[node]
            _insert(work, out, count - 1, out + 1, fixed)
        elif gained <= 0.0:
            return count, out, total, spare


@kernel
def _remove(work: Any, inside: Any, count: Any) -> Any:
    """Move node path[inside] to path[count - 1], after the shortened path; return by how much this shortens the path."""
    distances, path = work.distances, work.path
    a, gone, c = path[inside - 1], path[inside], path[inside + 1]
    for k in range(inside, count - 1):
        path[k] = path[k + 1]
    path[count - 1] = gone
    return distances[a, gone] + distances[gone, c] - distances[a, c]


@kernel
def improve(work: Any, m: Any, count: Any, total: Any, spare: Any, rounds: Any, power: Any, kept: Any) -> Any:
    """Improve a completion by removing strings of nodes and filling it again; a candidate that is not better is undone.

    Args:
        work: Work; `path` is the current completion.
        m: Nodes that can be visited.
        count: Nodes on the path.
        total: The score of the path.
        spare: The length that it leaves.
        rounds: The number of the first removal and of the one after the last.
        power: Nodes are inserted in the order of score ** power / detour.
        kept: int64 [m + 2], receives the best completion.

    Returns (nodes, score, length left) of the best completion.
    """
    path, scores = work.path, work.scores
    best_total, best_count, best_spare = total, count, spare
    kept[:count] = path[:count]
    for number in range(rounds[0], rounds[1]):
        string = min(count - 2, 1 + number % _LONGEST)
        if string < 1:
            break
        begin = 1 + int((0.5 + number * _GOLDEN) % 1.0 * (count - 1 - string))
        out = _others(work, m, count)
        for _ in range(string):
            total -= scores[path[begin]]
            spare += _remove(work, begin, count)
            count -= 1
        count, out, total, spare = _fill(work, count, out, total, spare, 0, power)
        count, out, total, spare = _fill(work, count, _others(work, m, count), total, spare, 0, power)
        if total > best_total * (1.0 + ROUNDING) or (total >= best_total * (1.0 - ROUNDING) and spare > best_spare):
            best_total, best_count, best_spare = total, count, spare
            kept[:count] = path[:count]
        else:
            total, count, spare = best_total, best_count, best_spare
            path[:count] = kept[:count]
    return best_count, best_total, best_spare


@kernel
def _others(work: Any, m: Any, count: Any) -> Any:
    """Write the nodes that are not on the path to work.outside; return their number."""
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
def complete_via(work: Any, m: Any, first: Any, left: Any, power: Any, kept: Any, size: Any) -> Any:
    """Write to work.path a completion whose next node is `first`: `kept` with that node moved to the front, then repaired.

    Args:
        work: Work.
        m: Nodes that can be visited.
        first: The next node.
        left: The length that is left for the completion.
        power: Nodes are inserted in the order of score ** power / detour.
        kept: int64 [size or more], a completion.
        size: Its nodes.

    Returns (nodes, score, length left) of the completion.
    """
    path = work.path
    path[0], path[1], count = 0, first, 2
    for k in range(1, size):
        if kept[k] != first:
            path[count] = kept[k]
            count += 1
    total, spare = sums(work, count, left)
    if kept[1] == first:
        return count, total, spare
    return repair(work, m, count, total, spare, 1, power)


@kernel
def sums(work: Any, count: Any, left: Any) -> Any:
    """Return the score of the path's first `count` nodes, without node 0, and the part of the length `left` that they leave."""
    total, path = 0.0, work.path
    for k in range(1, count):
        left -= work.distances[path[k - 1], path[k]]
        total += work.scores[path[k]]
    return total, left


@kernel
def repair(work: Any, m: Any, count: Any, total: Any, spare: Any, fixed: Any, power: Any) -> Any:
    """Make the path feasible and fill it, in place: 2-opt, then removals by least score per detour while it is too long.

    Args:
        work: Work.
        m: Nodes that can be visited.
        count: Nodes on the path.
        total: The score of the path.
        spare: The length that it leaves, negative if it is too long.
        fixed: path[:fixed + 1] remains.
        power: Nodes are inserted in the order of score ** power / detour.

    Returns (nodes, score, length left) of the path.
    """
    distances, path, scores = work.distances, work.path, work.scores
    spare += _shorten(work, count, fixed)
    while spare < 0.0:
        worst, inside = np.inf, -1
        for k in range(fixed + 1, count - 1):
            a, b, c = path[k - 1], path[k], path[k + 1]
            ratio = scores[b] / max(distances[a, b] + distances[b, c] - distances[a, c], 1e-12)
            if ratio < worst:
                worst, inside = ratio, k
        if inside < 0:
            break
        total -= scores[path[inside]]
        spare += _remove(work, inside, count)
        count -= 1
    count, _, total, spare = _fill(work, count, _others(work, m, count), total, spare, fixed, power)
    return count, total, spare
