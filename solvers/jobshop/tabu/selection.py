"""A complete selection of the disjunctive graph: machine orders, earliest ends, longest rests, and a topological order.

Balas and Vazacopoulos (Management Science 44, 1998) call the longest path from the source to an operation its head r, and
the longest path from its end to the sink its tail q. The arrays hold r + p, the end, and p + q, the rest from its start; the
makespan is the maximum of r + (p + q). After a move, only the ends of operations after it in the topological order, and the rests
of operations before it, are recomputed, within the search's window (windows.py).

A predecessor or successor that does not exist has a number from N on, where `end` and `rest` have extra entries: zero, or a job's
release date. Indices are unsigned: numba checks signed ones for Python's negative indices, which doubles the time of these loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.rotate import rotate
from corl.solvers.jobshop.tabu.longest_paths import (
    job_links,
    makespan,
    reorder_backward,
    reorder_forward,
    sweep_ends,
    sweep_rests,
    topological,
)
from corl.solvers.jobshop.tabu.windows import FIRST, STOP, Window, longest_path

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = [
    "Selection",
    "Shop",
    "link",
    "members",
    "new_selection",
    "rebuild",
    "set_sequence",
    "shift",
    "shop_of",
    "sort_starts",
    "update",
]


class Shop(NamedTuple):
    """An instance as arrays for kernels: N operations, J jobs, M machines.

    In flexible shops (reassignment.py), duration, machine, first and member follow the current choices of machines, and change
    with them.
    """

    duration: NDArray[np.int32]
    """[N] in the instance's time units."""
    machine: NDArray[np.int32]
    """[N] the machine of each operation."""
    earlier: NDArray[np.uint32]
    """[N] the job predecessor; N + 1 + j for the first operation of job j."""
    later: NDArray[np.uint32]
    """[N] the job successor; N: none."""
    release: NDArray[np.int32]
    """[J] release dates."""
    last: NDArray[np.uint32]
    """[J] the last operation of each job."""
    first: NDArray[np.int32]
    """[M + 1] the offset of each machine's operations in a sequence."""
    member: NDArray[np.int32]
    """[N] the index of an operation among those that its machine can process."""
    eligible: NDArray[np.int32]
    """[M] the number k of operations that a machine can process."""
    pair: NDArray[np.int64]
    """[M + 1] the offset of a machine's k x k ordered pairs in a table of all such pairs."""


class Selection(NamedTuple):
    """The machine orders, and the graph arrays that follow from them."""

    sequence: NDArray[np.uint32]
    """[N] the operations of machine 0 in processing order, then those of machine 1, and so on."""
    place: NDArray[np.int32]
    """[N] the position of each operation in `sequence`."""
    before: NDArray[np.uint32]
    """[N] the machine predecessor; N: none."""
    after: NDArray[np.uint32]
    """[N] the machine successor; N: none."""
    order: NDArray[np.uint32]
    """[N] a topological order."""
    rank: NDArray[np.int32]
    """[N] the position of each operation in `order`."""
    end: NDArray[np.int32]
    """[N + 1 + J] r + p, the earliest end; 0 at N, then the release dates."""
    rest: NDArray[np.int32]
    """[N + 1] p + q, the longest path from its start to the sink; 0 at N."""
    marked: NDArray[np.uint8]
    """[N + 1 + J] scratch, all 0 between calls."""
    scratch: NDArray[np.uint32]
    """[N] scratch."""


def shop_of(instance: JobShopInstance) -> Shop:
    """Return the Shop of an instance in which every operation takes its first choice of machine."""
    taken, choice_machine = instance.choice_first[:-1], instance.choice_machine
    machine = choice_machine[taken]
    earlier, later, last = job_links(instance)
    first = np.concatenate([[0], np.cumsum(np.bincount(machine, minlength=instance.machines))]).astype(np.int32)
    member, eligible = members(instance)
    pair = np.concatenate([[0], np.cumsum(eligible.astype(np.int64) ** 2)])
    release = instance.release.astype(np.int32)
    duration = instance.choice_duration[taken]
    return Shop(duration, machine, earlier, later, release, last, first, member[taken], eligible, pair)


def members(instance: JobShopInstance) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return int32 [C], the index of each choice among those of its machine, and int32 [M], the number of choices per machine."""
    machine = instance.choice_machine
    eligible = np.bincount(machine, minlength=instance.machines).astype(np.int32)
    begin = np.cumsum(eligible) - eligible
    member = np.empty(len(machine), np.int32)
    grouped = np.argsort(machine, kind="stable")
    member[grouped] = np.arange(len(machine)) - begin[machine[grouped]]
    return member, eligible


def new_selection(shop: Shop) -> Selection:
    """Allocate a selection; `set_sequence` or `sort_starts`, then `rebuild`, fill it."""
    n, jobs = len(shop.machine), len(shop.last)
    sequence, before, after, order, scratch = (np.zeros(n, np.uint32) for _ in range(5))
    place, rank = np.zeros(n, np.int32), np.zeros(n, np.int32)
    end, rest = np.concatenate([np.zeros(n + 1, np.int32), shop.release]), np.zeros(n + 1, np.int32)
    return Selection(sequence, place, before, after, order, rank, end, rest, np.zeros(n + 1 + jobs, np.uint8), scratch)


def sort_starts(shop: Shop, start: NDArray[np.int64], sequence: NDArray[np.uint32]) -> None:
    """Write the machine orders of a feasible schedule with the start times `start` [N] to `sequence` [N].

    At equal starts the shorter operation comes first, then the one with the lower number; this agrees with the job orders, so no
    cycle can arise.
    """
    set_sequence(shop, np.lexsort((shop.duration, start)), sequence)


@kernel
def set_sequence(shop: Shop, order: NDArray[np.int64], sequence: NDArray[np.uint32]) -> None:
    """Write to `sequence` [N] the machine orders that a total order of all operations, `order` [N], implies."""
    fill = shop.first[:-1].copy()
    for i in order:
        m = shop.machine[i]
        sequence[fill[m]] = i
        fill[m] += 1


@kernel(borrow=True)
def rebuild(shop: Shop, selection: Selection) -> int:
    """Recompute all arrays from `sequence`, in place; return the makespan, or -1 if the orders contain a cycle."""
    sequence, place, before, after = selection.sequence, selection.place, selection.before, selection.after
    n = len(sequence)
    for m in range(len(shop.first) - 1):
        begin, end = shop.first[m], shop.first[m + 1]
        for at in range(begin, end):
            i = sequence[at]
            place[i] = at
            before[i] = sequence[at - 1] if at > begin else n
            after[i] = sequence[at + 1] if at + 1 < end else n
    order, rank = selection.order, selection.rank
    if not topological(shop.earlier, shop.later, before, after, order, rank, selection.scratch):
        return -1
    sweep_ends(order, shop.earlier, before, selection.end, shop.duration, np.int64(0), n)
    sweep_rests(order, shop.later, after, selection.rest, shop.duration, n - 1, np.int64(0))
    return makespan(shop.last, selection.end)


@kernel(borrow=True)
def shift(shop: Shop, selection: Selection, window: Window, a: int, b: int) -> int:
    """Move the operation at place a of `sequence` to place b of the same machine, in place; return the makespan.

    All operations at places a..b must be in the window, and the move must not create a cycle.
    """
    sequence, before, after = selection.sequence, selection.before, selection.after
    order, rank, marked = selection.order, selection.rank, selection.marked
    moved = sequence[a]
    m = shop.machine[moved]
    begin, end = shop.first[m], shop.first[m + 1]
    low, high = min(a, b), max(a, b)
    rotate(sequence, a, b)
    link(sequence, selection.place, before, after, low, high, begin, end)
    if a < b:
        reorder_forward(shop.earlier, before, order, rank, marked, selection.scratch, moved, sequence[b - 1])
    else:
        reorder_backward(shop.later, after, order, rank, marked, selection.scratch, moved, sequence[b + 1])
    low, high = max(low - 1, begin), min(high + 1, end - 1)
    lowest, highest = np.int64(window.span[STOP]), np.int64(window.span[FIRST])
    for at in range(low, high + 1):
        k = rank[sequence[at]]
        lowest, highest = min(lowest, k), max(highest, k)
    return update(shop, selection, window, lowest, highest)


@kernel(borrow=True)
def update(shop: Shop, selection: Selection, window: Window, lowest: np.int64, highest: np.int64) -> int:
    """Recompute, within the window, ends from rank `lowest` on and rests up to rank `highest`; return the makespan."""
    first, stop, order = np.int64(window.span[FIRST]), np.int64(window.span[STOP]), selection.order
    sweep_ends(order, shop.earlier, selection.before, selection.end, shop.duration, max(lowest, first), stop)
    sweep_rests(order, shop.later, selection.after, selection.rest, shop.duration, min(highest, stop - 1), first)
    return longest_path(shop, selection, window)


@kernel(borrow=True)
def link(
    sequence: NDArray[np.uint32],
    place: NDArray[np.int32],
    before: NDArray[np.uint32],
    after: NDArray[np.uint32],
    low: int,
    high: int,
    begin: int,
    end: int,
) -> None:
    """Update `place`, `before` and `after` [N] for places low..high of `sequence`, and their neighbours, in place.

    The machine occupies the places begin..end - 1.
    """
    n = len(sequence)
    for at in range(low, high + 1):
        i = sequence[at]
        place[i] = at
        before[i] = sequence[at - 1] if at > begin else n
        after[i] = sequence[at + 1] if at + 1 < end else n
    if low > begin:
        after[sequence[low - 1]] = sequence[low]
    if high + 1 < end:
        before[sequence[high + 1]] = sequence[high]
