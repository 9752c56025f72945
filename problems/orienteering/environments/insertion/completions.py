"""Completions of a partial path by insertion, 2-opt and exchanges.

A completion is a path from the last node of the partial path to the end, within the length that the limit leaves. Nodes are
inserted one by one, the one with the most score per detour first, each at its cheapest position (B. Golden, L. Levy and R. Vohra,
Naval Research Logistics 34, 1987, section 3). When no node fits, 2-opt shortens the path, and nodes outside the path replace
nodes that score less. This is repeated until neither helps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["ROUNDING", "Work", "complete_via", "improve", "new_work", "repair", "sums"]

ROUNDING = 1e-9  # relative differences of lengths or scores up to this are rounding errors
_MAX_STRING = 6  # greatest number of consecutive nodes that `improve` removes
_GOLDEN_RATIO = 0.6180339887498949  # its multiples modulo 1 spread the places of removals evenly over the path


class Work(NamedTuple):
    """A completion and the work arrays of the search for a better one.

    Nodes are numbered anew: 0 is the last node of the partial path, 1 to m are the m nodes that can be visited, m + 1 is the
    end. The functions of this module receive the number of nodes of the completion (`count`) and of nodes outside it
    (`outside_count`).
    """

    distances: NDArray[np.float64]
    """[m + 2, m + 2] the distances between the nodes."""
    scores: NDArray[np.float64]
    """[m + 2] the scores of the nodes."""
    path: NDArray[np.int64]
    """[m + 2] the first `count` entries: the nodes of the completion in order, from node 0 to node m + 1."""
    outside: NDArray[np.int64]
    """[m + 1] the first `outside_count` entries: the nodes that the completion does not visit."""
    cost: NDArray[np.float64]
    """[m + 2] for a node outside: by how much it lengthens the completion at its cheapest position."""
    edge: NDArray[np.int64]
    """[m + 2] for a node outside: its cheapest position, which is between path[edge] and path[edge + 1]."""
    inside: NDArray[np.bool_]
    """[m + 2] whether the completion visits the node."""


@kernel
def new_work(m: Any) -> Any:
    """Return the arrays for m nodes that can be visited, filled with zeros."""
    return Work(
        np.zeros((m + 2, m + 2)), np.zeros(m + 2), np.zeros(m + 2, np.int64), np.zeros(m + 1, np.int64), np.zeros(m + 2),
        np.zeros(m + 2, np.int64), np.zeros(m + 2, np.bool_),
    )  # fmt: skip


@kernel
def _scan(work: Any, node: Any, count: Any, fixed: Any) -> None:
    """Find a node's cheapest position among the edges after path[fixed]; write it to `work.cost` and `work.edge`."""
    distances, path = work.distances, work.path
    best, at = np.inf, fixed
    for k in range(fixed, count - 1):
        cost = distances[path[k], node] + distances[node, path[k + 1]] - distances[path[k], path[k + 1]]
        if cost < best:
            best, at = cost, k
    work.cost[node], work.edge[node] = best, at


@kernel
def _insert(work: Any, index: Any, count: Any, outside_count: Any, fixed: Any) -> None:
    """Insert node outside[index] at its cheapest position, and update the cheapest positions of the other nodes, in place.

    Args:
        work: Work.
        index: The index of the node in `outside`.
        count: The number of nodes on the path, before the insertion.
        outside_count: The number of nodes outside, before the insertion.
        fixed: No node is inserted before path[fixed].
    """
    distances, path, outside = work.distances, work.path, work.outside
    node = outside[index]
    at = work.edge[node]
    for k in range(count, at + 1, -1):
        path[k] = path[k - 1]
    path[at + 1] = node
    outside[index] = outside[outside_count - 1]
    for i in range(outside_count - 1):
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
    """Improve the path after path[fixed] by 2-opt to a local optimum, in place; return by how much it became shorter."""
    distances, path = work.distances, work.path
    gained, improved = 0.0, True
    while improved:
        improved = False
        for a in range(fixed, count - 3):
            for b in range(a + 2, count - 1):
                before = distances[path[a], path[a + 1]] + distances[path[b], path[b + 1]]
                saved = before - distances[path[a], path[b]] - distances[path[a + 1], path[b + 1]]
                if saved > ROUNDING * before:
                    i, j = a + 1, b
                    while i < j:
                        path[i], path[j] = path[j], path[i]
                        i, j = i + 1, j - 1
                    gained, improved = gained + saved, True
    return gained


@kernel
def _exchange(work: Any, count: Any, outside_count: Any, spare: Any, fixed: Any) -> Any:
    """Find the exchange of a node on the path for a node outside that gains the most score.

    Args:
        work: Work.
        count: The number of nodes on the path.
        outside_count: The number of nodes outside.
        spare: The length by which the path may grow.
        fixed: Nodes up to path[fixed] are not exchanged.

    Returns:
        The position on the path and the index in `outside`; (-1, -1) if no exchange gains score.
    """
    distances, path, scores = work.distances, work.path, work.scores
    best, position, index = 0.0, -1, -1
    for k in range(fixed + 1, count - 1):
        a, b, c = path[k - 1], path[k], path[k + 1]
        freed = distances[a, b] + distances[b, c] - distances[a, c]
        for i in range(outside_count):
            node = work.outside[i]
            gain = scores[node] - scores[b]
            if gain <= best * (1.0 + ROUNDING):
                continue
            cost = distances[a, node] + distances[node, c] - distances[a, c]
            if work.edge[node] not in (k - 1, k):
                cost = min(cost, work.cost[node])
            if cost - freed <= spare:
                best, position, index = gain, k, i
    return position, index


@kernel
def _fill(work: Any, count: Any, outside_count: Any, total: Any, spare: Any, fixed: Any, power: Any) -> Any:
    """Insert nodes, shorten the path and exchange nodes until nothing helps, in place.

    Args:
        work: Work; `path` and `outside` change.
        count: The number of nodes on the path.
        outside_count: The number of nodes outside.
        total: The score of the path.
        spare: The length by which the path may grow.
        fixed: path[:fixed + 1] does not change.
        power: The node with the greatest score ** power / detour is inserted first.

    Returns:
        count, outside_count, total, spare: The new values of these arguments.
    """
    scores, outside = work.scores, work.outside
    for i in range(outside_count):
        _scan(work, outside[i], count, fixed)
    while True:
        best, index = 0.0, -1
        for i in range(outside_count):
            node = outside[i]
            if work.cost[node] <= spare:
                ratio = scores[node] ** power / max(work.cost[node], 1e-12)
                if ratio > best:
                    best, index = ratio, i
        if index >= 0:
            node = outside[index]
            spare, total = spare - work.cost[node], total + scores[node]
            _insert(work, index, count, outside_count, fixed)
            count, outside_count = count + 1, outside_count - 1
            continue
        gained = _shorten(work, count, fixed)
        spare += gained
        for i in range(outside_count):
            if gained > 0.0:
                _scan(work, outside[i], count, fixed)
        position, index = _exchange(work, count, outside_count, spare, fixed)
        if index >= 0:
            node = outside[index]
            total, spare = total + scores[node] - scores[work.path[position]], spare + _remove(work, position, count)
            outside[index], outside[outside_count] = work.path[count - 1], node
            for i in range(outside_count + 1):
                _scan(work, outside[i], count - 1, fixed)
            spare -= work.cost[node]
            _insert(work, outside_count, count - 1, outside_count + 1, fixed)
        elif gained <= 0.0:
            return count, outside_count, total, spare


@kernel
def _remove(work: Any, position: Any, count: Any) -> Any:
    """Remove node path[position] from the path, in place; return by how much this shortens the path.

    The node is moved to path[count - 1], just after the shortened path.
    """
    distances, path = work.distances, work.path
    a, removed, c = path[position - 1], path[position], path[position + 1]
    for k in range(position, count - 1):
        path[k] = path[k + 1]
    path[count - 1] = removed
    return distances[a, removed] + distances[removed, c] - distances[a, c]


@kernel
def improve(work: Any, m: Any, count: Any, total: Any, spare: Any, rounds: Any, power: Any, best_path: Any) -> Any:
    """Improve a completion, in place: in each round, remove some consecutive nodes and fill the path again.

    A candidate that is not better than the completion is undone.

    Args:
        work: Work; `path` is the completion.
        m: The number of nodes that can be visited.
        count: The number of nodes on the path.
        total: The score of the path.
        spare: The length by which the path may grow.
        rounds: (first, end): rounds first to end - 1 are made. The number of a round determines which nodes it removes.
        power: The node with the greatest score ** power / detour is inserted first.
        best_path: int64 [m + 2], receives the best completion, in place.

    Returns:
        Number of nodes, score and spare length of the best completion.
    """
    path, scores = work.path, work.scores
    best_total, best_count, best_spare = total, count, spare
    best_path[:count] = path[:count]
    for round_number in range(rounds[0], rounds[1]):
        string_size = min(count - 2, 1 + round_number % _MAX_STRING)
        if string_size < 1:
            break
        first = 1 + int((0.5 + round_number * _GOLDEN_RATIO) % 1.0 * (count - 1 - string_size))
        outside_count = _others(work, m, count)
        for _ in range(string_size):
            total -= scores[path[first]]
            spare += _remove(work, first, count)
            count -= 1
        count, outside_count, total, spare = _fill(work, count, outside_count, total, spare, 0, power)
        count, outside_count, total, spare = _fill(work, count, _others(work, m, count), total, spare, 0, power)
        if total > best_total * (1.0 + ROUNDING) or (total >= best_total * (1.0 - ROUNDING) and spare > best_spare):
            best_total, best_count, best_spare = total, count, spare
            best_path[:count] = path[:count]
        else:
            total, count, spare = best_total, best_count, best_spare
            path[:count] = best_path[:count]
    return best_count, best_total, best_spare


@kernel
def _others(work: Any, m: Any, count: Any) -> Any:
    """Write the nodes that are not on the path to `work.outside`, in place; return their number."""
    work.inside[: m + 2] = False
    for k in range(count):
        work.inside[work.path[k]] = True
    outside_count = 0
    for node in range(1, m + 1):
        if not work.inside[node]:
            work.outside[outside_count] = node
            outside_count += 1
    return outside_count


@kernel
def complete_via(work: Any, m: Any, first: Any, length_left: Any, power: Any, completion: Any, size: Any) -> Any:
    """Make the completion whose next node is `first`, in `work.path`.

    The node is moved to the front of a given completion, or inserted there; the path is then repaired.

    Args:
        work: Work; `path` receives the new completion.
        m: The number of nodes that can be visited.
        first: The next node.
        length_left: The greatest length of a completion.
        power: The node with the greatest score ** power / detour is inserted first.
        completion: int64 [at least size], the given completion.
        size: The number of nodes of the given completion.

    Returns:
        Number of nodes, score and spare length of the new completion.
    """
    path = work.path
    path[0], path[1], count = 0, first, 2
    for k in range(1, size):
        if completion[k] != first:
            path[count] = completion[k]
            count += 1
    total, spare = sums(work, count, length_left)
    if completion[1] == first:
        return count, total, spare
    return repair(work, m, count, total, spare, 1, power)


@kernel
def sums(work: Any, count: Any, length_left: Any) -> Any:
    """Return the score of the path's first `count` nodes, without node 0, and `length_left` minus the length of the path."""
    total, path = 0.0, work.path
    for k in range(1, count):
        length_left -= work.distances[path[k - 1], path[k]]
        total += work.scores[path[k]]
    return total, length_left


@kernel
def repair(work: Any, m: Any, count: Any, total: Any, spare: Any, fixed: Any, power: Any) -> Any:
    """Make the path short enough and fill it, in place.

    First 2-opt shortens the path; as long as it is too long, the node with the least score per detour is removed.

    Args:
        work: Work.
        m: The number of nodes that can be visited.
        count: The number of nodes on the path.
        total: The score of the path.
        spare: The length by which the path may grow; negative if it is too long.
        fixed: path[:fixed + 1] does not change.
        power: The node with the greatest score ** power / detour is inserted first.

    Returns:
        Number of nodes, score and spare length of the path.
    """
    distances, path, scores = work.distances, work.path, work.scores
    spare += _shorten(work, count, fixed)
    while spare < 0.0:
        least_ratio, position = np.inf, -1
        for k in range(fixed + 1, count - 1):
            a, b, c = path[k - 1], path[k], path[k + 1]
            ratio = scores[b] / max(distances[a, b] + distances[b, c] - distances[a, c], 1e-12)
            if ratio < least_ratio:
                least_ratio, position = ratio, k
        if position < 0:
            break
        total -= scores[path[position]]
        spare += _remove(work, position, count)
        count -= 1
    count, _, total, spare = _fill(work, count, _others(work, m, count), total, spare, fixed, power)
    return count, total, spare
