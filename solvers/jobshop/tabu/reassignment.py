"""Moves to other machines: a critical operation is moved to the best position on another eligible machine.

Mastrolilli and Gambardella (Journal of Scheduling 3, 2000, section 4): on the other machine, consider the operations that end
later than the job predecessor, and those whose rest is longer than that of the job successor. Some position between these two
sets is optimal, and none there creates a cycle. They recompute heads and tails without the moved operation for each move. Here
the heads and tails of the current schedule are used: they are too large only for operations with a path to or from the moved one.
Of the remaining schedule, only the path from the operation before to the one after on the old machine is evaluated, as in the
estimates of N7 (neighbourhood.py).
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

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["ESTIMATE", "OPERATION", "TABU_COUNT", "TABU_OPERATION", "TIES"]
__all__ += ["Choices", "choices_of", "choose_reassignment", "earliest_place", "reassign", "take"]

ESTIMATE, OPERATION, CHOICE, PLACE, TIES, TABU_COUNT, TABU_OPERATION, TABU_CHOICE, TABU_PLACE = range(9)  # entries of `found`
_INFINITY = 2**40


class Choices(NamedTuple):
    """The eligible machines of each operation (C choices in all), the current assignment, and the search's memory of it."""

    first: NDArray[np.int32]
    """[N + 1] the offset of each operation's choices."""
    machine: NDArray[np.int32]
    """[C] the machine of each choice."""
    duration: NDArray[np.int32]
    """[C] the duration on that machine."""
    member: NDArray[np.int32]
    """[C] the index of a choice among those of its machine."""
    taken: NDArray[np.int32]
    """[N] the choices of the current schedule; the Shop's duration, machine, first and member follow from them."""
    best: NDArray[np.int32]
    """[N] the choices of the best schedule."""
    tabu: NDArray[np.int32]
    """[N] the move up to which an operation must not change its machine again."""
    moves: NDArray[np.uint32]
    """[2 N] scratch: the candidate moves of the tardiness search (tardiness_search.py)."""
    found: NDArray[np.int64]
    """[9] ESTIMATE, OPERATION, CHOICE, PLACE, TIES: the best move that is not tabu, and the number of moves tied with it;
    TABU_COUNT, TABU_OPERATION, TABU_CHOICE, TABU_PLACE: the number of tabu moves, and a random one of them."""


def choices_of(instance: JobShopInstance) -> Choices:
    """Return the Choices of an instance; every operation takes its first choice, as in its Shop."""
    first, n = instance.choice_first, instance.operations
    taken, best = first[:-1].copy(), first[:-1].copy()
    member, _ = members(instance)
    scratch = np.zeros(n, np.int32), np.zeros(2 * n, np.uint32), np.zeros(9, np.int64)
    return Choices(first, instance.choice_machine, instance.choice_duration, member, taken, best, *scratch)


@kernel
def take(shop: Shop, choices: Choices, taken: NDArray[np.int32]) -> None:
    """Make `taken` [N] the current choices, in place; a sequence must be set and the selection rebuilt afterwards."""
    shop.first[:] = 0
    for i in range(len(taken)):
        _set_choice(shop, choices, i, taken[i])
        shop.first[shop.machine[i] + 1] += 1
    for m in range(len(shop.first) - 1):
        shop.first[m + 1] += shop.first[m]


@kernel(borrow=True)
def _set_choice(shop, choices, i, c):
    choices.taken[i], shop.machine[i], shop.duration[i] = c, choices.machine[c], choices.duration[c]
    shop.member[i] = choices.member[c]


@kernel(borrow=True)
def choose_reassignment(shop, selection, choices, path, length, weight, now, best, random):
    """Write the reassignment with the least estimate, and a random tabu one, to `choices.found`; ties are broken at random.

    The estimate is the longer of two paths: through the operation at its new position, and past its old position. To it is added
    the increase of the operation's duration times `weight` / 2. A move is tabu if its operation changed its machine less than a
    tenure ago, unless the estimate without that addition is below `best`.

    Args:
        shop: Shop of the instance.
        selection: Selection with exact ends and rests.
        choices: Choices of machines; `found` is overwritten.
        path: uint32 [N], a critical path in its first `length` entries.
        length: Operations on the path.
        weight: Weight of the added duration, in halves.
        now: The number of the present move.
        best: The best makespan of the search.
        random: uint64 [1], the state of the random number generator.
    """
    found, before, after, end, rest = choices.found, selection.before, selection.after, selection.end, selection.rest
    found[ESTIMATE], found[OPERATION], found[TIES], found[TABU_COUNT], found[TABU_OPERATION] = _INFINITY, -1, 0, 0, -1
    for k in range(length):
        v = path[k]
        if shop.duration[v] == 0 and _has_zero_neighbour(shop, v):
            continue
        head, tail, is_tabu = end[shop.earlier[v]], rest[shop.later[v]], choices.tabu[v] > now
        past = end[before[v]] + rest[after[v]]
        for c in range(choices.first[v], choices.first[v + 1]):
            added = (choices.duration[c] - shop.duration[v]) * weight // 2
            if c == choices.taken[v] or max(past, head + choices.duration[c] + tail) + added > found[ESTIMATE]:
                continue
            around, to = _best_place(shop, selection, choices.machine[c], head, tail, random)
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

    If v has duration 0 too, there may be a path that the comparison of times in `_best_place` does not detect.
    """
    n, x, y = len(shop.earlier), shop.earlier[v], shop.later[v]
    return (x < n and shop.duration[x] == 0) or (y < n and shop.duration[y] == 0)


@kernel(borrow=True)
def _best_place(shop, selection, m, head, tail, random):
    """Return the best position on machine m for an operation with the head `head` and the tail `tail` of its job.

    Returns:
        (around, to): the operation is inserted before the one at place `to`; the longest path before plus the longest path after
        it have the length `around` there.
    """
    sequence, end, rest = selection.sequence, selection.end, selection.rest
    low = earliest_place(shop, selection, m, head)
    high = bisect_left_falling_by(rest, sequence, shop.first[m], shop.first[m + 1], tail)  # the first of a rest <= `tail`
    if high <= low:
        return head + tail, high + below(random, low - high + 1)
    around, to = head + rest[sequence[low]], low
    for at in range(low + 1, high + 1):
        longest = rest[sequence[at]] if at < high else tail
        if end[sequence[at - 1]] + longest < around:
            around, to = end[sequence[at - 1]] + longest, at
    return around, to


@kernel(borrow=True)
def earliest_place(shop, selection, m, head):
    """Return the place of the first operation on machine m that ends after `head`, or the place after the last one."""
    return bisect_right_by(selection.end, selection.sequence, shop.first[m], shop.first[m + 1], head)


@kernel(borrow=True)
def reassign(shop, selection, choices, v, c, to):
    """Move operation v to choice c, on another machine, before the operation at place `to`; ends and rests are not updated.

    Sequence, links and topological order are updated in place. The move must not create a cycle.

    Returns:
        (lowest, highest): the lowest rank of an operation whose end may change, the highest rank of one whose rest may change.
    """
    before, after, rank, n = selection.before, selection.after, selection.rank, len(selection.order)
    left, right = before[v], after[v]
    _move_place(shop, selection, v, choices.machine[c], to)
    _set_choice(shop, choices, v, c)
    at, m = np.int64(selection.place[v]), shop.machine[v]
    x = selection.sequence[at - 1] if at > shop.first[m] else np.uint32(n)
    y = selection.sequence[at + 1] if at + 1 < shop.first[m + 1] else np.uint32(n)
    _link_pair(before, after, left, right)
    _link_pair(before, after, x, v)
    _link_pair(before, after, v, y)
    if x < n and rank[x] > rank[v]:
        reorder_forward(shop.earlier, before, selection.order, rank, selection.marked, selection.scratch, v, x)
    elif y < n and rank[y] < rank[v]:
        reorder_backward(shop.later, after, selection.order, rank, selection.marked, selection.scratch, v, y)
    lowest, highest = np.int64(rank[v]), np.int64(rank[v])
    if right < n:
        lowest = min(lowest, np.int64(rank[right]))
    if left < n:
        highest = max(highest, np.int64(rank[left]))
    return lowest, highest


@kernel(borrow=True)
def _move_place(shop, selection, v, m, to):
    """Move v in the sequence from its machine to machine m, before the operation at place `to`."""
    at, here = np.int64(selection.place[v]), shop.machine[v]
    for between in range(here + 1, m + 1):
        shop.first[between] -= 1
    for between in range(m + 1, here + 1):
        shop.first[between] += 1
    to = to - 1 if to > at else to
    rotate(selection.sequence, at, to)
    for k in range(min(at, to), max(at, to) + 1):
        selection.place[selection.sequence[k]] = k


@kernel(borrow=True)
def _link_pair(before, after, x, y):
    """Link y as the machine successor of x; N stands for no operation."""
    if x < len(before):
        after[x] = y
    if y < len(before):
        before[y] = x
