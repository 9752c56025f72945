"""A complete selection of the disjunctive graph: machine orders, longest paths to and from each operation, a topological order.

Balas and Vazacopoulos (Management Science 44, 1998) call the longest path from the source to the start of an operation its head
r, and the longest path from the operation's end to the sink its tail q. With the duration p, the array `end` holds r + p, and
`to_end` holds p + q; the makespan is the maximum of r + p + q. After a move, `end` is recomputed only for operations behind the
moved ones in the topological order, `to_end` only for those before them, both within the search's window (windows.py).

A predecessor or successor that does not exist has a number of N or more, for which `end` and `to_end` have extra entries: zero,
or a job's release date. Indices are unsigned, because for signed ones Numba adds a check for negative indices, which doubles the
time of these loops.
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
    recompute_ends,
    recompute_to_end,
    reorder_backward,
    reorder_forward,
    topological_order,
)
from corl.solvers.jobshop.tabu.setups import Setups, setups_of
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

    In flexible shops (reassignment.py), `duration`, `machine`, `first` and `member` change with the choices of machines.
    """

    duration: NDArray[np.int32]
    """[N] durations, in the instance's time units."""
    machine: NDArray[np.int32]
    """[N] the machine of each operation."""
    job_pred: NDArray[np.uint32]
    """[N] the job predecessor of each operation; N + 1 + j for the first operation of job j."""
    job_succ: NDArray[np.uint32]
    """[N] the job successor of each operation; N for the last operation of a job."""
    release: NDArray[np.int32]
    """[J] release dates."""
    last: NDArray[np.uint32]
    """[J] the last operation of each job."""
    first: NDArray[np.int32]
    """[M + 1] the place of each machine's first operation in a sequence."""
    member: NDArray[np.int32]
    """[N] the index of each operation among the operations that its machine can process."""
    eligible: NDArray[np.int32]
    """[M] the number k of operations that each machine can process."""
    pair: NDArray[np.int64]
    """[M + 1] the index of each machine's first pair in a table that holds k x k ordered pairs of operations per machine."""
    setups: Setups | None
    """The set-up times; None if the instance has none."""


class Selection(NamedTuple):
    """The machine orders of a schedule, and arrays of the graph that they imply."""

    sequence: NDArray[np.uint32]
    """[N] the machine orders: the operations of machine 0 in processing order, then those of machine 1, and so on."""
    place: NDArray[np.int32]
    """[N] the index of each operation in `sequence`."""
    machine_pred: NDArray[np.uint32]
    """[N] the machine predecessor of each operation; N if there is none."""
    machine_succ: NDArray[np.uint32]
    """[N] the machine successor of each operation; N if there is none."""
    order: NDArray[np.uint32]
    """[N] a topological order."""
    rank: NDArray[np.int32]
    """[N] the position of each operation in `order`."""
    end: NDArray[np.int32]
    """[N + 1 + J] the earliest end of each operation, r + p; then 0 at index N, and the release dates of the jobs."""
    to_end: NDArray[np.int32]
    """[N + 1] the longest path from the start of each operation to the sink, p + q; 0 at index N."""
    marked: NDArray[np.uint8]
    """[N + 1 + J] a work array, all 0 between calls."""
    scratch: NDArray[np.uint32]
    """[N] a work array."""


def shop_of(instance: JobShopInstance) -> Shop:
    """Return the Shop of an instance in which every operation takes its first choice of machine."""
    taken, choice_machine = instance.choice_first[:-1], instance.choice_machine
    machine = choice_machine[taken]
    job_pred, job_succ, last = job_links(instance)
    first = np.concatenate([[0], np.cumsum(np.bincount(machine, minlength=instance.machines))]).astype(np.int32)
    member, eligible = members(instance)
    pair = np.concatenate([[0], np.cumsum(eligible.astype(np.int64) ** 2)])
    release = instance.release.astype(np.int32)
    duration = instance.choice_duration[taken]
    setups = setups_of(instance, machine)
    return Shop(duration, machine, job_pred, job_succ, release, last, first, member[taken], eligible, pair, setups)


def members(instance: JobShopInstance) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return int32 [C], the index of each choice among the choices of the machine, and int32 [M], the number of choices per
    machine."""
    machine = instance.choice_machine
    eligible = np.bincount(machine, minlength=instance.machines).astype(np.int32)
    first_index = np.cumsum(eligible) - eligible
    member = np.empty(len(machine), np.int32)
    by_machine = np.argsort(machine, kind="stable")
    member[by_machine] = np.arange(len(machine)) - first_index[machine[by_machine]]
    return member, eligible


def new_selection(shop: Shop) -> Selection:
    """Allocate a selection; the caller fills it by `set_sequence` or `sort_starts`, and then by `rebuild`."""
    n, jobs = len(shop.machine), len(shop.last)
    sequence, machine_pred, machine_succ, order, scratch = (np.zeros(n, np.uint32) for _ in range(5))
    place, rank = np.zeros(n, np.int32), np.zeros(n, np.int32)
    end, to_end = np.concatenate([np.zeros(n + 1, np.int32), shop.release]), np.zeros(n + 1, np.int32)
    return Selection(
        sequence, place, machine_pred, machine_succ, order, rank, end, to_end, np.zeros(n + 1 + jobs, np.uint8), scratch
    )


def sort_starts(shop: Shop, start: NDArray[np.int64], sequence: NDArray[np.uint32]) -> None:
    """Write the machine orders of a feasible schedule with the start times `start` [N] to `sequence` [N].

    At equal starts the shorter operation comes first, then the one with the lower number. This agrees with the order of each job,
    so that no cycle can arise.
    """
    set_sequence(shop, np.lexsort((shop.duration, start)), sequence)


@kernel
def set_sequence(shop: Shop, order: NDArray[np.int64], sequence: NDArray[np.uint32]) -> None:
    """Write to `sequence` [N] the machine orders that a total order of all operations, `order` [N], implies."""
    next_place = shop.first[:-1].copy()
    for i in order:
        m = shop.machine[i]
        sequence[next_place[m]] = i
        next_place[m] += 1


@kernel(borrow=True)
def rebuild(shop: Shop, selection: Selection) -> int:
    """Recompute all arrays from `sequence`, in place; return the makespan, or -1 if the orders contain a cycle."""
    sequence, place = selection.sequence, selection.place
    machine_pred, machine_succ = selection.machine_pred, selection.machine_succ
    n = len(sequence)
    for m in range(len(shop.first) - 1):
        begin, end = shop.first[m], shop.first[m + 1]
        for at in range(begin, end):
            i = sequence[at]
            place[i] = at
            machine_pred[i] = sequence[at - 1] if at > begin else n
            machine_succ[i] = sequence[at + 1] if at + 1 < end else n
    order, rank = selection.order, selection.rank
    if not topological_order(shop.job_pred, shop.job_succ, machine_pred, machine_succ, order, rank, selection.scratch):
        return -1
    recompute_ends(order, shop.job_pred, machine_pred, selection.end, shop.duration, shop.setups, np.int64(0), n)
    recompute_to_end(order, shop.job_succ, machine_succ, selection.to_end, shop.duration, shop.setups, n - 1, np.int64(0))
    return makespan(shop.last, selection.end)


@kernel(borrow=True)
def shift(shop: Shop, selection: Selection, window: Window, a: int, b: int) -> int:
    """Move the operation at place a of `sequence` to place b of the same machine, in place; return the makespan.

    All operations at places a..b must be in the window, and the move must not create a cycle.
    """
    sequence, machine_pred, machine_succ = selection.sequence, selection.machine_pred, selection.machine_succ
    order, rank, marked = selection.order, selection.rank, selection.marked
    moved = sequence[a]
    m = shop.machine[moved]
    begin, end = shop.first[m], shop.first[m + 1]
    low, high = min(a, b), max(a, b)
    rotate(sequence, a, b)
    link(sequence, selection.place, machine_pred, machine_succ, low, high, begin, end)
    if a < b:
        reorder_forward(shop.job_pred, machine_pred, order, rank, marked, selection.scratch, moved, sequence[b - 1])
    else:
        reorder_backward(shop.job_succ, machine_succ, order, rank, marked, selection.scratch, moved, sequence[b + 1])
    low, high = max(low - 1, begin), min(high + 1, end - 1)
    lowest, highest = np.int64(window.span[STOP]), np.int64(window.span[FIRST])
    for at in range(low, high + 1):
        k = rank[sequence[at]]
        lowest, highest = min(lowest, k), max(highest, k)
    return update(shop, selection, window, lowest, highest)


@kernel(borrow=True)
def update(shop: Shop, selection: Selection, window: Window, lowest: np.int64, highest: np.int64) -> int:
    """Recompute, within the window, `end` from rank `lowest` on and `to_end` up to rank `highest`; return the makespan."""
    first, stop = np.int64(window.span[FIRST]), np.int64(window.span[STOP])
    order, p, setups = selection.order, shop.duration, shop.setups
    lowest, highest = max(lowest, first), min(highest, stop - 1)
    recompute_ends(order, shop.job_pred, selection.machine_pred, selection.end, p, setups, lowest, stop)
    recompute_to_end(order, shop.job_succ, selection.machine_succ, selection.to_end, p, setups, highest, first)
    return longest_path(shop, selection, window)


@kernel(borrow=True)
def link(
    sequence: NDArray[np.uint32],
    place: NDArray[np.int32],
    machine_pred: NDArray[np.uint32],
    machine_succ: NDArray[np.uint32],
    low: int,
    high: int,
    begin: int,
    end: int,
) -> None:
    """Update `place`, `machine_pred` and `machine_succ` [N] for places low..high of `sequence`, and their neighbours, in place.

    The machine occupies the places begin..end - 1.
    """
    n = len(sequence)
    for at in range(low, high + 1):
        i = sequence[at]
        place[i] = at
        machine_pred[i] = sequence[at - 1] if at > begin else n
        machine_succ[i] = sequence[at + 1] if at + 1 < end else n
    if low > begin:
        machine_succ[sequence[low - 1]] = sequence[low]
    if high + 1 < end:
        machine_pred[sequence[high + 1]] = sequence[high]
