"""Complete schedules, built by a dispatching rule or from a sequence; then jobs that end too early are shifted (earliness.py).

A unit is a run of operations of one job, mostly a single one, linked by blocking or by not waiting; it is free if it contains no
fixed operation. A sequence, int64 [L], is the order in which the L free units are placed: it holds the job of each
unit, and the k-th occurrence of a job stands for the job's k-th free unit. Names of variables are as in gaps.py.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.jobshop.rules import FOREVER
from corl.rng import uniform
from corl.solvers.jobshop.dispatch.rules import LOOK_AHEAD, priority
from corl.solvers.jobshop.placing.earliness import shift_later
from corl.solvers.jobshop.placing.gaps import copy_plan, setups_fit
from corl.solvers.jobshop.placing.moved import change_cost
from corl.solvers.jobshop.placing.units import place, remove

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["MISSING", "UNFINISHED", "StartCache", "build", "decode", "new_cache", "place_sequence"]

MISSING = 1e18
"""The objective value per unit that could not be placed; larger than the objective value of every feasible
schedule."""
UNFINISHED = -1.0
"""The result of `build` if units remain to be placed."""


class StartCache(NamedTuple):
    """The earliest placement of the next unit of each of J jobs on M machines, reused by later dispatching steps.

    R is the number of resources.
    """

    changed_at: NDArray[np.int64]
    """[M + R] the last step that placed an operation on the machine, or one that needs the resource."""
    computed_at: NDArray[np.int64]
    """[J] the step that computed the job's `start`, `end` and `machine`; -1 if these are of a unit that has been placed since."""
    start: NDArray[np.int64]
    """[J] the earliest start of the job's next unit; FOREVER if all its units are placed."""
    end: NDArray[np.int64]
    """[J] the end of that unit's first operation; FOREVER if all units of the job are placed."""
    machine: NDArray[np.int64]
    """[J] the machine of that unit's first operation."""


def new_cache(instance: JobShopInstance) -> StartCache:
    """Return an empty cache."""
    j, capacity = instance.jobs, None if instance.rules is None else instance.rules.capacity
    resources = 0 if capacity is None else len(capacity)
    zeros = (np.zeros(j, np.int64) for _ in range(3))
    return StartCache(np.zeros(instance.machines + resources, np.int64), np.full(j, -1, np.int64), *zeros)


@kernel
def decode(shop, base, plan, fixed, sequence, requested):
    """Call `place_sequence` from Python; kernels call it directly."""
    return place_sequence(shop, base, plan, fixed, sequence, requested)


@kernel(shared=True)
def place_sequence(shop, base, plan, fixed, sequence, requested):
    """Build the schedule of a sequence, and return its objective value.

    Args:
        shop: The Shop of the instance.
        base: A PartialSchedule with the fixed operations and their units only.
        plan: A PartialSchedule, overwritten by the schedule.
        fixed: int64 [K], the fixed operations by start time.
        sequence: int64 [L], the sequence.
        requested: int64 [O], a choice of machine for each operation; -1: the machine on which the operation ends first.

    Returns:
        The objective value. If a unit cannot be placed, MISSING times the number of units that are not placed.
    """
    copy_plan(base, plan)
    for p in range(len(sequence)):
        j = sequence[p]
        _skip_placed(shop, plan, j)
        if not place(shop, plan, plan.next[j], requested):
            return MISSING * (len(sequence) - p)
        plan.next[j] += 1
    if len(fixed) and not setups_fit(shop, plan, fixed):
        return MISSING
    if shop.goal[0] == 2:
        shift_later(shop, plan)
    return _value(shop, plan)


@kernel(inline=True, borrow=True)
def _skip_placed(shop, plan, j):
    """Advance the next unit of job j past units that are placed already because they contain a fixed operation."""
    while plan.choice[shop.unit[plan.next[j]]] >= 0:
        plan.next[j] += 1


@kernel(borrow=True)
def _value(shop, plan):
    """Return the objective value of a complete plan."""
    total = 0.0
    for j in range(len(shop.due)):
        end = plan.end[shop.first[j + 1] - 1]
        if shop.goal[0] == 0:
            total = max(total, float(end))
        else:
            total += float(shop.weight[j] * max(0, end - shop.due[j]))
            if shop.goal[0] == 2:
                total += float(shop.earliness[j] * max(0, shop.early[j] - end))
    return total + change_cost(shop, plan)


# -------------------------------------------------------------------- dispatching
@kernel
def build(shop, base, plan, fixed, requested, rule, noise, active, random, sequence, cache, first, stop):
    """Do the steps first..stop - 1 of building a schedule by a dispatching rule.

    Each step places the candidate of the highest priority. Candidates for a non-delay schedule are the units that can start
    first. For an active schedule, let m be the machine on which a unit's first operation can end first; the candidates are the
    units on m that can start before that end.

    Args:
        shop: The Shop of the instance.
        base: A PartialSchedule with the fixed operations and their units only.
        plan: A PartialSchedule, continued in place; overwritten if `first` is 0.
        fixed: int64 [K], the fixed operations by start time.
        requested: int64 [O], a choice of machine for each operation; -1: the machine on which the operation ends first.
        rule: Index into RULES.
        noise: Priorities are multiplied by random factors, uniform in 1..1 + noise.
        active: Whether to build an active schedule instead of a non-delay one.
        random: uint64 [1], the state of the random number generator.
        sequence: int64 [L], overwritten by the sequence in which units are placed.
        cache: The StartCache, updated in place.
        first: The first step.
        stop: One past the last step.

    Returns:
        The objective value, or UNFINISHED if steps remain. If a unit cannot be placed, MISSING times the number of units that are
        not placed.
    """
    changed, computed, start, end, machine = cache.changed_at, cache.computed_at, cache.start, cache.end, cache.machine
    jobs = len(shop.due)
    if first == 0:
        copy_plan(base, plan)
    for step in range(first + 1, min(stop, len(sequence)) + 1):
        for j in range(jobs):
            if _finished(shop, plan, j):
                start[j] = end[j] = FOREVER
            elif _is_outdated(shop, plan, j, changed, computed[j]):
                if not place(shop, plan, plan.next[j], requested):
                    return MISSING * (len(sequence) + 1 - step)
                i = shop.unit[plan.next[j]]
                start[j], end[j], machine[j], computed[j] = plan.start[i], plan.end[i], shop.machine[plan.choice[i]], step
                remove(shop, plan, plan.next[j])
        j = _choose_job(shop, plan, start, end, machine, rule, noise, active, random)
        u = plan.next[j]
        place(shop, plan, u, requested)
        for i in range(shop.unit[u], shop.unit[u + 1]):
            _mark_changed(shop, changed, plan.choice[i], step)
        sequence[step - 1], computed[j] = j, -1
        plan.next[j] += 1
    if stop < len(sequence):
        return UNFINISHED
    if len(fixed) and not setups_fit(shop, plan, fixed):
        return MISSING
    if shop.goal[0] == 2:
        shift_later(shop, plan)
    return _value(shop, plan)


@kernel(borrow=True)
def _finished(shop, plan, j):
    """Advance the next unit of job j past placed units, and return whether all its units are placed."""
    while plan.next[j] < shop.unit_offset[j + 1] and plan.choice[shop.unit[plan.next[j]]] >= 0:
        plan.next[j] += 1
    return plan.next[j] == shop.unit_offset[j + 1]


@kernel(borrow=True)
def _mark_changed(shop, changed_at, c, step):
    """Record in `changed_at` (StartCache) that a step placed an operation with choice c."""
    m = len(changed_at) - len(shop.capacity)
    changed_at[shop.machine[c]] = step
    for r in range(len(shop.capacity)):
        if shop.demand[c, r] > 0:
            changed_at[m + r] = step


@kernel(borrow=True)
def _is_outdated(shop, plan, j, changed_at, computed_at):
    """Return whether an operation was placed, since step `computed_at`, on a machine that the next unit of job j may use.

    So is the unit if an operation was placed that needs one of its resources.
    """
    if computed_at < 0:
        return True
    u, outdated = plan.next[j], False
    for c in range(shop.choice_offset[shop.unit[u]], shop.choice_offset[shop.unit[u + 1]]):
        outdated = outdated or changed_at[shop.machine[c]] >= computed_at
        for r in range(len(shop.capacity)):
            changed = changed_at[len(changed_at) - len(shop.capacity) + r] >= computed_at
            outdated = outdated or (changed and shop.demand[c, r] > 0)
    return outdated


@kernel
def _choose_job(shop, plan, start, end, machine, rule, noise, active, random):
    """Return the candidate (job) of the highest priority; of several, the first.

    Args:
        shop: The Shop of the instance.
        plan: The PartialSchedule.
        start: int64 [J], the earliest start of each job's next unit; FOREVER if all its units are placed.
        end: int64 [J], the end of that unit's first operation.
        machine: int64 [J], the machine of that operation.
        rule: Index into RULES.
        noise: Priorities are multiplied by random factors, uniform in 1..1 + noise.
        active: Whether the schedule is active instead of non-delay.
        random: uint64 [1], the state of the random number generator.
    """
    leader = np.argmin(end) if active else np.argmin(start)
    now, total, count = start.min(), 0, 0
    for j in range(len(start)):
        if start[j] < FOREVER:
            i = shop.unit[plan.next[j]]
            later_work = shop.time_to_job_end[i + 1] if i + 1 < shop.first[j + 1] else 0
            total, count = total + shop.time_to_job_end[i] - later_work, count + 1
    best, chosen = -1.0, -1
    for j in range(len(start)):
        if active:
            legal = machine[j] == machine[leader] and (start[j] < end[leader] or j == leader)
        else:
            legal = start[j] == start[leader]
        if start[j] == FOREVER or not legal:
            continue
        i = shop.unit[plan.next[j]]
        operations_left, ready = shop.first[j + 1] - i, plan.end[i - 1] if i > shop.first[j] else shop.lowest[i]
        work_left, job_end = shop.time_to_job_end[i], shop.lowest[shop.first[j]] + shop.time_to_job_end[shop.first[j]]
        duration, mean = end[j] - start[j], total / max(1, count)
        due, weight = shop.due[j], shop.weight[j]
        value = priority(rule, duration, work_left, operations_left, ready, job_end, due, weight, now, mean, LOOK_AHEAD)
        if noise > 0.0:
            value *= 1.0 + noise * uniform(random)
        if value > best:
            best, chosen = value, j
    return chosen
