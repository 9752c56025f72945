"""Moves to other machines: a critical operation is moved to the best position on another eligible machine.

The positions are those of Mastrolilli and Gambardella (Journal of Scheduling 3, 2000, section 4). On the other machine they
consider two sets of operations: those that end later than the job predecessor of the moved operation, and those with a longer
path to the end than the job successor of the moved operation. Some position between the two sets is optimal, and no position
there creates a cycle.

Mastrolilli and Gambardella recompute heads and tails without the moved operation for each move. Here the heads and tails of the
current schedule are used, which are too large only for operations with a path to or from the moved one. Of the paths that avoid
the moved operation, only the one through its predecessor and successor on the old machine is evaluated.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.rotate import rotate
from corl.kernels.search import bisect_left_falling_by, bisect_right_by
from corl.rng import below
from corl.solvers.jobshop.tabu.longest_paths import reorder_backward, reorder_forward
from corl.solvers.jobshop.tabu.selection import Shop, members
from corl.solvers.jobshop.tabu.setups import after_setup, after_setup_on

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["ESTIMATE", "OPERATION", "TABU_COUNT", "TABU_OPERATION", "TIES"]
__all__ += ["Choices", "choices_of", "choose_reassignment", "earliest_place", "reassign", "set_choice", "take"]

ESTIMATE, OPERATION, CHOICE, PLACE, TIES, TABU_COUNT, TABU_OPERATION, TABU_CHOICE, TABU_PLACE = range(9)
"""Indices into `Choices.found`."""
_INFINITY = 2**40


class Choices(NamedTuple):
    """The assignment of N operations to machines. A choice is an operation with one of its eligible machines; there are C."""

    first: NDArray[np.int32]
    """[N + 1] the first choice of each operation."""
    machine: NDArray[np.int32]
    """[C] the machine of each choice."""
    duration: NDArray[np.int32]
    """[C] the duration of each choice."""
    member: NDArray[np.int32]
    """[C] the index of each choice among the choices of its machine."""
    taken: NDArray[np.int32]
    """[N] the choices of the current schedule; `duration`, `machine`, `first` and `member` of the Shop follow from them."""
    best: NDArray[np.int32]
    """[N] the choices of the best schedule."""
    tabu: NDArray[np.int32]
    """[N] for each operation, moves with a smaller number must not change its machine."""
    moves: NDArray[np.uint32]
    """[2 N] a work array: the candidate moves of the tardiness search (tardiness_search.py)."""
    found: NDArray[np.int64]
    """[9] ESTIMATE, OPERATION, CHOICE, PLACE: the best move that is not tabu. TIES: the number of moves that are not tabu
    and have the smallest estimate. TABU_COUNT: the number of tabu moves. TABU_OPERATION, TABU_CHOICE, TABU_PLACE: a random tabu
    move."""
    exchange: NDArray[np.int64]
    """[6] the best exchange of two operations that is not tabu; the indices are in exchange.py."""


def choices_of(instance: JobShopInstance) -> Choices:
    """Return the Choices of an instance; every operation takes its first choice, as in its Shop."""
    first, n = instance.choice_first, instance.operations
    taken, best = first[:-1].copy(), first[:-1].copy()
    member, _ = members(instance)
    tabu, moves, found = np.zeros(n, np.int32), np.zeros(2 * n, np.uint32), np.zeros(9, np.int64)
    return Choices(
        first, instance.choice_machine, instance.choice_duration, member, taken, best, tabu, moves, found, np.zeros(6, np.int64)
    )


@kernel
def take(shop: Shop, choices: Choices, taken: NDArray[np.int32]) -> None:
    """Make `taken` [N] the current choices, in place. The caller must set a sequence and rebuild the selection afterwards."""
    shop.first[:] = 0
    for i in range(len(taken)):
        set_choice(shop, choices, i, taken[i])
        shop.first[shop.machine[i] + 1] += 1
    for m in range(len(shop.first) - 1):
        shop.first[m + 1] += shop.first[m]


@kernel(borrow=True)
def set_choice(shop, choices, i, c):
    """Make c the choice of operation i, in place, without a change of the machine orders."""
    choices.taken[i], shop.machine[i], shop.duration[i] = c, choices.machine[c], choices.duration[c]
    shop.member[i] = choices.member[c]


@kernel(borrow=True)
def choose_reassignment(shop, selection, choices, path, length, weight, now, best, random):
    """Write the move to another machine with the smallest estimate, and a random tabu one, to `choices.found`.

    The estimate is the longer of two paths, one through the operation at its new position, one past its old position, plus
    `weight` / 2 times the increase of the operation's duration. Ties are broken at random. A move is tabu if `choices.tabu` of
    its operation exceeds `now`, unless the longer path is shorter than `best`.

    Args:
        shop: The Shop of the instance.
        selection: The Selection; `end` and `to_end` are exact.
        choices: The Choices; `found` is overwritten.
        path: uint32 [N], a critical path in its first `length` entries.
        length: The number of operations on the path.
        weight: The weight of the added duration, in halves.
        now: The number of the present move.
        best: The best makespan of the search.
        random: uint64 [1], the state of the random number generator.
    """
    found, machine_pred, machine_succ = choices.found, selection.machine_pred, selection.machine_succ
    end, to_end = selection.end, selection.to_end
    found[ESTIMATE], found[OPERATION], found[TIES], found[TABU_COUNT], found[TABU_OPERATION] = _INFINITY, -1, 0, 0, -1
    for k in range(length):
        v = path[k]
        if shop.duration[v] == 0 and _has_zero_neighbour(shop, v):
            continue
        head, tail, is_tabu = end[shop.job_pred[v]], to_end[shop.job_succ[v]], choices.tabu[v] > now
        past = end[machine_pred[v]] + after_setup(to_end[machine_succ[v]], shop.setups, v, machine_pred[v], machine_succ[v])
        for c in range(choices.first[v], choices.first[v + 1]):
            added = (choices.duration[c] - shop.duration[v]) * weight // 2
            if c == choices.taken[v] or max(past, head + choices.duration[c] + tail) + added > found[ESTIMATE]:
                continue
            around, to = _best_place(shop.setups, shop, selection, v, choices.machine[c], head, tail, random)
            longest = np.int64(max(past, around + choices.duration[c]))
            if longest + added > found[ESTIMATE]:
                continue
            if is_tabu and longest >= best:
                found[TABU_COUNT] += 1
                if below(random, found[TABU_COUNT]) == 0:
                    found[TABU_OPERATION], found[TABU_CHOICE], found[TABU_PLACE] = v, c, to
                continue
            found[TIES] = 1 if longest + added < found[ESTIMATE] else found[TIES] + 1
            if found[TIES] == 1 or below(random, found[TIES]) == 0:
                found[ESTIMATE], found[OPERATION], found[CHOICE], found[PLACE] = longest + added, v, c, to


@kernel(borrow=True)
def _has_zero_neighbour(shop, v):
    """Return whether the job predecessor or successor of v has duration 0.

    If v has duration 0 as well, a move could create a cycle that the comparison of times in `_best_place` does not detect.
    """
    n, x, y = len(shop.job_pred), shop.job_pred[v], shop.job_succ[v]
    return (x < n and shop.duration[x] == 0) or (y < n and shop.duration[y] == 0)


@kernel(borrow=True)
def _best_place(setups, shop, selection, v, m, head, tail, random):
    """Return the best position on machine m for operation v.

    Its job predecessor ends at `head`; `tail` is the longest path from the start of its job successor. setups: `Shop.setups`.

    Returns:
        (around, to): the operation is inserted before the operation at place `to` of the sequence; `around` is the length of the
        longest path up to the operation's start, plus the length of the longest path from its end.
    """
    if setups is not None:
        return _best_place_with_setups(setups, shop, selection, v, m, head, tail, random)
    sequence, end, to_end = selection.sequence, selection.end, selection.to_end
    low = earliest_place(shop, selection, m, head)
    high = bisect_left_falling_by(to_end, sequence, shop.first[m], shop.first[m + 1], tail)  # first with to_end <= tail
    if high <= low:
        return head + tail, high + below(random, low - high + 1)
    around, to = head + to_end[sequence[low]], low
    for at in range(low + 1, high + 1):
        longest = to_end[sequence[at]] if at < high else tail
        if end[sequence[at - 1]] + longest < around:
            around, to = end[sequence[at - 1]] + longest, at
    return around, to


@kernel(borrow=True)
def _best_place_with_setups(setups, shop, selection, v, m, head, tail, random):
    """Do what `_best_place` does, with set-ups: all positions that provably create no cycle are evaluated.

    A path from the job successor of v to an operation means that the operation starts after the successor ends; a path from an
    operation to the job predecessor, that it ends before the predecessor starts.
    """
    sequence, end, to_end, n = selection.sequence, selection.end, selection.to_end, len(selection.sequence)
    job_pred, job_succ, begin, stop = shop.job_pred[v], shop.job_succ[v], shop.first[m], shop.first[m + 1]
    low = begin if job_pred >= n else earliest_place(shop, selection, m, end[job_pred] - shop.duration[job_pred])
    around, to, ties = np.int64(_INFINITY), np.int64(-1), 0
    for at in range(low, stop + 1):
        x, y = sequence[at - 1] if at > begin else np.uint32(n), sequence[at] if at < stop else np.uint32(n)
        if x < n and job_succ < n and (x == job_succ or end[x] - shop.duration[x] >= end[job_succ]):
            break
        before = max(head, after_setup_on(end[x], setups, m, x, v))
        length = before + max(tail, after_setup_on(to_end[y], setups, m, v, y))
        if length > around or y == job_pred:
            continue
        ties = 1 if length < around else ties + 1
        if ties == 1 or below(random, ties) == 0:
            around, to = length, np.int64(at)
    return around, to


@kernel(borrow=True)
def earliest_place(shop, selection, m, head):
    """Return the place of the first operation on machine m that ends after `head`, or the place after the last one."""
    return bisect_right_by(selection.end, selection.sequence, shop.first[m], shop.first[m + 1], head)


@kernel(borrow=True)
def reassign(shop, selection, choices, v, c, to):
    """Move operation v to choice c, on another machine, before the operation at place `to`.

    Sequence, predecessors, successors and topological order are updated in place; `end` and `to_end` are not. The move must not
    create a cycle.

    Returns:
        (lowest, highest): the lowest rank of an operation whose `end` may change, and the highest rank of one whose `to_end` may.
    """
    machine_pred, machine_succ, rank, n = selection.machine_pred, selection.machine_succ, selection.rank, len(selection.order)
    old_pred, old_succ = machine_pred[v], machine_succ[v]
    _move_place(shop, selection, v, choices.machine[c], to)
    set_choice(shop, choices, v, c)
    at, m = np.int64(selection.place[v]), shop.machine[v]
    x = selection.sequence[at - 1] if at > shop.first[m] else np.uint32(n)
    y = selection.sequence[at + 1] if at + 1 < shop.first[m + 1] else np.uint32(n)
    _link_pair(machine_pred, machine_succ, old_pred, old_succ)
    _link_pair(machine_pred, machine_succ, x, v)
    _link_pair(machine_pred, machine_succ, v, y)
    if x < n and rank[x] > rank[v]:
        reorder_forward(shop.job_pred, machine_pred, selection.order, rank, selection.marked, selection.scratch, v, x)
    elif y < n and rank[y] < rank[v]:
        reorder_backward(shop.job_succ, machine_succ, selection.order, rank, selection.marked, selection.scratch, v, y)
    lowest, highest = np.int64(rank[v]), np.int64(rank[v])
    if old_succ < n:
        lowest = min(lowest, np.int64(rank[old_succ]))
    if old_pred < n:
        highest = max(highest, np.int64(rank[old_pred]))
    return lowest, highest


@kernel(borrow=True)
def _move_place(shop, selection, v, m, to):
    """Move v in the sequence from its machine to machine m, before the operation at place `to`, in place."""
    at, old_machine = np.int64(selection.place[v]), shop.machine[v]
    for between in range(old_machine + 1, m + 1):
        shop.first[between] -= 1
    for between in range(m + 1, old_machine + 1):
        shop.first[between] += 1
    to = to - 1 if to > at else to
    rotate(selection.sequence, at, to)
    for k in range(min(at, to), max(at, to) + 1):
        selection.place[selection.sequence[k]] = k


@kernel(borrow=True)
def _link_pair(machine_pred, machine_succ, x, y):
    """Make y the machine successor of x, in place; x or y is N if there is no such operation."""
    if x < len(machine_pred):
        machine_succ[x] = y
    if y < len(machine_pred):
        machine_pred[y] = x
