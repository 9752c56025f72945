"""Moves to other machines: a critical operation goes to the best place of another machine that can do it.

Mastrolilli and Gambardella (Journal of Scheduling 3, 2000, section 4): on another machine it need not stand behind what ends
later than its job's last operation, nor before what has more left than its job's next one, up to where these two meet; between
them no place makes a cycle, and one of them is best. They compute heads and tails without it anew for each. We take those of the
schedule as it is, which are too large only for what waits for it or what it waits for, and of what remains without it look
only at the path from the operation before to the one behind it on its machine, as N7's estimates do (neighbourhood.py).
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

__all__ = ["BARRED", "BARRED_OPERATION", "ESTIMATE", "OPERATION", "TIES"]
__all__ += ["Choices", "choices_of", "choose_reassignment", "reassign", "soonest", "take"]

ESTIMATE, OPERATION, CHOICE, PLACE, TIES, BARRED, BARRED_OPERATION, BARRED_CHOICE, BARRED_PLACE = range(9)  # of `found`
_FAR = 2**40


class Choices(NamedTuple):
    """The machines that can do each operation, C choices in all; which are taken, and what a search knows of them."""

    first: NDArray[np.int32]
    """[N + 1] where the choices of an operation begin."""
    machine: NDArray[np.int32]
    """[C]"""
    duration: NDArray[np.int32]
    """[C]"""
    member: NDArray[np.int32]
    """[C] the number of a choice among those of its machine."""
    taken: NDArray[np.int32]
    """[N] those of the present schedule; the Shop's duration, machine, first and member follow from them."""
    best: NDArray[np.int32]
    """[N] those of the search's best."""
    tabu: NDArray[np.int32]
    """[N] the move up to which an operation must not go to another machine again."""
    moves: NDArray[np.uint32]
    """[2 N] scratch: what a search for the tardiness may do (tardiness_search.py)."""
    found: NDArray[np.int64]
    """[9] the best move that is not tabu: its estimate, operation, choice, place, ties; and a random tabu one: count, operation,
    choice, place."""


def choices_of(instance: JobShopInstance) -> Choices:
    """The Choices of an instance; the first of each operation are taken, as in its Shop."""
    first, n = instance.choice_first, instance.operations
    taken, best = first[:-1].copy(), first[:-1].copy()
    member, _ = members(instance)
    scratch = np.zeros(n, np.int32), np.zeros(2 * n, np.uint32), np.zeros(9, np.int64)
    return Choices(first, instance.choice_machine, instance.choice_duration, member, taken, best, *scratch)


@kernel
def take(shop: Shop, choices: Choices, taken: NDArray[np.int32]) -> None:
    """Take these choices [N]; what follows from the orders of the machines is then to be built anew."""
    shop.first[:] = 0
    for i in range(len(taken)):
        _take(shop, choices, i, taken[i])
        shop.first[shop.machine[i] + 1] += 1
    for m in range(len(shop.first) - 1):
        shop.first[m + 1] += shop.first[m]


@kernel(borrow=True)
def _take(shop, choices, i, c):
    choices.taken[i], shop.machine[i], shop.duration[i] = c, choices.machine[c], choices.duration[c]
    shop.member[i] = choices.member[c]


@kernel(borrow=True)
def choose_reassignment(shop, selection, choices, path, length, weight, now, best, random):
    """Write the move of the least estimate, of those of the critical operations path[:length], into `choices.found`.

    The estimate is the longest path through the operation where it goes, or that on past it where it leaves; to it is added
    `weight` / 2 times by how much longer it takes there. A move is tabu if its operation changed its machine less than a tenure
    ago, unless the estimate alone is below `best`. Ties are broken at random.
    """
    found, before, after, end, rest = choices.found, selection.before, selection.after, selection.end, selection.rest
    found[ESTIMATE], found[OPERATION], found[TIES], found[BARRED], found[BARRED_OPERATION] = _FAR, -1, 0, 0, -1
    for k in range(length):
        v = path[k]
        if shop.duration[v] == 0 and _idle_neighbour(shop, v):
            continue
        head, tail, barred = end[shop.earlier[v]], rest[shop.later[v]], choices.tabu[v] > now
        past = end[before[v]] + rest[after[v]]
        for c in range(choices.first[v], choices.first[v + 1]):
            added = (choices.duration[c] - shop.duration[v]) * weight // 2
            if c == choices.taken[v] or max(past, head + choices.duration[c] + tail) + added > found[ESTIMATE]:
                continue
            around, to = _best_place(shop, selection, choices.machine[c], head, tail, random)
            longest = np.int64(max(past, around + choices.duration[c]))
            if longest + added > found[ESTIMATE]:
                continue
            if barred and longest >= best:
                found[BARRED] += 1
                if below(random, found[BARRED]) == 0:
                    found[BARRED_OPERATION], found[BARRED_CHOICE], found[BARRED_PLACE] = v, c, to
                continue
            found[TIES] = 1 if longest + added < found[ESTIMATE] else found[TIES] + 1
            if found[TIES] == 1 or below(random, found[TIES]) == 0:
                found[ESTIMATE], found[OPERATION], found[CHOICE], found[PLACE] = longest + added, v, c, to


@kernel(borrow=True)
def _idle_neighbour(shop, v):
    """Whether the operation before or after in the job takes no time; only if v takes none either may a path hide there."""
    n, x, y = len(shop.earlier), shop.earlier[v], shop.later[v]
    return (x < n and shop.duration[x] == 0) or (y < n and shop.duration[y] == 0)


@kernel(borrow=True)
def _best_place(shop, selection, m, head, tail, random):
    """(around, to) of machine m for an operation between `head` and `tail`: it goes before what stands at place `to`, and what is
    longest before and after it there takes `around`."""
    sequence, end, rest = selection.sequence, selection.end, selection.rest
    low = soonest(shop, selection, m, head)
    high = bisect_left_falling_by(rest, sequence, shop.first[m], shop.first[m + 1], tail)  # has no more left than `tail`
    if high <= low:
        return head + tail, high + below(random, low - high + 1)
    around, to = head + rest[sequence[low]], low
    for at in range(low + 1, high + 1):
        behind = rest[sequence[at]] if at < high else tail
        if end[sequence[at - 1]] + behind < around:
            around, to = end[sequence[at - 1]] + behind, at
    return around, to


@kernel(borrow=True)
def soonest(shop, selection, m, head):
    """The place on machine m of the first operation that ends after `head`, or behind the last one."""
    return bisect_right_by(selection.end, selection.sequence, shop.first[m], shop.first[m + 1], head)


@kernel(borrow=True)
def reassign(shop, selection, choices, v, c, to):
    """Let v take choice c, of another machine, and stand before what stands at place `to`; repairs the order, but no times.

    There must be no cycle then. Returns the lowest rank of an operation whose end, and the highest of one whose rest, may change.
    """
    before, after, rank, n = selection.before, selection.after, selection.rank, len(selection.order)
    left, right = before[v], after[v]
    _move_place(shop, selection, v, choices.machine[c], to)
    _take(shop, choices, v, c)
    at, m = np.int64(selection.place[v]), shop.machine[v]
    x = selection.sequence[at - 1] if at > shop.first[m] else np.uint32(n)
    y = selection.sequence[at + 1] if at + 1 < shop.first[m + 1] else np.uint32(n)
    _follow(before, after, left, right)
    _follow(before, after, x, v)
    _follow(before, after, v, y)
    if x < n and rank[x] > rank[v]:
        reorder_forward(shop.earlier, before, selection.order, rank, selection.marked, selection.spare, v, x)
    elif y < n and rank[y] < rank[v]:
        reorder_backward(shop.later, after, selection.order, rank, selection.marked, selection.spare, v, y)
    lowest, highest = np.int64(rank[v]), np.int64(rank[v])
    if right < n:
        lowest = min(lowest, np.int64(rank[right]))
    if left < n:
        highest = max(highest, np.int64(rank[left]))
    return lowest, highest


@kernel(borrow=True)
def _move_place(shop, selection, v, m, to):
    """Move v in the sequence from its machine to machine m, before what stands at place `to`."""
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
def _follow(before, after, x, y):
    """Let y follow x on a machine; N: none."""
    if x < len(before):
        after[x] = y
    if y < len(before):
        before[y] = x
