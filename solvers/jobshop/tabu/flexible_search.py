"""Moves of a flexible job shop: a critical operation goes to another place, of its own machine or of another that can do it.

Mastrolilli and Gambardella (Journal of Scheduling 3, 2000): take operation v out, compute when all ends and what is left
without it, and look at every place where it can go back. Between x and y of a machine it can where no path leads from its
job's next operation to x, nor from y to its job's last; that the former starts before the one ends, and the latter ends
after the other starts, is enough for that where they are not x and y themselves. The longest path through v then follows at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.rng import below
from corl.solvers.jobshop.tabu.longest_paths import copy_into, job_links, latest, sweep_ends, sweep_rests, topological
from corl.solvers.jobshop.tabu.neighbourhood import critical_path

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["IDLE", "VALUE", "FlexibleSearch", "FlexibleShop"]
__all__ += ["advance_flexible", "begin_flexible", "flexible_shop_of", "new_flexible_search"]

MOVES, IDLE, MAKESPAN, VALUE = range(4)  # what `counts` holds
_FAR = 2**40


class FlexibleShop(NamedTuple):
    """What the kernels know of an instance: N operations, J jobs, C choices."""

    earlier: NDArray[np.uint32]
    """[N] the operation before in the job; N + 1 + j for the first of job j."""
    later: NDArray[np.uint32]
    """[N] the operation after in the job, N: none."""
    last: NDArray[np.uint32]
    """[J] the last operation of each job."""
    choice_first: NDArray[np.int32]
    """[N + 1]"""
    choice_machine: NDArray[np.int32]
    """[C]"""
    choice_duration: NDArray[np.int32]
    """[C]"""


class FlexibleSearch(NamedTuple):
    """A schedule by its machines and their orders, what follows from them, and the best of the search. M machines."""

    choice: NDArray[np.int32]
    """[N] which is taken, of all choices."""
    duration: NDArray[np.int32]
    """[N]"""
    before: NDArray[np.uint32]
    """[N + 1] the operation before on the machine, N: none; the last entry is scratch."""
    after: NDArray[np.uint32]
    """[N + 1]"""
    opening: NDArray[np.uint32]
    """[M] the first operation of a machine, N: none."""
    order: NDArray[np.uint32]
    """[N] a topological order."""
    rank: NDArray[np.int32]
    """[N]"""
    end: NDArray[np.int32]
    """[N + 1 + J] when an operation ends; 0 at N, then the release dates."""
    rest: NDArray[np.int32]
    """[N + 1] the longest path from an operation's start to the sink."""
    end_without: NDArray[np.int32]
    """[N + 1 + J] the same without the operation that moves."""
    rest_without: NDArray[np.int32]
    """[N + 1]"""
    path: NDArray[np.uint32]
    """[N] scratch."""
    tabu: NDArray[np.int64]
    """[C] the move up to which a choice must not be taken again."""
    best_order: NDArray[np.uint32]
    """[N] of the best schedule since `begin_flexible`, a topological order."""
    best_choice: NDArray[np.int32]
    """[N]"""
    found: NDArray[np.int64]
    """[10] the best move that is not tabu: its estimate, operation, choice, operation before, ties; and a random tabu one:
    count, operation, choice, operation before."""
    counts: NDArray[np.int64]
    """[4] moves made in all, moves since the best got better, the makespans of the schedule and of the best."""
    random: NDArray[np.uint64]
    """[1]"""


def flexible_shop_of(instance: JobShopInstance) -> FlexibleShop:
    """The FlexibleShop of any instance."""
    links = job_links(instance)
    return FlexibleShop(*links, instance.choice_first, instance.choice_machine, instance.choice_duration)


def new_flexible_search(instance: JobShopInstance, random: NDArray[np.uint64]) -> FlexibleSearch:
    """Memory for a search; fill `order` and `choice` and `begin_flexible`."""
    n, choices = instance.operations, len(instance.choice_machine)
    release = instance.release.astype(np.int32)
    ends = [np.concatenate([np.zeros(n + 1, np.int32), release]) for _ in range(2)]
    return FlexibleSearch(
        choice=np.zeros(n, np.int32),
        duration=np.zeros(n, np.int32),
        before=np.zeros(n + 1, np.uint32),
        after=np.zeros(n + 1, np.uint32),
        opening=np.zeros(instance.machines, np.uint32),
        order=np.zeros(n, np.uint32),
        rank=np.zeros(n, np.int32),
        end=ends[0],
        rest=np.zeros(n + 1, np.int32),
        end_without=ends[1],
        rest_without=np.zeros(n + 1, np.int32),
        path=np.zeros(n, np.uint32),
        tabu=np.zeros(choices, np.int64),
        best_order=np.zeros(n, np.uint32),
        best_choice=np.zeros(n, np.int32),
        found=np.zeros(10, np.int64),
        counts=np.zeros(4, np.int64),
        random=random,
    )


@kernel
def begin_flexible(shop: FlexibleShop, search: FlexibleSearch) -> None:
    """Start from `search.order`, which must be topological, and `search.choice`."""
    n = len(search.order)
    search.opening[:] = n
    closing = np.full(len(search.opening), n, np.uint32)
    for k in range(n):
        i = search.order[k]
        m = shop.choice_machine[search.choice[i]]
        search.rank[i], search.duration[i] = k, shop.choice_duration[search.choice[i]]
        search.before[i], search.after[i] = closing[m], n
        if closing[m] < n:
            search.after[closing[m]] = i
        else:
            search.opening[m] = i
        closing[m] = i
    sweep_ends(search.order, shop.earlier, search.before, search.end, search.duration, np.int64(0), len(search.order))
    sweep_rests(search.order, shop.later, search.after, search.rest, search.duration, n - 1, np.int64(0))
    search.counts[MAKESPAN] = search.counts[VALUE] = latest(shop.last, search.end)
    search.counts[IDLE] = 0
    copy_into(search.best_order, search.order)
    copy_into(search.best_choice, search.choice)


@kernel(nogil=True)
def advance_flexible(shop: FlexibleShop, search: FlexibleSearch, cut: int, shortest: int, longest: int, units: int) -> int:
    """Make up to `units` moves, fewer where `cut` of them made it no better, which ends the search; returns how many are left.

    The choice that an operation leaves stays tabu for shortest..longest moves, at random.
    """
    counts, found = search.counts, search.found
    while units > 0 and counts[IDLE] < cut:
        units -= 1
        counts[MOVES] += 1
        _choose(shop, search)
        at = 1 if found[1] >= 0 else 6
        if found[at] < 0:
            counts[IDLE] = cut
            break
        v = np.uint32(found[at])
        search.tabu[search.choice[v]] = counts[MOVES] + shortest + below(search.random, longest - shortest + 1)
        _take_out(shop, search, v)
        _put(shop, search, v, np.int32(found[at + 1]), np.uint32(found[at + 2]))
        topological(shop.earlier, shop.later, search.before, search.after, search.order, search.rank, search.path)
        sweep_ends(search.order, shop.earlier, search.before, search.end, search.duration, np.int64(0), len(search.order))
        sweep_rests(search.order, shop.later, search.after, search.rest, search.duration, len(search.order) - 1, np.int64(0))
        counts[MAKESPAN] = latest(shop.last, search.end)
        counts[IDLE] += 1
        if counts[MAKESPAN] < counts[VALUE]:
            counts[VALUE], counts[IDLE] = counts[MAKESPAN], 0
            copy_into(search.best_order, search.order)
            copy_into(search.best_choice, search.choice)
    return units


@kernel
def _choose(shop, search):
    """Write the move of the least estimate on a random critical path into `search.found`: ties at random."""
    found = search.found
    found[:] = -1
    found[0], found[4], found[5] = _FAR, 0, 0
    makespan, random = search.counts[MAKESPAN], search.random
    length = critical_path(
        shop.last, shop.earlier, search.before, search.rank, search.end, search.duration, search.path, makespan, random
    )
    for at in range(length):
        v = search.path[at]
        choice, before = search.choice[v], search.before[v]
        _take_out(shop, search, v)
        k = np.int64(search.rank[v])
        for i in range(len(search.end)):
            search.end_without[i] = search.end[i]
        for i in range(len(search.rest)):
            search.rest_without[i] = search.rest[i]
        sweep_ends(search.order, shop.earlier, search.before, search.end_without, search.duration, k, len(search.order))
        sweep_rests(search.order, shop.later, search.after, search.rest_without, search.duration, k, np.int64(0))
        floor = latest(shop.last, search.end_without)
        for c in range(shop.choice_first[v], shop.choice_first[v + 1]):
            _scan_places(shop, search, v, c, floor, choice, before)
        _put(shop, search, v, choice, before)


@kernel(borrow=True)
def _scan_places(shop, search, v, c, floor, choice, before):
    """Look at every place on the machine of choice c for v, which stood there behind `before` if c is `choice`."""
    end, rest, found, n = search.end_without, search.rest_without, search.found, len(search.order)
    last, following = shop.earlier[v], shop.later[v]
    release = end[last] - search.duration[last] if last < n else -1
    until = end[following] if following < n else _FAR
    d, tabu = shop.choice_duration[c], search.tabu[c] > search.counts[MOVES]
    x, y = np.uint32(n), search.opening[shop.choice_machine[c]]
    while True:
        if x < n and (x == following or end[x] - search.duration[x] >= until):
            break
        if (y >= n or (y != last and end[y] > release)) and (c != choice or x != before):
            estimate = max(np.int64(floor), np.int64(max(end[x], end[v])) + d + max(rest[y], rest[v]))
            if estimate <= found[0]:
                if tabu and estimate >= search.counts[VALUE]:
                    found[5] += 1
                    if below(search.random, found[5]) == 0:
                        found[6], found[7], found[8] = v, c, x
                else:
                    found[4] = 1 if estimate < found[0] else found[4] + 1
                    if found[4] == 1 or below(search.random, found[4]) == 0:
                        found[0], found[1], found[2], found[3] = estimate, v, c, x
        if y >= n:
            break
        x, y = y, search.after[y]


@kernel(borrow=True)
def _take_out(shop, search, v):
    """Take v off its machine; it stays in its job and in the order, without a duration."""
    n = len(search.order)
    x, y = search.before[v], search.after[v]
    if x < n:
        search.after[x] = y
    else:
        search.opening[shop.choice_machine[search.choice[v]]] = y
    search.before[y] = x
    search.before[v] = search.after[v] = n
    search.duration[v] = 0


@kernel(borrow=True)
def _put(shop, search, v, c, x):
    """Put v on the machine of its choice c, right behind x (N: first)."""
    n = len(search.order)
    m = shop.choice_machine[c]
    y = search.after[x] if x < n else search.opening[m]
    if x < n:
        search.after[x] = v
    else:
        search.opening[m] = v
    search.before[y] = v
    search.before[v], search.after[v] = x, y
    search.choice[v], search.duration[v] = c, shop.choice_duration[c]
