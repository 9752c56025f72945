"""One tabu search for the total weighted tardiness: swaps of neighbours on the critical paths of late jobs.

A swap of u and v, next to each other on a machine, can help job j only if both are on a longest path to its end (Mati,
Dauzere-Peres and Lahlou, European Journal of Operational Research 212, 2011, whose neighbourhood this is). Each is made,
judged by the true objective and undone, not estimated: that would take a tail for each pair of an operation and a job.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.rng import below
from corl.solvers.jobshop.tabu.longest_paths import copy_into, reorder_forward, sweep_ends
from corl.solvers.jobshop.tabu.makespan_search import IDLE, MOVES, NOW, VALUE, WRAP, Search
from corl.solvers.jobshop.tabu.selection import link, rebuild

__all__ = ["advance_tardiness", "begin_tardiness", "late_pairs", "swap", "tardiness"]

_LOOKED_AT = 64  # swaps at most in a move, at random: in large instances most operations are on some late job's path


@kernel(borrow=True)
def tardiness(last, end, due, weight):
    """The total weighted tardiness, of jobs whose last operations are `last`; due, weight: int64 [J]."""
    total = np.int64(0)
    for j in range(len(last)):
        total += weight[j] * max(np.int64(0), end[last[j]] - due[j])
    return total


@kernel
def begin_tardiness(search: Search, due: NDArray[np.int64], weight: NDArray[np.int64]) -> None:
    """Start from the orders in `search.selection.sequence`."""
    rebuild(search.shop, search.selection)
    search.counts[NOW] = search.counts[VALUE] = tardiness(search.shop.last, search.selection.end, due, weight)
    search.counts[IDLE] = 0
    copy_into(search.best, search.selection.sequence)


@kernel(nogil=True)
def advance_tardiness(
    search: Search, due: NDArray[np.int64], weight: NDArray[np.int64], cut: int, shortest: int, longest: int, units: int
) -> int:
    """As `makespan_search.advance`, for the total weighted tardiness, by the best swap that is not tabu."""
    counts, shop, selection, tabu, random = search.counts, search.shop, search.selection, search.tabu, search.random
    while units > 0 and counts[IDLE] < cut:
        units -= 1
        counts[MOVES] += 1
        if counts[MOVES] % WRAP == 0:
            tabu[:] = 0
        now = counts[MOVES] % WRAP
        at = _choose(shop, selection, search.scan.path, tabu, now, counts[VALUE], due, weight, random)
        if at < 0:  # no late job waits for a machine, or no swap is sure to be feasible
            counts[IDLE] = cut
            break
        until = now + shortest + below(random, longest - shortest + 1)
        tabu[_pair(shop, selection.sequence[at], selection.sequence[at + 1])] = until
        swap(shop, selection, at)
        counts[NOW] = tardiness(shop.last, selection.end, due, weight)
        counts[IDLE] += 1
        if counts[NOW] < counts[VALUE]:
            counts[VALUE], counts[IDLE] = counts[NOW], 0
            copy_into(search.best, selection.sequence)
    return units


@kernel(borrow=True)
def _choose(shop, selection, path, tabu, now, best, due, weight, random):
    """The place of the first of the two to swap; -1 where there are none. All tabu: a random one."""
    sequence, count = selection.sequence, late_pairs(shop, selection, due, path, random)
    chosen, least, ties, barred = -1, np.int64(2**62), 0, -1
    for k in range(min(count, _LOOKED_AT)):
        other = k + below(random, count - k)
        path[k], path[other] = path[other], path[k]
        at = np.int64(selection.place[path[k]]) - 1
        free = tabu[_pair(shop, sequence[at + 1], sequence[at])] <= now
        swap(shop, selection, at)
        value = tardiness(shop.last, selection.end, due, weight)
        swap(shop, selection, at)
        if not free and value >= best:
            barred = at  # the looks are in random order, so the last is a random one
            continue
        ties = 1 if value < least else ties + (value == least)
        if value < least or (value == least and below(random, ties) == 0):
            chosen, least = at, value
    return chosen if chosen >= 0 else barred


@kernel(borrow=True)
def _pair(shop, x, y):
    """Where the entry of (x, y) stands in the table of pairs: the move up to which x must not come before y again."""
    m = shop.machine[x]
    return shop.pair[m] + shop.member[x] * np.int64(shop.first[m + 1] - shop.first[m]) + shop.member[y]


@kernel(borrow=True)
def late_pairs(shop, selection, due, found, random):
    """Operations that can be swapped with the one before them on the machine, into `found`; returns how many.

    From the end of every late job one longest path is followed back, at random where it forks, up to where another was.
    """
    earlier, later, before, end, p = shop.earlier, shop.later, selection.before, selection.end, shop.duration
    n, seen, count = len(selection.sequence), selection.marked, 0
    for j in range(len(shop.last)):
        i = shop.last[j]
        if end[i] <= due[j]:
            continue
        while i < n and not seen[i]:
            seen[i] = 1
            x, y, start = earlier[i], before[i], end[i] - p[i]
            by_job, by_machine = x < n and end[x] == start, y < n and end[y] == start
            if by_job and by_machine and x != y:
                by_machine = below(random, 2) == 0
            if by_machine and x != y:
                z = later[y]
                if z >= n or x >= n or end[z] > end[x]:  # no path from z to x, so none but the pair itself from y to i
                    found[count] = i
                    count += 1
            if by_machine:
                i = y
            else:
                i = x if by_job else np.uint32(n)
    seen[:] = 0
    return count


@kernel(borrow=True)
def swap(shop, selection, at):
    """Swap the operations at places at and at + 1 of one machine, and compute the ends behind anew; not the rests.

    There must be no path from one to the other but the pair itself; then the same call undoes it.
    """
    sequence, before, rank = selection.sequence, selection.before, selection.rank
    u, v = sequence[at], sequence[at + 1]
    m, k = shop.machine[u], np.int64(rank[u])
    sequence[at], sequence[at + 1] = v, u
    link(sequence, selection.place, before, selection.after, at, at + 1, shop.first[m], shop.first[m + 1])
    reorder_forward(shop.earlier, before, selection.order, rank, selection.marked, selection.spare, u, v)
    sweep_ends(selection.order, shop.earlier, before, selection.end, shop.duration, k, len(sequence))
