"""The neighbourhood N7 (Zhang, Li, Guan and Rao, Computers & Operations Research 34, 2007) on one random critical path.

In every critical block, an operation is moved directly after the last or directly before the first one, or the first is moved
directly after an inner one, or the last directly before one. A move is considered if it cannot create a cycle (Balas and
Vazacopoulos, 1998, propositions 2.2 and 2.3, made strict for durations of zero). It is estimated by the longest path through the
operations of the moved stretch, with the heads and tails that they would have (section 2.2 there): mostly exact, and rarely above
the true makespan.
A block has no gaps, so one path through the moved operation is known at once; if its length exceeds the best estimate, the other
operations are not evaluated. Only operations in the search's window (windows.py) are considered.
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

__all__ = ["ESTIMATE", "FROM", "LENGTH", "TABU_COUNT", "TIES", "Scan", "choose_move", "feasible", "new_scan"]

_INFINITY = 2**40
ESTIMATE, FROM, TO, TIES, TABU_COUNT, TABU_FROM, TABU_TO, LENGTH = range(8)  # entries of `Scan.found`


class Scan(NamedTuple):
    """Working memory for one evaluation of the neighbourhood."""

    path: NDArray[np.uint32]
    """[N] a critical path, last operation first."""
    ahead: NDArray[np.int64]
    """[N] by place in `sequence`: the heads or tails that a move would result in."""
    found: NDArray[np.int64]
    """[8] ESTIMATE, FROM, TO, TIES: the best move that is not tabu, and the number of moves tied with it; TABU_COUNT, TABU_FROM,
    TABU_TO: the number of tabu moves, and a random one of them; LENGTH: the length of `path`."""


def new_scan(n: int) -> Scan:
    """Allocate a Scan for n operations."""
    return Scan(np.zeros(n, np.uint32), np.zeros(n, np.int64), np.zeros(8, np.int64))


@kernel(borrow=True)
def choose_move(shop, selection, window, scan, tabu, now, best, makespan, random):
    """Choose the move with the least estimate among those that are not tabu; ties are broken at random.

    A move is tabu if it reverses a pair whose entry in `tabu` exceeds `now`, unless its estimate is below `best`.

    Args:
        shop: Shop of the instance.
        selection: Selection with exact ends and rests in the window.
        window: Window of operations that may be moved.
        scan: Scan, overwritten.
        tabu: int32 [pairs], for each ordered pair the move up to which it must not be established again.
        now: The number of the present move.
        best: The best makespan of the search.
        makespan: The current makespan.
        random: uint64 [1], the state of the random number generator.

    Returns:
        (from, to), places in `sequence` for `shift`: a random tabu move if all moves are tabu; (-1, -1) if there is no move.
    """
    found, path, ahead = scan.found, scan.path, scan.ahead
    sequence, place, before, after = selection.sequence, selection.place, selection.before, selection.after
    earlier, later, p, member = shop.earlier, shop.later, shop.duration, shop.member
    end, rest = selection.end, selection.rest
    found[ESTIMATE], found[FROM], found[TO], found[TIES] = _INFINITY, -1, -1, 0
    found[TABU_COUNT], found[TABU_FROM], found[TABU_TO] = 0, -1, -1
    found[LENGTH] = _path_in_window(shop, selection, window, path, makespan, random)
    i = found[LENGTH] - 1
    while i >= 0:  # blocks: runs of the path along one machine
        j = i
        while j > 0 and before[path[j - 1]] == path[j]:
            j -= 1
        first, last = np.int64(place[path[i]]), np.int64(place[path[j]])
        m = shop.machine[path[i]]
        size, pairs = shop.eligible[m], shop.pair[m]
        for k in range(_moves(last - first + 1) if j < i else 0):
            a, b = _move(first, last, k)
            if a < b:
                if not feasible(sequence, later, rest, p, a, b):
                    continue
                estimate = _estimate_forward(sequence, earlier, later, before, after, p, end, rest, ahead, a, b, found[ESTIMATE])
            else:
                if not feasible(sequence, earlier, end, p, a, b):
                    continue
                estimate = _estimate_backward(sequence, earlier, later, before, after, p, end, rest, ahead, b, a, found[ESTIMATE])
            if estimate > found[ESTIMATE]:
                continue
            if estimate >= best and _tabu(sequence, member, tabu, pairs, size, now, a, b):
                found[TABU_COUNT] += 1
                if below(random, found[TABU_COUNT]) == 0:
                    found[TABU_FROM], found[TABU_TO] = a, b
                continue
            found[TIES] = 1 if estimate < found[ESTIMATE] else found[TIES] + 1
            if found[TIES] == 1 or below(random, found[TIES]) == 0:
                found[ESTIMATE], found[FROM], found[TO] = estimate, a, b
        i = j - 1
    if found[FROM] >= 0:
        return found[FROM], found[TO]
    return found[TABU_FROM], found[TABU_TO]


@kernel(borrow=True)
def _path_in_window(shop, selection, window, path, makespan, random):
    """Write to `path` the part of a longest path in the window, a random one if there are several; return its length."""
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
    return _trace_back(shop.earlier, selection.before, selection.rank, end, shop.duration, window.span[FIRST], i, path, random)


@kernel(borrow=True)
def _trace_back(earlier, before, rank, end, p, first, i, path, random):
    """Trace a longest path from operation i back to rank `first`, choosing at random at forks, into `path`; return its length."""
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
    """Return the k-th of the distinct moves of the block at places first..last, as (from, to)."""
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
    """Return whether moving the operation at place a to place b of its machine provably creates no cycle.

    For a < b there must be no path from the job successor of the moved operation to the operation at b; for a > b, no path from
    the operation at b to the job predecessor.

    Args:
        sequence: uint32 [N], the machine orders.
        neighbour: uint32 [N], `Shop.later` for a < b, `Shop.earlier` for a > b.
        times: int32, `Selection.rest` for a < b, `Selection.end` for a > b.
        p: int32 [N], durations.
        a: Place in `sequence` of the operation.
        b: Its new place.
    """
    x, last = neighbour[sequence[a]], sequence[b]
    if x >= len(sequence):
        return True
    slack = times[last] - times[x]
    return x != last and (slack > 0 or (slack == 0 and p[x] > 0))


@kernel(borrow=True)
def _estimate_forward(s, earlier, later, before, after, p, end, rest, ahead, a, b, limit):
    """Return the longest path through places a..b if the operation at place a is moved directly after the one at place b.

    As soon as it is known to exceed `limit`, any value above `limit` is returned. `ahead` [N] is scratch.
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
def _estimate_backward(s, earlier, later, before, after, p, end, rest, ahead, a, b, limit):
    """Return the longest path through places a..b if the operation at place b is moved directly before the one at place a.

    As soon as it is known to exceed `limit`, any value above `limit` is returned. `ahead` [N] is scratch.
    """
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
    """Return whether moving place a to place b reverses a tabu pair.

    The machine's pairs begin at entry `pairs` of `tabu`; `size` operations can be processed on it (`Shop.eligible`).
    """
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
