"""One tabu search for the total weighted tardiness: swaps of neighbours on the critical paths of late jobs, and other machines.

A swap of u and v, next to each other on a machine, can help job j only if both are on a longest path to its end (Mati,
Dauzere-Peres and Lahlou, European Journal of Operational Research 212, 2011, whose neighbourhood this is). So can another machine
for an operation there, where it goes to about the place at which it need not wait. Each is made, judged by the true objective
and undone, not estimated: that would take a tail for each pair of an operation and a job.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.rng import below
from corl.solvers.jobshop.tabu.longest_paths import reorder_forward, sweep_ends
from corl.solvers.jobshop.tabu.makespan_search import IDLE, MOVES, NOW, VALUE, WRAP, Search
from corl.solvers.jobshop.tabu.reassignment import Choices, reassign, soonest
from corl.solvers.jobshop.tabu.selection import link, rebuild

__all__ = ["advance_tardiness", "begin_tardiness", "late_moves", "move", "swap", "tardiness"]

_LOOKED_AT = 64  # moves that are tried, at the most, at random: in large instances most operations are on some late job's path


@kernel(borrow=True)
def tardiness(last, end, due, weight):
    """The total weighted tardiness, of jobs whose last operations are `last`; due, weight: int64 [J]."""
    total = np.int64(0)
    for j in range(len(last)):
        total += weight[j] * max(np.int64(0), end[last[j]] - due[j])
    return total


@kernel
def begin_tardiness(search: Search, choices: Choices, due: NDArray[np.int64], weight: NDArray[np.int64]) -> None:
    """Start from the choices taken and the orders in `search.selection.sequence`."""
    rebuild(search.shop, search.selection)
    search.counts[NOW] = search.counts[VALUE] = tardiness(search.shop.last, search.selection.end, due, weight)
    search.counts[IDLE] = 0
    copy(search.selection.sequence, search.best, len(search.selection.sequence))
    copy(choices.taken, choices.best, len(choices.taken))


@kernel(nogil=True)
def advance_tardiness(
    search: Search,
    choices: Choices,
    due: NDArray[np.int64],
    weight: NDArray[np.int64],
    cut: int,
    shortest: int,
    longest: int,
    units: int,
) -> int:
    """As `flexible_search.advance_flexible`, for the total weighted tardiness, by the best move that is not tabu."""
    counts, shop, selection, tabu, random = search.counts, search.shop, search.selection, search.tabu, search.random
    while units > 0 and counts[IDLE] < cut:
        units -= 1
        counts[MOVES] += 1
        if counts[MOVES] % WRAP == 0:
            tabu[:] = 0
            choices.tabu[:] = 0
        now = counts[MOVES] % WRAP
        at, v, c = _choose(shop, selection, choices, tabu, now, counts[VALUE], due, weight, random)
        if at < 0:  # no late job waits for a machine, or no move is sure to be feasible
            counts[IDLE] = cut
            break
        until = now + shortest + below(random, longest - shortest + 1)
        if c >= 0:
            choices.tabu[v] = until
            move(shop, selection, choices, v, c, at)
        else:
            tabu[_pair(shop, selection.sequence[at], selection.sequence[at + 1])] = until
            swap(shop, selection, at)
        counts[NOW] = tardiness(shop.last, selection.end, due, weight)
        counts[IDLE] += 1
        if counts[NOW] < counts[VALUE]:
            counts[VALUE], counts[IDLE] = counts[NOW], 0
            copy(selection.sequence, search.best, len(selection.sequence))
            copy(choices.taken, choices.best, len(choices.taken))
    return units


@kernel(borrow=True)
def _choose(shop, selection, choices, tabu, now, best, due, weight, random):
    """The best of some moves that are not tabu (all tabu: a random one), as (at, operation, choice).

    The operation takes the choice and goes before what stands at place `at`; or choice is -1, and what stands there is swapped
    with what stands behind. at is -1 where there is none.
    """
    sequence, found, n = selection.sequence, choices.moves, len(shop.earlier)
    count = late_moves(shop, selection, choices, due, found, random)
    nothing = (np.int64(-1), np.uint32(0), np.int64(-1))
    chosen, barred, least, ties = nothing, nothing, np.int64(2**62), 0
    for k in range(min(count, _LOOKED_AT)):
        other = k + below(random, count - k)
        found[k], found[other] = found[other], found[k]
        v, c = np.uint32(found[k] % n), np.int64(-1)
        if found[k] < n:
            at = np.int64(selection.place[v]) - 1
            free = tabu[_pair(shop, sequence[at + 1], sequence[at])] <= now
            swap(shop, selection, at)
            value = tardiness(shop.last, selection.end, due, weight)
            swap(shop, selection, at)
        else:
            c = _another(choices, v, random)
            at, free = _place(shop, selection, v, choices.machine[c], random), choices.tabu[v] <= now
            if at < 0:
                continue
            value = _tried(shop, selection, choices, v, c, at, due, weight)
        if not free and value >= best:
            barred = (at, v, c)  # the looks are in random order, so the last is a random one
            continue
        ties = 1 if value < least else ties + (value == least)
        if value < least or (value == least and below(random, ties) == 0):
            chosen, least = (at, v, c), value
    return chosen if chosen[0] >= 0 else barred


@kernel(borrow=True)
def _another(choices, v, random):
    """A random one of the choices of v that are not taken; there are some."""
    c = np.int64(choices.first[v]) + below(random, choices.first[v + 1] - choices.first[v] - 1)
    return c + (c >= choices.taken[v])


@kernel(borrow=True)
def _place(shop, selection, v, m, random):
    """Where v can go on machine m: before the first that ends after v could begin, or behind that one; -1 if that may make a
    cycle."""
    n, end, job_next = len(shop.earlier), selection.end, shop.later[v]
    at = soonest(shop, selection, m, end[shop.earlier[v]])
    if at < shop.first[m + 1]:
        at += below(random, 2)
    if at == shop.first[m] or job_next >= n:
        return at
    x = selection.sequence[at - 1]
    return at if x != job_next and end[x] - shop.duration[x] < end[job_next] else np.int64(-1)


@kernel(borrow=True)
def _tried(shop, selection, choices, v, c, to, due, weight):
    """What the schedule would be worth if v took choice c before what stands at place `to`."""
    taken, place = choices.taken[v], np.int64(selection.place[v])
    move(shop, selection, choices, v, c, to)
    value = tardiness(shop.last, selection.end, due, weight)
    move(shop, selection, choices, v, taken, place + (selection.place[v] < place))
    return value


@kernel(borrow=True)
def move(shop, selection, choices, v, c, to):
    """As `reassign`, with the ends behind anew; not the rests."""
    lowest, _ = reassign(shop, selection, choices, v, c, to)
    sweep_ends(selection.order, shop.earlier, selection.before, selection.end, shop.duration, lowest, len(selection.order))


@kernel(borrow=True)
def _pair(shop, x, y):
    """Where the entry of (x, y) stands in the table of pairs: the move up to which x must not come before y again."""
    m = shop.machine[x]
    return shop.pair[m] + shop.member[x] * np.int64(shop.able[m]) + shop.member[y]


@kernel(borrow=True)
def late_moves(shop, selection, choices, due, found, random):
    """Moves on the critical paths of late jobs into `found` [2 N]; returns how many.

    One is an operation that can be swapped with the one before it on the machine, or N + one that has other choices. From the
    end of every late job one longest path is followed back, at random where it forks, up to where another was.
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
            if choices.first[i + 1] - choices.first[i] > 1:
                found[count] = n + i
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
