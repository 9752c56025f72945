"""An instance with its rules, and a schedule in the making, as arrays for kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.rules import Rules

__all__ = ["Plan", "Shop", "new_plan", "schedule_of", "shop_of"]

_Integers = NDArray[np.int64]
_GOALS = {"makespan": 0, "weighted_tardiness": 1, "earliness_tardiness": 2}


class Shop(NamedTuple):
    """J jobs, O operations, C choices, M machines, U units: runs of operations of a job, each without waiting behind the last."""

    goal: _Integers
    """[1] what is minimised: 0 the makespan, 1 the weighted tardiness, 2 that and the weighted earliness."""
    now: _Integers
    """[1]"""
    first: _Integers
    """[J + 1] operations"""
    job: _Integers
    """[O]"""
    begin: _Integers
    """[O + 1] choices"""
    machine: _Integers
    duration: _Integers
    """[C] each"""
    rest: _Integers
    """[O] the least time from an operation's start to the end of its job."""
    unit: _Integers
    """[U + 1] operations"""
    unit_at: _Integers
    """[J + 1] units"""
    lowest: _Integers
    """[O] before which an operation does not start."""
    fixed_start: _Integers
    fixed_choice: _Integers
    """[O] each, -1 where an operation is free."""
    timed: NDArray[np.bool_]
    """[M] whether there are set-ups."""
    family: _Integers
    """[O]"""
    setups: _Integers
    """[M, F, F], or of size 1 where no machine is timed"""
    first_setups: _Integers
    """[M, F]"""
    break_at: _Integers
    """[M + 1] breaks"""
    closes: _Integers
    opens: _Integers
    due: _Integers
    """[J], as the others that follow"""
    weight: _Integers
    early: _Integers
    earliness: _Integers


class Plan(NamedTuple):
    """A schedule in the making: what each machine does, by time, and how far the jobs are."""

    start: _Integers
    end: _Integers
    """[O] each"""
    choice: _Integers
    """[O] -1 while an operation is not placed."""
    filled: _Integers
    """[M] operations in a machine's line"""
    line_at: _Integers
    """[M + 1]"""
    line: _Integers
    """[C] operations by time, machine after machine"""
    next: _Integers
    """[J] each job's next unit"""


def shop_of(instance: JobShopInstance) -> Shop:
    """The arrays of an instance; one without rules has empty ones."""
    rules = Rules() if instance.rules is None else instance.rules
    o, jobs = instance.operations, instance.jobs
    units = np.arange(o) if rules.no_wait is None else np.flatnonzero(~rules.no_wait)
    shortest = instance.shortest.astype(np.int64)
    total = np.cumsum(shortest)
    due = np.zeros(jobs, np.int64) if instance.due is None else instance.due
    setups = np.zeros((instance.machines, 1, 1), np.int64) if rules.setups is None else rules.setups
    first_setups = np.zeros(setups.shape[:2], np.int64) if rules.first_setups is None else rules.first_setups
    breaks = np.zeros((0, 3), np.int64) if rules.unavailable is None else rules.unavailable
    fixed_start, fixed_choice = np.full(o, -1), np.full(o, -1)
    for i in rules.fixed.tolist():
        assert rules.fixed_start is not None and rules.fixed_machine is not None
        able = [machine for machine, _ in instance.choices(i)]
        fixed_start[i] = rules.fixed_start[i]
        fixed_choice[i] = instance.choice_first[i] + able.index(int(rules.fixed_machine[i]))
    return Shop(
        goal=np.array([_GOALS[instance.objective]]),
        now=np.array([rules.now]),
        first=instance.first.astype(np.int64),
        job=instance.job.astype(np.int64),
        begin=instance.choice_first.astype(np.int64),
        machine=instance.choice_machine.astype(np.int64),
        duration=instance.choice_duration.astype(np.int64),
        rest=total[instance.first[1:] - 1][instance.job] - total + shortest,
        unit=np.append(units, o),
        unit_at=np.searchsorted(units, instance.first).astype(np.int64),
        lowest=rules.lowest(instance),
        fixed_start=fixed_start,
        fixed_choice=fixed_choice,
        timed=np.asarray(setups.any(axis=(1, 2)) | first_setups.any(axis=1)),
        family=np.zeros(o, np.int64) if rules.setups is None else rules.families(instance).copy(),
        setups=setups.copy(),
        first_setups=first_setups.copy(),
        break_at=np.searchsorted(breaks[:, 0], np.arange(instance.machines + 1)).astype(np.int64),
        closes=breaks[:, 1].copy(),
        opens=breaks[:, 2].copy(),
        due=due.copy(),
        weight=instance.weight.copy(),
        early=(due if rules.early is None else rules.early).copy(),
        earliness=np.ones(jobs, np.int64) if rules.earliness is None else rules.earliness.copy(),
    )


def new_plan(instance: JobShopInstance) -> Plan:
    """Nothing is placed."""
    o = instance.operations
    counts = np.bincount(instance.choice_machine, minlength=instance.machines)
    return Plan(
        start=np.zeros(o, np.int64),
        end=np.zeros(o, np.int64),
        choice=np.full(o, -1, np.int64),
        filled=np.zeros(instance.machines, np.int64),
        line_at=np.append(0, np.cumsum(counts)).astype(np.int64),
        line=np.zeros(len(instance.choice_machine), np.int64),
        next=np.zeros(instance.jobs, np.int64),
    )


def schedule_of(instance: JobShopInstance, plan: Plan) -> Schedule:
    """The Schedule of a plan in which everything is placed."""
    return Schedule(plan.start.copy(), instance.choice_machine[plan.choice].astype(np.int32))
