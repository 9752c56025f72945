"""Completions of a path: nodes are inserted, exchanged and left out until nothing more fits.

The nodes that can be visited are inserted one by one where they lengthen the path least, the most score for the detour first
(B. Golden, L. Levy and R. Vohra, Naval Research Logistics 34, 1987, section 3); 2-opt shortens it, and nodes outside take the
places of nodes inside that score less, until nothing more fits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["LESS", "Work", "going_by", "improve", "new_work", "repair", "sums"]

LESS = 1e-9  # a share: lengths and scores that differ by less differ by rounding
_LONGEST = 6  # nodes of a string that is taken out
_GOLDEN = 0.6180339887498949  # such strings begin evenly over the path


class Work(NamedTuple):
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
def new_work(m: Any) -> Any:
    """Room for m nodes."""
    return Work(
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
                if less > LESS * before:
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
            if more <= best * (1.0 + LESS):
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
def improve(work: Any, m: Any, count: Any, total: Any, spare: Any, turns: Any, power: Any, kept: Any) -> Any:
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
        if total > most * (1.0 + LESS) or (total >= most * (1.0 - LESS) and spare > rest):
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
def going_by(work: Any, m: Any, first: Any, left: Any, power: Any, kept: Any, size: Any) -> Any:
    """Fill work.path with `kept` [size] changed so that it goes to `first` first; its nodes, score, length left."""
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
    """The score of the path, and what it leaves of a length."""
    total, path = 0.0, work.path
    for k in range(1, count):
        left -= work.apart[path[k - 1], path[k]]
        total += work.scores[path[k]]
    return total, left


@kernel
def repair(work: Any, m: Any, count: Any, total: Any, spare: Any, fixed: Any, power: Any) -> Any:
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
