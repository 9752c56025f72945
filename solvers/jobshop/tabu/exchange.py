"""Exchanges: a critical operation and an operation of another machine take each other's places.

If all machines are busy until the end, the makespan is at least the total work divided by the number of machines. A single
operation that moves to another machine then makes that machine late by its whole duration, but an exchange changes the work of
the two machines only by the difference of two durations.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np

from corl.jit import kernel
from corl.rng import below
from corl.solvers.jobshop.tabu.reassignment import earliest_place, set_choice
from corl.solvers.jobshop.tabu.selection import rebuild
from corl.solvers.jobshop.tabu.setups import after_setup

__all__ = ["ESTIMATE", "FIRST", "FIRST_CHOICE", "SECOND", "SECOND_CHOICE", "TIES", "choose_exchange", "exchange"]

ESTIMATE, FIRST, FIRST_CHOICE, SECOND, SECOND_CHOICE, TIES = range(6)
"""Indices into `Choices.exchange`."""
_INFINITY = 2**40


@kernel(borrow=True)
def choose_exchange(shop, selection, choices, path, length, weight, limit, now, best, random):
    """Write the exchange with the smallest estimate, at most `limit`, among those that are not tabu to `choices.exchange`.

    The estimate is the longer of the paths through the two operations at their new places, with the heads and tails of the
    current schedule, plus `weight` / 2 times the increase of the two durations. Exchanges with a path longer than `limit` are not
    considered, nor places whose next operation ends before the job predecessor of the critical operation. Ties are broken at
    random. An exchange is tabu if `choices.tabu` of one of its operations exceeds `now`, unless the longer path is shorter than
    `best`.

    Args:
        shop: The Shop of the instance.
        selection: The Selection; `end` and `to_end` are exact.
        choices: The Choices; `exchange` is overwritten. FIRST is negative if no exchange is found.
        path: uint32 [N], a critical path in its first `length` entries.
        length: The number of operations on the path.
        weight: The weight of the added durations, in halves.
        limit: The largest estimate.
        now: The number of the present move.
        best: The best makespan of the search.
        random: uint64 [1], the state of the random number generator.
    """
    found, end, to_end = choices.exchange, selection.end, selection.to_end
    found[ESTIMATE], found[FIRST], found[TIES] = limit, -1, 0
    for k in range(length):
        v = path[k]
        head, tail = np.int64(end[shop.job_pred[v]]), np.int64(to_end[shop.job_succ[v]])
        for c in range(choices.first[v], choices.first[v + 1]):
            m, duration = choices.machine[c], np.int64(choices.duration[c])
            if m == shop.machine[v] or head + duration + tail > found[ESTIMATE]:
                continue
            begin = np.int64(shop.first[m])
            for at in range(max(begin, earliest_place(shop, selection, m, head) - 1), shop.first[m + 1]):
                w = selection.sequence[at]
                if end[selection.machine_pred[w]] + duration + tail > found[ESTIMATE]:
                    break  # later places are no better
                path_of_v = _path_without(shop, selection, v, w) + duration
                if path_of_v <= found[ESTIMATE] and _path_without(shop, selection, w, v) <= found[ESTIMATE]:
                    _consider(shop, selection, choices, v, c, w, path_of_v, weight, now, best, random)


@kernel(borrow=True)
def _consider(shop, selection, choices, v, c, w, path_of_v, weight, now, best, random):
    """Write the exchange of v and w to `choices.exchange` if it is allowed and the best, or by chance if it ties with the best.

    c: The choice of v on the machine of w. path_of_v: The length of the longest path through v at the place of w.
    """
    found = choices.exchange
    d = _choice_on(choices, w, shop.machine[v])
    if d < 0 or w == shop.job_pred[v] or w == shop.job_succ[v]:
        return
    longest = max(path_of_v, _path_without(shop, selection, w, v) + choices.duration[d])
    added = (choices.duration[c] + choices.duration[d] - shop.duration[v] - shop.duration[w]) * weight // 2
    if longest + added > found[ESTIMATE] or (longest >= best and max(choices.tabu[v], choices.tabu[w]) > now):
        return
    if not _fits(shop, selection, v, w) or not _fits(shop, selection, w, v):
        return
    found[TIES] = 1 if longest + added < found[ESTIMATE] else found[TIES] + 1
    if found[TIES] == 1 or below(random, found[TIES]) == 0:
        found[ESTIMATE], found[FIRST], found[FIRST_CHOICE] = longest + added, v, c
        found[SECOND], found[SECOND_CHOICE] = w, d


@kernel(inline=True)
def _path_without(shop, selection, v, w):
    """Return the length of the longest path through v at the place of w, without the duration of v."""
    end, to_end = selection.end, selection.to_end
    x, y = selection.machine_pred[w], selection.machine_succ[w]
    head = np.int64(max(end[shop.job_pred[v]], after_setup(end[x], shop.setups, w, x, v)))
    return head + max(to_end[shop.job_succ[v]], after_setup(to_end[y], shop.setups, w, v, y))


@kernel(borrow=True)
def _choice_on(choices, i, m):
    """Return the choice of operation i on machine m; -1 if m cannot process i."""
    for c in range(choices.first[i], choices.first[i + 1]):
        if choices.machine[c] == m:
            return np.int64(c)
    return np.int64(-1)


@kernel(borrow=True)
def _fits(shop, selection, v, w):
    """Return whether all predecessors that v has at the place of w start before all of its successors.

    If this holds for v and for w, their exchange creates no cycle: starts do not decrease along a path, so that no path
    leads from a successor of one of the two back to one of its predecessors, or through both.
    """
    n, end, p = len(shop.duration), selection.end, shop.duration
    latest, earliest = np.int64(-1), np.int64(_INFINITY)
    for i in (shop.job_pred[v], selection.machine_pred[w]):
        if i < n:
            latest = max(latest, np.int64(end[i] - p[i]))
    for i in (shop.job_succ[v], selection.machine_succ[w]):
        if i < n:
            earliest = min(earliest, np.int64(end[i] - p[i]))
    return latest < earliest


@kernel(borrow=True)
def exchange(shop, selection, choices):
    """Make the exchange in `choices.exchange`; shop, selection and choices are updated in place. Return the makespan."""
    found, sequence = choices.exchange, selection.sequence
    v, w = np.uint32(found[FIRST]), np.uint32(found[SECOND])
    a, b = selection.place[v], selection.place[w]
    sequence[a], sequence[b] = w, v
    set_choice(shop, choices, v, np.int32(found[FIRST_CHOICE]))
    set_choice(shop, choices, w, np.int32(found[SECOND_CHOICE]))
    return rebuild(shop, selection)
