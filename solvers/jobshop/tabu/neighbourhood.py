"""The neighbourhood N7 (Zhang, Li, Guan and Rao, Computers & Operations Research 34, 2007) on one random critical path.

In every critical block, an operation goes right behind the last or right before the first one, or the first goes right
behind, or the last right before, one within. A move is kept where it cannot make a cycle (Balas and Vazacopoulos, 1998,
propositions 2.2 and 2.3, made strict for durations of zero), and judged by the longest path through the operations moved,
with heads and tails as theirs would become (section 2.2 there): exact most times, and hardly ever over the makespan.
A block has no gaps, so a path through the one that moves is known at once; where that alone is too long, the rest is not
looked at. Only what is in the search's window (windows.py) is looked at.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.rng import below
from corl.solvers.jobshop.tabu.windows import FIRST, JOBS, MACHINES

__all__ = ["BARRED", "ESTIMATE", "FROM", "LENGTH", "TIES", "Scan", "choose_move", "feasible", "new_scan"]

_FAR = 2**40
ESTIMATE, FROM, TO, TIES, BARRED, BARRED_FROM, BARRED_TO, LENGTH = range(8)  # what `found` of a Scan holds


class Scan(NamedTuple):
    """Scratch of a look at the neighbourhood."""

    path: NDArray[np.uint32]
    """[N] a critical path, last operation first."""
    ahead: NDArray[np.int64]
    """[N] heads or tails as a move would make them."""
    found: NDArray[np.int64]
    """[8] the best move that is not tabu: its estimate, from, to, ties; a random tabu one: count, from, to; the path's length."""


def new_scan(n: int) -> Scan:
    """For n operations."""
    return Scan(np.zeros(n, np.uint32), np.zeros(n, np.int64), np.zeros(8, np.int64))


@kernel(borrow=True)
def choose_move(shop, selection, window, scan, tabu, now, best, makespan, random):
    """(from, to), places of `sequence` for `shift`: the move of the least estimate among those that are not tabu.

    A move is tabu if it reverses a pair whose entry in `tabu` is over `now`, unless its estimate is below `best`. Ties are
    broken at random; where all moves are tabu a random one is taken; (-1, -1) where there is none.
    """
    found, path, ahead = scan.found, scan.path, scan.ahead
    sequence, place, before, after = selection.sequence, selection.place, selection.before, selection.after
    earlier, later, p, member = shop.earlier, shop.later, shop.duration, shop.member
    end, rest = selection.end, selection.rest
    found[ESTIMATE], found[FROM], found[TO], found[TIES] = _FAR, -1, -1, 0
    found[BARRED], found[BARRED_FROM], found[BARRED_TO] = 0, -1, -1
    found[LENGTH] = _windows_path(shop, selection, window, path, makespan, random)
    i = found[LENGTH] - 1
    while i >= 0:  # blocks: runs of the path along one machine
        j = i
        while j > 0 and before[path[j - 1]] == path[j]:
            j -= 1
        first, last = np.int64(place[path[i]]), np.int64(place[path[j]])
        m = shop.machine[path[i]]
        size, pairs = shop.able[m], shop.pair[m]
        for k in range(_moves(last - first + 1) if j < i else 0):
            a, b = _move(first, last, k)
            if a < b:
                if not feasible(sequence, later, rest, p, a, b):
                    continue
                estimate = _judged_forward(sequence, earlier, later, before, after, p, end, rest, ahead, a, b, found[ESTIMATE])
            else:
                if not feasible(sequence, earlier, end, p, a, b):
                    continue
                estimate = _judged_backward(sequence, earlier, later, before, after, p, end, rest, ahead, b, a, found[ESTIMATE])
            if estimate > found[ESTIMATE]:
                continue
            if estimate >= best and _tabu(sequence, member, tabu, pairs, size, now, a, b):
                found[BARRED] += 1
                if below(random, found[BARRED]) == 0:
                    found[BARRED_FROM], found[BARRED_TO] = a, b
                continue
            found[TIES] = 1 if estimate < found[ESTIMATE] else found[TIES] + 1
            if found[TIES] == 1 or below(random, found[TIES]) == 0:
                found[ESTIMATE], found[FROM], found[TO] = estimate, a, b
        i = j - 1
    if found[FROM] >= 0:
        return found[FROM], found[TO]
    return found[BARRED_FROM], found[BARRED_TO]


@kernel(borrow=True)
def _windows_path(shop, selection, window, path, makespan, random):
    """The part within the window of a longest path, at random where there are several, into `path`; returns its length."""
    later, sequence, after, end, rest = shop.later, selection.sequence, selection.after, selection.end, selection.rest
    count, i = 0, np.uint32(len(path))
    for k in range(window.span[JOBS]):
        x = window.leaving[k]
        if end[x] + rest[later[x]] == makespan:
            count += 1
            if below(random, count) == 0:
                i = x
    for k in range(window.span[MACHINES]):
        x = sequence[window.closing[k]]
        if end[x] + rest[after[x]] == makespan:
            count += 1
            if below(random, count) == 0:
                i = x
    return _traced(shop.earlier, selection.before, selection.rank, end, shop.duration, window.span[FIRST], i, path, random)


@kernel(borrow=True)
def _traced(earlier, before, rank, end, p, first, i, path, random):
    """What makes i end when it does, back to rank `first`, at random where it forks, into `path`; returns how many."""
    n, length = len(path), 0
    while i < n and rank[i] >= first:
        path[length] = i
        length += 1
        x, y, start = earlier[i], before[i], end[i] - p[i]
        by_job = x < n and end[x] == start
        by_machine = y < n and end[y] == start
        if by_job and by_machine and x != y:
            i = x if below(random, 2) == 0 else y
        elif by_machine:
            i = y
        else:
            i = x if by_job else np.uint32(n)
    return length


@kernel(inline=True)
def _moves(size):
    """Return the number of moves of a block of `size` operations."""
    return 1 if size == 2 else 2 * (size - 1) + 2 * (size - 3)


@kernel(inline=True)
def _move(first, last, k):
    """The k-th move of the block at places first..last, none twice: from, to."""
    size = last - first + 1
    if k < size - 1:
        return first + k, last
    k -= size - 1
    if k < size - 1:
        return first + 1 + k, first
    k -= size - 1
    return (first, first + 2 + k) if k < size - 3 else (last, first + 1 + k - (size - 3))


@kernel(borrow=True)
def feasible(sequence, neighbour, times, p, a, b):
    """Return whether moving the operation at place a to place b certainly makes no cycle.

    For a < b there must be no path from the moved one's successor in the job to what stands at b: `neighbour` is `later` and
    `times` are the rests; for a > b they are `earlier` and the ends.
    """
    x, last = neighbour[sequence[a]], sequence[b]
    if x >= len(sequence):
        return True
    slack = times[last] - times[x]
    return x != last and (slack > 0 or (slack == 0 and p[x] > 0))


@kernel(borrow=True)
def _judged_forward(s, earlier, later, before, after, p, end, rest, ahead, a, b, limit):
    """The longest path through what moves where the operation u at place a goes right behind that at place b.

    Anything over `limit` once it is that.
    """
    u, v = s[a], s[b]
    done = np.int64(end[before[u]])
    tail = np.int64(max(rest[later[u]], rest[after[v]]))
    longest = done + (end[v] - end[u]) + p[u] + tail
    if longest > limit:
        return longest
    for k in range(a + 1, b + 1):
        i = s[k]
        done = max(done, end[earlier[i]])
        ahead[k] = done
        done += p[i]
    tail += p[u]
    longest = max(done, end[earlier[u]]) + tail
    for k in range(b, a, -1):
        if longest > limit:
            return longest
        i = s[k]
        tail = max(tail, rest[later[i]]) + p[i]
        longest = max(longest, ahead[k] + tail)
    return longest


@kernel(borrow=True)
def _judged_backward(s, earlier, later, before, after, p, end, rest, ahead, a, b, limit):
    """The longest path through what moves where the operation v at place b goes right before that at place a."""
    u, v = s[a], s[b]
    tail = np.int64(rest[after[v]])
    done = np.int64(max(end[earlier[v]], end[before[u]]))
    longest = done + p[v] + (rest[u] - rest[v]) + tail
    if longest > limit:
        return longest
    for k in range(b - 1, a - 1, -1):
        i = s[k]
        tail = max(tail, rest[later[i]]) + p[i]
        ahead[k] = tail
    done += p[v]
    longest = done + max(tail, rest[later[v]])
    for k in range(a, b):
        if longest > limit:
            return longest
        i = s[k]
        done = max(done, end[earlier[i]])
        longest = max(longest, done + ahead[k])
        done += p[i]
    return longest


@kernel(borrow=True)
def _tabu(sequence, member, tabu, pairs, size, now, a, b):
    """Return whether the move reverses a tabu pair; the table of the machine's pairs begins at `pairs`."""
    moved = member[sequence[a]]
    if a < b:
        for at in range(a + 1, b + 1):
            if tabu[pairs + member[sequence[at]] * size + moved] > now:
                return True
    else:
        for at in range(b, a):
            if tabu[pairs + moved * size + member[sequence[at]]] > now:
                return True
    return False
