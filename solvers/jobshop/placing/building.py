"""Whole schedules: by dispatching rules, or from an order of the jobs' units; then what ends too early is put later."""

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
from corl.solvers.jobshop.placing.gaps import copy_plan, latest_fit, lines_hold, place, remove, setup

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["MISSING", "UNFINISHED", "Looks", "build", "decode", "new_looks"]

MISSING = 1e18
"""What a schedule is worth for each unit that did not fit."""
UNFINISHED = -1.0


class Looks(NamedTuple):
    """What dispatching remembers from one unit to the next: when and where the next unit of each job could start; J jobs."""

    touched: NDArray[np.int64]
    """[M] at which step something was put on a machine."""
    seen: NDArray[np.int64]
    """[J] at which step a job was looked at; -1: never, or it went on since."""
    start: NDArray[np.int64]
    """[J]"""
    end: NDArray[np.int64]
    """[J]"""
    machine: NDArray[np.int64]
    """[J]"""


def new_looks(instance: JobShopInstance) -> Looks:
    """Before the first unit."""
    j = instance.jobs
    zeros = (np.zeros(j, np.int64) for _ in range(3))
    return Looks(np.zeros(instance.machines, np.int64), np.full(j, -1, np.int64), *zeros)


@kernel
def decode(shop, base, plan, fixed, word, wanted):
    """Place the units in the order of `word`, in which job j stands for its next one; returns the schedule's value.

    base: the plan with what is fixed, `fixed`, alone. One that is not feasible is worth more than any other, the more is missing
    the more.
    """
    copy_plan(base, plan)
    for p in range(len(word)):
        j = word[p]
        _skip(shop, plan, j)
        if not place(shop, plan, plan.next[j], wanted):
            return MISSING * (len(word) - p)
        plan.next[j] += 1
    if len(fixed) and not lines_hold(shop, plan, fixed):
        return MISSING
    if shop.goal[0] == 2:
        _delay(shop, plan)
    return _value(shop, plan)


@kernel(inline=True, borrow=True)
def _skip(shop, plan, j):
    """Past what is placed because it is fixed."""
    while plan.choice[shop.unit[plan.next[j]]] >= 0:
        plan.next[j] += 1


@kernel(borrow=True)
def _value(shop, plan):
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
def build(shop, base, plan, fixed, wanted, rule, noise, active, random, word, looks, first, stop):
    """Always the unit of the highest priority by a rule among those that may come next; `word` becomes the order.

    The units `first` to `stop` - 1 of the order; returns UNFINISHED where there are more.

    Non-delay: those that can start first; active: those that can start, on the machine where one can end first, before that end.
    """
    touched, seen, start, end, machine, jobs = looks.touched, looks.seen, looks.start, looks.end, looks.machine, len(shop.due)
    if first == 0:
        copy_plan(base, plan)
    for step in range(first + 1, min(stop, len(word)) + 1):
        for j in range(jobs):
            if _done(shop, plan, j):
                start[j] = end[j] = FOREVER
            elif _stale(shop, plan, j, touched, seen[j]):
                if not place(shop, plan, plan.next[j], wanted):
                    return MISSING * (len(word) + 1 - step)
                i = shop.unit[plan.next[j]]
                start[j], end[j], machine[j], seen[j] = plan.start[i], plan.end[i], shop.machine[plan.choice[i]], step
                remove(shop, plan, plan.next[j])
        j = _chosen(shop, plan, start, end, machine, rule, noise, active, random)
        u = plan.next[j]
        place(shop, plan, u, wanted)
        for i in range(shop.unit[u], shop.unit[u + 1]):
            touched[shop.machine[plan.choice[i]]] = step
        word[step - 1], seen[j] = j, -1
        plan.next[j] += 1
    if stop < len(word):
        return UNFINISHED
    if len(fixed) and not lines_hold(shop, plan, fixed):
        return MISSING
    if shop.goal[0] == 2:
        _delay(shop, plan)
    return _value(shop, plan)


@kernel(borrow=True)
def _done(shop, plan, j):
    while plan.next[j] < shop.unit_at[j + 1] and plan.choice[shop.unit[plan.next[j]]] >= 0:
        plan.next[j] += 1
    return plan.next[j] == shop.unit_at[j + 1]


@kernel(borrow=True)
def _stale(shop, plan, j, touched, seen):
    """Whether a machine that the job's next unit may take has changed since it was looked at."""
    if seen < 0:
        return True
    u, stale = plan.next[j], False
    for c in range(shop.begin[shop.unit[u]], shop.begin[shop.unit[u + 1]]):
        stale = stale or touched[shop.machine[c]] >= seen
    return stale


@kernel
def _chosen(shop, plan, start, end, machine, rule, noise, active, random):
    """The job of the highest priority, the first of equals."""
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
def _delay(shop, plan):
    """Put units as late as that costs nothing, those that start last first, and jobs that end too early as late as they should.

    The sequences stay as they are. What is fixed, and runs without waiting of which something is fixed, stay too.
    """
    units = len(shop.unit) - 1
    starts = np.empty(units, np.int64)
    for u in range(units):
        starts[u] = -plan.start[shop.unit[u]]
    behind = np.full(len(plan.choice), -1)
    for m in range(len(plan.filled)):
        for p in range(plan.line_at[m], plan.line_at[m] + plan.filled[m] - 1):
            behind[plan.line[p]] = plan.line[p + 1]
    for u in np.argsort(starts, kind="mergesort"):
        by = _room(shop, plan, behind, shop.unit[u], shop.unit[u + 1])
        for i in range(shop.unit[u], shop.unit[u + 1]):
            plan.start[i], plan.end[i] = plan.start[i] + by, plan.end[i] + by


@kernel(borrow=True)
def _room(shop, plan, behind, a, b):
    """By how much the run of operations a..b-1 can be put later."""
    j, by = shop.job[a], FOREVER
    if b < shop.first[j + 1]:
        by = plan.start[b] - plan.end[b - 1]
    else:
        by = max(0, shop.early[j] - plan.end[b - 1])
    for i in range(a, b):
        if shop.fixed_start[i] >= 0:
            return 0
        m, following = shop.machine[plan.choice[i]], behind[i]
        if following >= 0:
            length = setup(shop, m, i, following)
            until = plan.start[following] if length == 0 else latest_fit(shop, m, plan.start[following], length)
            by = min(by, until - plan.end[i])
    settled = False
    while not settled:  # no operation may lie on a break
        settled = True
        for i in range(a, b):
            m = shop.machine[plan.choice[i]]
            length = plan.end[i] - plan.start[i]
            allowed = latest_fit(shop, m, plan.end[i] + by, length) - plan.start[i]
            if allowed < by:
                by, settled = allowed, False
    return max(0, by) if by < math.inf else 0
