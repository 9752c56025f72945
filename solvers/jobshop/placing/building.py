"""Complete schedules, by dispatching rules or from a sequence of the jobs' units; then jobs that end too early are shifted later.

A sequence [L] names a job for each unit that is not fixed: its k-th occurrence is the k-th such unit of the job.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.jobshop.rules import FOREVER
from corl.rng import uniform
from corl.solvers.jobshop.dispatch.rules import LOOK_AHEAD, priority
from corl.solvers.jobshop.placing.gaps import copy_plan, latest_fit, place, remove, setup, setups_fit

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["MISSING", "UNFINISHED", "StartCache", "build", "decode", "new_cache"]

MISSING = 1e18
"""The objective value for each unit that could not be placed: an infeasible schedule is worse than any feasible one."""
UNFINISHED = -1.0
"""The result of `build` if units are left."""


class StartCache(NamedTuple):
    """The earliest placement of each job's next unit, kept from one dispatching step to the next; J jobs, M machines."""

    changed_at: NDArray[np.int64]
    """[M] the last step that placed an operation on the machine."""
    computed_at: NDArray[np.int64]
    """[J] the step in which the job's entry was computed; -1: not since its last unit was placed."""
    start: NDArray[np.int64]
    """[J] the start of the unit; FOREVER if the job has no unit left."""
    end: NDArray[np.int64]
    """[J] the end of the unit's first operation; FOREVER if the job has no unit left."""
    machine: NDArray[np.int64]
    """[J] the machine of the unit's first operation."""


def new_cache(instance: JobShopInstance) -> StartCache:
    """Return the cache before the first unit."""
    j = instance.jobs
    zeros = (np.zeros(j, np.int64) for _ in range(3))
    return StartCache(np.zeros(instance.machines, np.int64), np.full(j, -1, np.int64), *zeros)


@kernel
def decode(shop, base, plan, fixed, sequence, requested):
    """Build the schedule of a sequence, and return its objective value.

    Args:
        shop: Shop of the instance.
        base: PartialSchedule with the fixed operations alone.
        plan: PartialSchedule, overwritten by the schedule.
        fixed: int64 [K], the fixed operations by start time.
        sequence: int64 [L], jobs: each occurrence places the job's next unit.
        requested: int64 [O], a choice of machine for each operation; -1: the machine where it ends first.

    Returns:
        The objective value; MISSING times the number of units left if one cannot be placed.
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
        _shift_later(shop, plan)
    return _value(shop, plan)


@kernel(inline=True, borrow=True)
def _skip_placed(shop, plan, j):
    """Advance the next unit of job j past units that are placed already because they are fixed."""
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
    return total


# -------------------------------------------------------------------- dispatching
@kernel
def build(shop, base, plan, fixed, requested, rule, noise, active, random, sequence, cache, first, stop):
    """Build steps `first`..`stop` - 1 of a schedule by a dispatching rule; each step places the unit of the highest priority.

    Candidates of a non-delay schedule are the units that can start first; of an active one, those on the machine of the earliest
    possible end that can start before that end.

    Args:
        shop: Shop of the instance.
        base: PartialSchedule with the fixed operations alone.
        plan: PartialSchedule, continued in place; overwritten if `first` is 0.
        fixed: int64 [K], the fixed operations by start time.
        requested: int64 [O], a choice of machine for each operation; -1: the machine where it ends first.
        rule: Index into RULES.
        noise: Priorities are multiplied by 1 to 1 + noise at random.
        active: Whether to build an active schedule instead of a non-delay one.
        random: uint64 [1], the state of the random number generator.
        sequence: int64 [L], overwritten by the order in which units are placed.
        cache: StartCache, updated.
        first: The first step.
        stop: The step to stop before.

    Returns:
        The objective value; UNFINISHED if steps are left; MISSING times the number of units left if one cannot be placed.
    """
    changed, computed, start, end, machine = cache.changed_at, cache.computed_at, cache.start, cache.end, cache.machine
    jobs = len(shop.due)
    if first == 0:
        copy_plan(base, plan)
    for step in range(first + 1, min(stop, len(sequence)) + 1):
        for j in range(jobs):
            if _finished(shop, plan, j):
                start[j] = end[j] = FOREVER
            elif _stale(shop, plan, j, changed, computed[j]):
                if not place(shop, plan, plan.next[j], requested):
                    return MISSING * (len(sequence) + 1 - step)
                i = shop.unit[plan.next[j]]
                start[j], end[j], machine[j], computed[j] = plan.start[i], plan.end[i], shop.machine[plan.choice[i]], step
                remove(shop, plan, plan.next[j])
        j = _choose_job(shop, plan, start, end, machine, rule, noise, active, random)
        u = plan.next[j]
        place(shop, plan, u, requested)
        for i in range(shop.unit[u], shop.unit[u + 1]):
            changed[shop.machine[plan.choice[i]]] = step
        sequence[step - 1], computed[j] = j, -1
        plan.next[j] += 1
    if stop < len(sequence):
        return UNFINISHED
    if len(fixed) and not setups_fit(shop, plan, fixed):
        return MISSING
    if shop.goal[0] == 2:
        _shift_later(shop, plan)
    return _value(shop, plan)


@kernel(borrow=True)
def _finished(shop, plan, j):
    """Advance job j past placed units, and return whether it has no unit left."""
    while plan.next[j] < shop.unit_at[j + 1] and plan.choice[shop.unit[plan.next[j]]] >= 0:
        plan.next[j] += 1
    return plan.next[j] == shop.unit_at[j + 1]


@kernel(borrow=True)
def _stale(shop, plan, j, changed_at, computed_at):
    """Return whether a machine that the next unit of job j may use has changed since step `computed_at`."""
    if computed_at < 0:
        return True
    u, stale = plan.next[j], False
    for c in range(shop.choice_at[shop.unit[u]], shop.choice_at[shop.unit[u + 1]]):
        stale = stale or changed_at[shop.machine[c]] >= computed_at
    return stale


@kernel
def _choose_job(shop, plan, start, end, machine, rule, noise, active, random):
    """Return the job of the highest priority among the candidates, the first one of several.

    Args:
        shop: Shop of the instance.
        plan: The partial schedule.
        start: int64 [J], the earliest start of each job's next unit; FOREVER without one.
        end: int64 [J], the end of that unit's first operation.
        machine: int64 [J], its machine.
        rule: Index into RULES.
        noise: Priorities are multiplied by 1 to 1 + noise at random.
        active: Whether the schedule is active, not non-delay.
        random: uint64 [1], the state of the random number generator.
    """
    leader = np.argmin(end) if active else np.argmin(start)
    now, total, count = start.min(), 0, 0
    for j in range(len(start)):
        if start[j] < FOREVER:
            i = shop.unit[plan.next[j]]
            total, count = total + shop.rest[i] - (shop.rest[i + 1] if i + 1 < shop.first[j + 1] else 0), count + 1
    best, chosen = -1.0, -1
    for j in range(len(start)):
        if active:
            legal = machine[j] == machine[leader] and (start[j] < end[leader] or j == leader)
        else:
            legal = start[j] == start[leader]
        if start[j] == FOREVER or not legal:
            continue
        i = shop.unit[plan.next[j]]
        left, ready = shop.first[j + 1] - i, plan.end[i - 1] if i > shop.first[j] else shop.lowest[i]
        whole = shop.lowest[shop.first[j]] + shop.rest[shop.first[j]]
        length = end[j] - start[j]
        value = priority(
            rule, length, shop.rest[i], left, ready, whole, shop.due[j], shop.weight[j], now, total / max(1, count), LOOK_AHEAD
        )
        if noise > 0.0:
            value *= 1.0 + noise * uniform(random)
        if value > best:
            best, chosen = value, j
    return chosen


# -------------------------------------------------------------------- earliness
@kernel
def _shift_later(shop, plan):
    """Shift units later as far as that costs nothing, in descending order of starts, and jobs that end early up to `shop.early`.

    Machine sequences do not change. Fixed operations, and units that contain one, are not shifted.
    """
    units = len(shop.unit) - 1
    starts = np.empty(units, np.int64)
    for u in range(units):
        starts[u] = -plan.start[shop.unit[u]]
    successor = np.full(len(plan.choice), -1)
    for m in range(len(plan.filled)):
        for p in range(plan.line_at[m], plan.line_at[m] + plan.filled[m] - 1):
            successor[plan.line[p]] = plan.line[p + 1]
    for u in np.argsort(starts, kind="mergesort"):
        by = _slack(shop, plan, successor, shop.unit[u], shop.unit[u + 1])
        for i in range(shop.unit[u], shop.unit[u + 1]):
            plan.start[i], plan.end[i] = plan.start[i] + by, plan.end[i] + by


@kernel(borrow=True)
def _slack(shop, plan, successor, a, b):
    """Return by how much the unit of operations a..b - 1 can be shifted later; `successor` [O]: next on the machine, or -1."""
    j, by = shop.job[a], FOREVER
    if b < shop.first[j + 1]:
        by = plan.start[b] - plan.end[b - 1]
    else:
        by = max(0, shop.early[j] - plan.end[b - 1])
    for i in range(a, b):
        if shop.fixed_start[i] >= 0:
            return 0
        m, later = shop.machine[plan.choice[i]], successor[i]
        if later >= 0:
            length = setup(shop, m, i, later)
            until = plan.start[later] if length == 0 else latest_fit(shop, m, plan.start[later], length)
            by = min(by, until - plan.end[i])
    settled = False
    while not settled:  # no operation may overlap a break
        settled = True
        for i in range(a, b):
            m = shop.machine[plan.choice[i]]
            length = plan.end[i] - plan.start[i]
            allowed = latest_fit(shop, m, plan.end[i] + by, length) - plan.start[i]
            if allowed < by:
                by, settled = allowed, False
    return max(0, by) if by < math.inf else 0
