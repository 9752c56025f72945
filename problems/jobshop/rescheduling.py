"""Rescheduling: the instance of the decisions that remain at the present time, given an instance and its current schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from corl.errors import UsageError
from corl.problems.jobshop.change_costs import ChangeCosts
from corl.problems.jobshop.evaluation import check, ends
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.rules import FOREVER, SideConstraints

__all__ = ["reschedule"]


def reschedule(
    instance: JobShopInstance,
    schedule: Any,
    now: int,
    *,
    down: Sequence[tuple[int, int | None]] = (),
    frozen_until: int | None = None,
    change_costs: tuple[int, int] | None = None,
) -> JobShopInstance:
    """Return the instance at the time `now`.

    Operations that start before `frozen_until` in `schedule` keep their start and machine: they are fixed. All other operations
    are free, and start at `now` or later. Raises Infeasible if the schedule is not feasible, UsageError for an invalid time or
    machine.

    Args:
        instance: The instance.
        schedule: A feasible schedule of the instance.
        now: The present time, not before `instance.rules.now`.
        down: (machine, end) for each machine that has just broken down: it is up again at time `end`, or never if that is None.
            An operation that would run there before `end` is not fixed, nor are the later operations of its job; an operation
            that is running there starts again from scratch or, if it is resumable and the machine is up again, continues: then
            no later operation of the machine or of its job is fixed.
        frozen_until: Operations that start before this time are fixed; by default `now`.
        change_costs: The cost of each operation that moves to another machine, and of each unit of time by which an operation
            starts earlier or later than in `schedule`; both are added to the objective. None: changes cost nothing.
    """
    found, rules = check(instance, schedule), SideConstraints() if instance.rules is None else instance.rules
    if not rules.now <= now or (frozen_until is not None and frozen_until < now):
        raise UsageError(f"now: {now} is not accepted; accepted: from {rules.now}, and frozen_until from now on")
    end = ends(instance, found)
    fixed = found.start < (now if frozen_until is None else frozen_until)
    spells = [] if rules.unavailable is None else rules.unavailable.tolist()
    for machine, until in down:
        if not 0 <= machine < instance.machines or (until is not None and until <= now):
            accepted = f"accepted: (machine, a time after {now} or None for good)"
            raise UsageError(f"down: {(machine, until)} is not accepted; {accepted}")
        up = FOREVER if until is None else until
        there = (found.machine == machine) & (end > now)
        continues = there & (found.start < now) & (False if rules.resumable is None or until is None else rules.resumable)
        fixed &= continues | ~(there & ((found.start < up) | continues.any()))
        fixed[1:] &= ~continues[:-1] | (instance.job[1:] != instance.job[:-1])
        spells = _with_spell(spells, machine, now, up)
    for i in range(instance.operations):  # the job successors of free operations are free
        if i not in instance.first[:-1] and not fixed[i - 1]:
            fixed[i] = False
    changed = replace(
        rules,
        now=now,
        unavailable=np.array(spells, np.int64).reshape(-1, 3) if spells else None,
        fixed_start=np.where(fixed, found.start, -1),
        fixed_machine=np.where(fixed, found.machine, -1),
        changes=None if change_costs is None else ChangeCosts(found.start, found.machine.astype(np.int64), *change_costs),
    )
    return replace(instance, rules=changed)


def _with_spell(spells: list[list[int]], machine: int, begin: int, end: int) -> list[list[int]]:
    """Return the breaks with the break begin..end of a machine added; breaks that touch are merged."""
    others = []
    for m, closes, opens in spells:
        if m == machine and closes <= end and opens >= begin:
            begin, end = min(begin, closes), max(end, opens)
        else:
            others.append([m, closes, opens])
    return sorted([*others, [machine, begin, end]])
