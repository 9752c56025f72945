"""A complete selection of the disjunctive graph: the order of every machine, with heads, tails and a topological order.

Balas and Vazacopoulos (Management Science 44, 1998) call the longest path from the source to an operation its head r and
that from its end to the sink its tail q (here without its own duration), so the makespan is the largest r + p + q. After a
move only what changes is computed anew, in the part of the topological order behind it (heads) and before it (tails).

An operation that is not there has the number -1; durations, heads and tails have one entry more than there are operations, a
zero, that this number finds. Loops call no function that takes arrays: numba would count references at each call, which
made all of this five times slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["Selection", "Shop", "new_selection", "rebuild", "set_sequence", "shift", "shop_of", "sort_starts"]


class Shop(NamedTuple):
    """What the kernels know of an instance without choices: N operations, J jobs, M machines."""

    duration: NDArray[np.int32]
    """[N + 1]"""
    machine: NDArray[np.int32]
    """[N]"""
    earlier: NDArray[np.int32]
    """[N] the operation before in the job, -1: none."""
    later: NDArray[np.int32]
    """[N] the operation after in the job, -1: none."""
    release: NDArray[np.int32]
    """[N] the job's release date where it is its first operation, else 0."""
    last: NDArray[np.int32]
    """[J] the last operation of each job."""
    first: NDArray[np.int32]
    """[M + 1] where the operations of a machine begin in a sequence."""
    member: NDArray[np.int32]
    """[N] the number of an operation among those of its machine."""
    pair: NDArray[np.int64]
    """[M + 1] where the k x k pairs of a machine's k operations begin in a table of all such pairs."""


class Selection(NamedTuple):
    """The orders of the machines and what follows from them."""

    sequence: NDArray[np.int32]
    """[N] the operations, machine after machine, each in its order."""
    place: NDArray[np.int32]
    """[N] where an operation stands in `sequence`."""
    before: NDArray[np.int32]
    """[N] the operation before on the machine, -1: none."""
    after: NDArray[np.int32]
    """[N] the operation after on the machine, -1: none."""
    order: NDArray[np.int32]
    """[N] a topological order."""
    rank: NDArray[np.int32]
    """[N] where an operation stands in `order`."""
    head: NDArray[np.int32]
    """[N + 1] r, the earliest start."""
    tail: NDArray[np.int32]
    """[N + 1] q, the longest path from its end to the sink."""
    marked: NDArray[np.uint8]
    """[N] scratch, all 0 between calls."""
    spare: NDArray[np.int32]
    """[N] scratch."""


def shop_of(instance: JobShopInstance) -> Shop:
    """The Shop of an instance without choices."""
    machine, n = instance.choice_machine, instance.operations
    earlier, later = np.arange(-1, n - 1, dtype=np.int32), np.arange(1, n + 1, dtype=np.int32)
    opening, last = instance.first[:-1], instance.first[1:] - 1
    earlier[opening], later[last] = -1, -1
    release = np.zeros(n, np.int32)
    release[opening] = instance.release
    sizes = np.bincount(machine, minlength=instance.machines)
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    member = np.empty(n, np.int32)
    grouped = np.argsort(machine, kind="stable")
    member[grouped] = np.arange(n) - first[machine[grouped]]
    pair = np.concatenate([[0], np.cumsum(sizes.astype(np.int64) ** 2)])
    return Shop(np.append(instance.choice_duration, np.int32(0)), machine, earlier, later, release, last, first, member, pair)


def new_selection(n: int) -> Selection:
    """Memory for n operations; `set_sequence` or `sort_starts`, then `rebuild`, fill it."""
    sequence, place, before, after, order, rank, spare = (np.zeros(n, np.int32) for _ in range(7))
    head, tail = np.zeros(n + 1, np.int32), np.zeros(n + 1, np.int32)
    return Selection(sequence, place, before, after, order, rank, head, tail, np.zeros(n, np.uint8), spare)


@kernel
def sort_starts(shop, start, sequence):
    """The orders of the machines in a feasible schedule, int64 `start` [N] up to 2**33, into `sequence`.

    Of equal starts the shorter operation comes first, then the lower number, which agrees with the jobs: no cycle can arise.
    """
    key = np.empty(len(start), np.int64)
    for i in range(len(start)):
        key[i] = (start[i] << 30) + shop.duration[i]
    set_sequence(shop, np.argsort(key, kind="mergesort"), sequence)


@kernel
def set_sequence(shop, order, sequence):
    """Deal a total order of all operations out to the machines, into `sequence`."""
    fill = shop.first[:-1].copy()
    for i in order:
        m = shop.machine[i]
        sequence[fill[m]] = i
        fill[m] += 1


@kernel(borrow=True)
def rebuild(shop, selection):
    """Everything anew from `sequence`; returns the makespan, or -1 where the orders make a cycle."""
    sequence, place, before, after = selection.sequence, selection.place, selection.before, selection.after
    for m in range(len(shop.first) - 1):
        begin, end = shop.first[m], shop.first[m + 1]
        for at in range(begin, end):
            i = sequence[at]
            place[i] = at
            before[i] = sequence[at - 1] if at > begin else -1
            after[i] = sequence[at + 1] if at + 1 < end else -1
    if not _sort(shop.earlier, shop.later, before, after, selection.order, selection.rank, selection.spare):
        return -1
    order, head, tail, p = selection.order, selection.head, selection.tail, shop.duration
    release, earlier, later = shop.release, shop.earlier, shop.later
    for k in range(len(order)):
        i = order[k]
        x, y = earlier[i], before[i]
        head[i] = max(release[i], head[x] + p[x], head[y] + p[y])
    for k in range(len(order) - 1, -1, -1):
        i = order[k]
        x, y = later[i], after[i]
        tail[i] = max(tail[x] + p[x], tail[y] + p[y])
    return _latest(shop.last, head, p)


@kernel(borrow=True)
def _sort(earlier, later, before, after, order, rank, waits):
    """A topological order (Kahn, 1962); False if there is none."""
    n, filled = len(order), 0
    for i in range(n):
        waits[i] = (earlier[i] >= 0) + (before[i] >= 0)
        if waits[i] == 0:
            order[filled] = i
            filled += 1
    done = 0
    while done < filled:
        i = order[done]
        rank[i] = done
        done += 1
        x, y = later[i], after[i]
        if x >= 0:
            waits[x] -= 1
            if waits[x] == 0:
                order[filled] = x
                filled += 1
        if y >= 0:
            waits[y] -= 1
            if waits[y] == 0:
                order[filled] = y
                filled += 1
    return filled == n


@kernel(borrow=True)
def _latest(last, head, p):
    """The latest end of a job: the makespan."""
    c = 0
    for i in last:
        c = max(c, head[i] + p[i])
    return c


@kernel(borrow=True)
def shift(shop, selection, a, b):
    """Move the operation at place a of `sequence` to place b of the same machine; returns the makespan.

    The move must not make a cycle.
    """
    sequence, before, after = selection.sequence, selection.before, selection.after
    order, rank, marked = selection.order, selection.rank, selection.marked
    moved = sequence[a]
    m = shop.machine[moved]
    begin, end = shop.first[m], shop.first[m + 1]
    low, high = min(a, b), max(a, b)
    _rotate(sequence, a, b)
    _link(sequence, selection.place, before, after, low, high, begin, end)
    if a < b:
        _reorder_forward(shop.earlier, before, order, rank, marked, selection.spare, moved, sequence[b - 1])
    else:
        _reorder_backward(shop.later, after, order, rank, marked, selection.spare, moved, sequence[b + 1])
    low, high = max(low - 1, begin), min(high + 1, end - 1)
    head, tail, p = selection.head, selection.tail, shop.duration
    _update_heads(sequence, order, rank, marked, shop.release, shop.earlier, before, shop.later, after, head, p, low, high)
    _update_tails(sequence, order, rank, marked, shop.later, after, shop.earlier, before, tail, p, low, high)
    return _latest(shop.last, head, p)


@kernel(borrow=True)
def _rotate(sequence, a, b):
    moved = sequence[a]
    if a < b:
        for at in range(a, b):
            sequence[at] = sequence[at + 1]
    else:
        for at in range(a, b, -1):
            sequence[at] = sequence[at - 1]
    sequence[b] = moved


@kernel(borrow=True)
def _link(sequence, place, before, after, low, high, begin, end):
    """before, after and place of what stands at low..high of `sequence`, and of its neighbours, within begin..end - 1."""
    for at in range(low, high + 1):
        i = sequence[at]
        place[i] = at
        before[i] = sequence[at - 1] if at > begin else -1
        after[i] = sequence[at + 1] if at + 1 < end else -1
    if low > begin:
        after[sequence[low - 1]] = sequence[low]
    if high + 1 < end:
        before[sequence[high + 1]] = sequence[high]


@kernel(borrow=True)
def _reorder_forward(earlier, before, order, rank, marked, spare, u, v):
    """Repair the topological order where u now follows v: u and what follows it go behind v."""
    to, kept = rank[u], 0
    for k in range(rank[u], rank[v] + 1):
        i = order[k]
        x, y = earlier[i], before[i]
        if i == u or (x >= 0 and marked[x]) or (y >= 0 and marked[y]):
            marked[i] = 1
            spare[kept] = i
            kept += 1
        else:
            order[to] = i
            rank[i] = to
            to += 1
    for k in range(kept):
        i = spare[k]
        marked[i] = 0
        order[to + k] = i
        rank[i] = to + k


@kernel(borrow=True)
def _reorder_backward(later, after, order, rank, marked, spare, v, u):
    """Repair the topological order where v now precedes u: v and what precedes it go before u."""
    to, kept = rank[v], 0
    for k in range(rank[v], rank[u] - 1, -1):
        i = order[k]
        x, y = later[i], after[i]
        if i == v or (x >= 0 and marked[x]) or (y >= 0 and marked[y]):
            marked[i] = 1
            spare[kept] = i
            kept += 1
        else:
            order[to] = i
            rank[i] = to
            to -= 1
    for k in range(kept):
        i = spare[k]
        marked[i] = 0
        order[to - k] = i
        rank[i] = to - k


@kernel(borrow=True)
def _update_heads(sequence, order, rank, marked, release, earlier, before, later, after, head, p, low, high):
    """Heads anew: of what stands at low..high of `sequence`, and of all behind that depends on a changed one.

    Here `marked` is by rank.
    """
    k, last = len(order), -1
    for at in range(low, high + 1):
        position = rank[sequence[at]]
        marked[position] = 1
        k, last = min(k, position), max(last, position)
    while k <= last:
        if marked[k]:
            marked[k] = 0
            i = order[k]
            x, y = earlier[i], before[i]
            r = max(release[i], head[x] + p[x], head[y] + p[y])
            if r != head[i]:
                head[i] = r
                x, y = later[i], after[i]
                if x >= 0:
                    marked[rank[x]] = 1
                    last = max(last, rank[x])
                if y >= 0:
                    marked[rank[y]] = 1
                    last = max(last, rank[y])
        k += 1


@kernel(borrow=True)
def _update_tails(sequence, order, rank, marked, later, after, earlier, before, tail, p, low, high):
    """Tails anew: of what stands at low..high of `sequence`, and of all before that depends on a changed one."""
    k, first = -1, len(order)
    for at in range(low, high + 1):
        position = rank[sequence[at]]
        marked[position] = 1
        k, first = max(k, position), min(first, position)
    while k >= first:
        if marked[k]:
            marked[k] = 0
            i = order[k]
            x, y = later[i], after[i]
            q = max(tail[x] + p[x], tail[y] + p[y])
            if q != tail[i]:
                tail[i] = q
                x, y = earlier[i], before[i]
                if x >= 0:
                    marked[rank[x]] = 1
                    first = min(first, rank[x])
                if y >= 0:
                    marked[rank[y]] = 1
                    first = min(first, rank[y])
        k -= 1
