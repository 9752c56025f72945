"""The neighbourhood N7 (Zhang, Li, Guan and Rao, Computers & Operations Research 34, 2007) on one random critical path.

A critical block is a run of the path along one machine. A move takes an operation of the block directly behind the block's last
operation or directly before its first one; or it takes the first operation directly behind an inner one, or the last directly
before an inner one. With set-ups (setups.py), a move takes any operation of the block to any other place in it: there, moves
inside a block can also shorten the path. A move is considered only if it provably creates no cycle (Balas and Vazacopoulos, 1998,
propositions 2.2 and 2.3, made strict for durations of zero).

A move is estimated by the longest path through the operations between the old and the new place, with the heads and tails that
these operations would have (section 2.2 of Balas and Vazacopoulos). The estimate is mostly exact, and rarely above the true
makespan. Because a block has no idle time, the length of one path through the moved operation is known at once; if this length
exceeds the best estimate so far, the move is discarded. Only operations in the search's window (windows.py) are considered.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.rng import below
from corl.solvers.jobshop.tabu.setups import after_setup
from corl.solvers.jobshop.tabu.windows import FIRST, JOBS, MACHINES

__all__ = ["ESTIMATE", "FROM", "LENGTH", "TABU_COUNT", "TIES", "Scan", "choose_move", "feasible", "new_scan"]

_INFINITY = 2**40
ESTIMATE, FROM, TO, TIES, TABU_COUNT, TABU_FROM, TABU_TO, LENGTH = range(8)
"""Indices into `Scan.found`."""


class Scan(NamedTuple):
    """Work arrays for one evaluation of the neighbourhood."""

    path: NDArray[np.uint32]
    """[N] a critical path, last operation first."""
    new_times: NDArray[np.int64]
    """[N] for each place in `sequence`, the head or the tail that its operation would have after a move."""
    found: NDArray[np.int64]
    """[8] ESTIMATE, FROM, TO: the best move that is not tabu. TIES: the number of moves that are not tabu and
    have the smallest estimate. TABU_COUNT: the number of tabu moves. TABU_FROM, TABU_TO: a random tabu move. LENGTH: the number
    of operations on `path`."""


def new_scan(n: int) -> Scan:
    """Allocate a Scan for n operations."""
    return Scan(np.zeros(n, np.uint32), np.zeros(n, np.int64), np.zeros(8, np.int64))


@kernel(borrow=True)
def choose_move(shop, selection, window, scan, tabu, now, best, makespan, random):
    """Choose the move with the smallest estimate among those that are not tabu; ties are broken at random.

    A move is tabu if it establishes an order of two operations whose entry in `tabu` exceeds `now`, unless its estimate is below
    `best`.

    Args:
        shop: The Shop of the instance.
        selection: The Selection; `end` and `to_end` are exact in the window.
        window: The Window of operations that may be moved.
        scan: The Scan, overwritten.
        tabu: int32 [pairs], `TabuState.tabu`.
        now: The number of the present move.
        best: The best makespan of the search.
        makespan: The current makespan.
        random: uint64 [1], the state of the random number generator.

    Returns:
        (from, to), places in `sequence` for `shift`. If all moves are tabu, a random tabu move; (-1, -1) if there is no move.
    """
    found, path, new_times = scan.found, scan.path, scan.new_times
    sequence, place = selection.sequence, selection.place
    machine_pred, machine_succ = selection.machine_pred, selection.machine_succ
    job_pred, job_succ, p, member, setups = shop.job_pred, shop.job_succ, shop.duration, shop.member, shop.setups
    end, to_end = selection.end, selection.to_end
    found[ESTIMATE], found[FROM], found[TO], found[TIES] = _INFINITY, -1, -1, 0
    found[TABU_COUNT], found[TABU_FROM], found[TABU_TO] = 0, -1, -1
    found[LENGTH] = _path_in_window(shop, selection, window, path, makespan, random)
    i = found[LENGTH] - 1
    while i >= 0:  # path[j]..path[i] is a block
        j = i
        while j > 0 and machine_pred[path[j - 1]] == path[j]:
            j -= 1
        first, last = np.int64(place[path[i]]), np.int64(place[path[j]])
        m = shop.machine[path[i]]
        size, pairs = shop.eligible[m], shop.pair[m]
        for k in range(_move_count(setups, last - first + 1) if j < i else 0):
            (a, b), limit = _nth_move(setups, first, last, k), found[ESTIMATE]
            if a < b:
                if not feasible(sequence, job_succ, to_end, p, a, b):
                    continue
                estimate = _estimate_forward(
                    sequence, job_pred, job_succ, machine_pred, machine_succ, p, setups, end, to_end, new_times, a, b, limit
                )
            else:
                if not feasible(sequence, job_pred, end, p, a, b):
                    continue
                estimate = _estimate_backward(
                    sequence, job_pred, job_succ, machine_pred, machine_succ, p, setups, end, to_end, new_times, b, a, limit
                )
            if estimate > limit:
                continue
            if estimate >= best and _is_tabu(sequence, member, tabu, pairs, size, now, a, b):
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
    """Write to `path` the part of a longest path that is in the window, and return its length; ties are broken at random."""
    job_succ, sequence = shop.job_succ, selection.sequence
    machine_succ, end, to_end = selection.machine_succ, selection.end, selection.to_end
    count, i = 0, np.uint32(len(path))
    for k in range(window.span[JOBS]):
        x = window.last_of_jobs[k]
        if end[x] + to_end[job_succ[x]] == makespan:
            count += 1
            if below(random, count) == 0:
                i = x
    for k in range(window.span[MACHINES]):
        x = sequence[window.last_of_machines[k]]
        if end[x] + after_setup(to_end[machine_succ[x]], shop.setups, x, x, machine_succ[x]) == makespan:
            count += 1
            if below(random, count) == 0:
                i = x
    job_pred, machine_pred, rank, first = shop.job_pred, selection.machine_pred, selection.rank, window.span[FIRST]
    return _trace_back(job_pred, machine_pred, rank, end, shop.duration, shop.setups, first, i, path, random)


@kernel(borrow=True)
def _trace_back(job_pred, machine_pred, rank, end, p, setups, first, i, path, random):
    """Write to `path` a longest path from operation i back to rank `first`, random at forks; return its number of operations."""
    n, length = len(path), 0
    while i < n and rank[i] >= first:
        path[length] = i
        length += 1
        x, y, start = job_pred[i], machine_pred[i], end[i] - p[i]
        by_job = x < n and end[x] == start
        by_machine = y < n and after_setup(end[y], setups, i, y, i) == start
        if by_job and by_machine and x != y:
            i = x if below(random, 2) == 0 else y
        elif by_machine:
            i = y
        else:
            i = x if by_job else np.uint32(n)
    return length


@kernel(inline=True)
def _move_count(setups, size):
    """Return the number of distinct moves of a block of `size` operations: N7, or with set-ups every move inside the block."""
    if setups is not None:
        return (size - 1) * (size - 1)
    return 1 if size == 2 else 2 * (size - 1) + 2 * (size - 3)


@kernel(inline=True)
def _nth_move(setups, first, last, k):
    """Return the k-th of the distinct moves of the block at places first..last, as (from, to)."""
    size = last - first + 1
    if setups is not None:
        if k < size - 1:
            return first, first + 1 + k
        a, b = 1 + (k - size + 1) // (size - 2), (k - size + 1) % (size - 2)
        return first + a, first + b + (2 if b >= a - 1 else 0)  # the step back by one is the move of the other forward
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
    the operation at b to the job predecessor. There is no such path if the `times` of its two ends have the opposite order.

    Args:
        sequence: uint32 [N], the machine orders.
        neighbour: uint32 [N], `Shop.job_succ` for a < b, `Shop.job_pred` for a > b.
        times: int32, `Selection.to_end` for a < b, `Selection.end` for a > b.
        p: int32 [N], durations.
        a: The place of the operation in `sequence`.
        b: The new place.
    """
    x, last = neighbour[sequence[a]], sequence[b]
    if x >= len(sequence):
        return True
    slack = times[last] - times[x]
    return x != last and (slack > 0 or (slack == 0 and p[x] > 0))


@kernel(borrow=True)
def _estimate_forward(s, job_pred, job_succ, machine_pred, machine_succ, p, setups, end, to_end, new_times, a, b, limit):
    """Return the longest path through places a..b if the operation at place a is moved directly behind that at place b.

    s: uint32 [N], the machine orders. new_times: int64 [N], a work array. If the result exceeds `limit`, it is not exact.
    """
    u, v, x, y = s[a], s[b], machine_pred[s[a]], machine_succ[s[b]]
    head = np.int64(end[x])
    tail = np.int64(max(to_end[job_succ[u]], after_setup(to_end[y], setups, u, u, y)))
    longest = head + _length_before(setups, s, x, end, p, a, b) + p[u] + tail
    if longest > limit:
        return longest
    for k in range(a + 1, b + 1):
        i = s[k]
        head = max(after_setup(head, setups, u, x, i), end[job_pred[i]])
        new_times[k] = head
        head += p[i]
        x = i
    tail += p[u]
    longest = max(after_setup(head, setups, u, v, u), end[job_pred[u]]) + tail
    y = u
    for k in range(b, a, -1):
        if longest > limit:
            return longest
        i = s[k]
        tail = max(after_setup(tail, setups, u, i, y), to_end[job_succ[i]]) + p[i]
        longest = max(longest, new_times[k] + tail)
        y = i
    return longest


@kernel(inline=True, borrow=True)
def _length_before(setups, s, x, end, p, a, b):
    """Return the length from the end of x to the start of the operation at place a, once it is moved from the head of a block
    behind place b; x is its predecessor now."""
    if setups is None:
        return end[s[b]] - end[s[a]]
    first = s[a + 1]
    return after_setup(after_setup(end[s[b]] - end[first] + p[first], setups, first, x, first), setups, first, s[b], s[a])


@kernel(inline=True, borrow=True)
def _length_behind(setups, s, y, to_end, p, a, b):
    """Return the length from the end of the operation at place b, once it is moved before place a of its block, to the start of
    y, its successor now."""
    if setups is None:
        return to_end[s[a]] - to_end[s[b]]
    last = s[b - 1]
    return after_setup(after_setup(to_end[s[a]] - to_end[last] + p[last], setups, last, last, y), setups, last, s[b], s[a])


@kernel(borrow=True)
def _estimate_backward(s, job_pred, job_succ, machine_pred, machine_succ, p, setups, end, to_end, new_times, a, b, limit):
    """Return the longest path through places a..b if the operation at place b is moved directly before that at place a.

    s: uint32 [N], the machine orders. new_times: int64 [N], a work array. If the result exceeds `limit`, it is not exact.
    """
    u, v, x, y = s[a], s[b], machine_pred[s[a]], machine_succ[s[b]]
    tail = np.int64(to_end[y])
    head = np.int64(max(end[job_pred[v]], after_setup(end[x], setups, v, x, v)))
    longest = head + p[v] + _length_behind(setups, s, y, to_end, p, a, b) + tail
    if longest > limit:
        return longest
    for k in range(b - 1, a - 1, -1):
        i = s[k]
        tail = max(after_setup(tail, setups, v, i, y), to_end[job_succ[i]]) + p[i]
        new_times[k] = tail
        y = i
    head += p[v]
    longest = head + max(after_setup(tail, setups, v, v, u), to_end[job_succ[v]])
    x = v
    for k in range(a, b):
        if longest > limit:
            return longest
        i = s[k]
        head = max(after_setup(head, setups, v, x, i), end[job_pred[i]])
        longest = max(longest, head + new_times[k])
        head += p[i]
        x = i
    return longest


@kernel(borrow=True)
def _is_tabu(sequence, member, tabu, pairs, size, now, a, b):
    """Return whether moving place a to place b establishes an order that is tabu at move `now`.

    Args:
        sequence: uint32 [N], the machine orders.
        member: int32 [N], `Shop.member`.
        tabu: int32, `TabuState.tabu`.
        pairs: The index in `tabu` of the machine's first pair.
        size: The number of operations that the machine can process (`Shop.eligible`).
        now: The number of the present move.
        a: The place of the operation in `sequence`.
        b: The new place.
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
