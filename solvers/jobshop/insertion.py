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
from corl.solvers.jobshop.longest_paths import latest, sweep_ends, sweep_rests, topological
from corl.solvers.jobshop.neighbourhood import critical_path

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["Plan", "Plant", "advance_plan", "begin_plan", "new_plan", "plant_of"]

MOVES, IDLE, MAKESPAN, VALUE = range(4)  # what `counts` holds
_FAR = 2**40


class Plant(NamedTuple):
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


class Plan(NamedTuple):
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
    """[N] of the best schedule since `begin_plan`, a topological order."""
    best_choice: NDArray[np.int32]
    """[N]"""
    found: NDArray[np.int64]
    """[10] the best move that is not tabu: its estimate, operation, choice, operation before, ties; and a random tabu one:
    count, operation, choice, operation before."""
    counts: NDArray[np.int64]
    """[4] moves made in all, moves since the best got better, the makespans of the schedule and of the best."""
    random: NDArray[np.uint64]
    """[1]"""


def plant_of(instance: JobShopInstance) -> Plant:
    """The Plant of any instance."""
    n = instance.operations
    earlier, later = np.arange(n, dtype=np.uint32) - np.uint32(1), np.arange(1, n + 1, dtype=np.uint32)
    last = (instance.first[1:] - 1).astype(np.uint32)
    earlier[instance.first[:-1]], later[last] = np.arange(n + 1, n + 1 + instance.jobs), n
    return Plant(earlier, later, last, instance.choice_first, instance.choice_machine, instance.choice_duration)


def new_plan(instance: JobShopInstance, random: NDArray[np.uint64]) -> Plan:
    """Memory for a search; fill `order` and `choice` and `begin_plan`."""
    n, choices = instance.operations, len(instance.choice_machine)
    release = instance.release.astype(np.int32)
    ends = [np.concatenate([np.zeros(n + 1, np.int32), release]) for _ in range(2)]
    return Plan(
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
def begin_plan(plant, plan):
    """Start from `plan.order`, which must be topological, and `plan.choice`."""
    n = len(plan.order)
    plan.opening[:] = n
    closing = np.full(len(plan.opening), n, np.uint32)
    for k in range(n):
        i = plan.order[k]
        m = plant.choice_machine[plan.choice[i]]
        plan.rank[i], plan.duration[i] = k, plant.choice_duration[plan.choice[i]]
        plan.before[i], plan.after[i] = closing[m], n
        if closing[m] < n:
            plan.after[closing[m]] = i
        else:
            plan.opening[m] = i
        closing[m] = i
    sweep_ends(plan.order, plant.earlier, plan.before, plan.end, plan.duration, 0)
    sweep_rests(plan.order, plant.later, plan.after, plan.rest, plan.duration, n - 1)
    plan.counts[MAKESPAN] = plan.counts[VALUE] = latest(plant.last, plan.end)
    plan.counts[IDLE] = 0
    plan.best_order[:], plan.best_choice[:] = plan.order, plan.choice


@kernel(nogil=True)
def advance_plan(plant, plan, cut, shortest, longest, units):
    """Make up to `units` moves, fewer where `cut` of them made it no better, which ends the search; returns how many are left.

    The choice that an operation leaves stays tabu for shortest..longest moves, at random.
    """
    counts, found = plan.counts, plan.found
    while units > 0 and counts[IDLE] < cut:
        units -= 1
        counts[MOVES] += 1
        _choose(plant, plan)
        at = 1 if found[1] >= 0 else 6
        if found[at] < 0:
            counts[IDLE] = cut
            break
        v = np.uint32(found[at])
        plan.tabu[plan.choice[v]] = counts[MOVES] + shortest + below(plan.random, longest - shortest + 1)
        _take_out(plant, plan, v)
        _put(plant, plan, v, found[at + 1], np.uint32(found[at + 2]))
        topological(plant.earlier, plant.later, plan.before, plan.after, plan.order, plan.rank, plan.path)
        sweep_ends(plan.order, plant.earlier, plan.before, plan.end, plan.duration, 0)
        sweep_rests(plan.order, plant.later, plan.after, plan.rest, plan.duration, len(plan.order) - 1)
        counts[MAKESPAN] = latest(plant.last, plan.end)
        counts[IDLE] += 1
        if counts[MAKESPAN] < counts[VALUE]:
            counts[VALUE], counts[IDLE] = counts[MAKESPAN], 0
            plan.best_order[:], plan.best_choice[:] = plan.order, plan.choice
    return units


@kernel
def _choose(plant, plan):
    """Write the move of the least estimate on a random critical path into `plan.found`: ties at random."""
    found = plan.found
    found[:] = -1
    found[0], found[4], found[5] = _FAR, 0, 0
    makespan = plan.counts[MAKESPAN]
    length = critical_path(plant.last, plant.earlier, plan.before, plan.end, plan.duration, plan.path, makespan, plan.random)
    for at in range(length):
        v = plan.path[at]
        choice, before = plan.choice[v], plan.before[v]
        _take_out(plant, plan, v)
        k = plan.rank[v]
        for i in range(len(plan.end)):
            plan.end_without[i] = plan.end[i]
        for i in range(len(plan.rest)):
            plan.rest_without[i] = plan.rest[i]
        sweep_ends(plan.order, plant.earlier, plan.before, plan.end_without, plan.duration, k)
        sweep_rests(plan.order, plant.later, plan.after, plan.rest_without, plan.duration, k)
        floor = latest(plant.last, plan.end_without)
        for c in range(plant.choice_first[v], plant.choice_first[v + 1]):
            _scan_places(plant, plan, v, c, floor, choice, before)
        _put(plant, plan, v, choice, before)


@kernel(borrow=True)
def _scan_places(plant, plan, v, c, floor, choice, before):
    """Look at every place on the machine of choice c for v, which stood there behind `before` if c is `choice`."""
    end, rest, found, n = plan.end_without, plan.rest_without, plan.found, len(plan.order)
    last, following = plant.earlier[v], plant.later[v]
    release = end[last] - plan.duration[last] if last < n else -1
    until = end[following] if following < n else _FAR
    d, tabu = plant.choice_duration[c], plan.tabu[c] > plan.counts[MOVES]
    x, y = np.uint32(n), plan.opening[plant.choice_machine[c]]
    while True:
        if x < n and (x == following or end[x] - plan.duration[x] >= until):
            break
        if (y >= n or (y != last and end[y] > release)) and (c != choice or x != before):
            estimate = max(np.int64(floor), np.int64(max(end[x], end[v])) + d + max(rest[y], rest[v]))
            if estimate <= found[0]:
                if tabu and estimate >= plan.counts[VALUE]:
                    found[5] += 1
                    if below(plan.random, found[5]) == 0:
                        found[6], found[7], found[8] = v, c, x
                else:
                    found[4] = 1 if estimate < found[0] else found[4] + 1
                    if found[4] == 1 or below(plan.random, found[4]) == 0:
                        found[0], found[1], found[2], found[3] = estimate, v, c, x
        if y >= n:
            break
        x, y = y, plan.after[y]


@kernel(borrow=True)
def _take_out(plant, plan, v):
    """Take v off its machine; it stays in its job and in the order, without a duration."""
    n = len(plan.order)
    x, y = plan.before[v], plan.after[v]
    if x < n:
        plan.after[x] = y
    else:
        plan.opening[plant.choice_machine[plan.choice[v]]] = y
    plan.before[y] = x
    plan.before[v] = plan.after[v] = n
    plan.duration[v] = 0


@kernel(borrow=True)
def _put(plant, plan, v, c, x):
    """Put v on the machine of its choice c, right behind x (N: first)."""
    n = len(plan.order)
    m = plant.choice_machine[c]
    y = plan.after[x] if x < n else plan.opening[m]
    if x < n:
        plan.after[x] = v
    else:
        plan.opening[m] = v
    plan.before[y] = v
    plan.before[v], plan.after[v] = x, y
    plan.choice[v], plan.duration[v] = c, plant.choice_duration[c]
