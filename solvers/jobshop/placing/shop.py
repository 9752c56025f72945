"""An instance with its side constraints, and a partial schedule, as arrays for kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import by_reference
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.resources import usable_choices
from corl.problems.jobshop.rules import SideConstraints
from corl.solvers.jobshop.placing.moved import change_arrays

__all__ = ["PartialSchedule", "Shop", "new_plan", "schedule_of", "shop_of", "unsupported"]

_Integers = NDArray[np.int64]
_GOALS = {"makespan": 0, "weighted_tardiness": 1, "earliness_tardiness": 2}


class Shop(NamedTuple):
    """An instance as arrays: J jobs, O operations, C choices, M machines, F set-up families, U units, R resources.

    A choice is an operation with one of its eligible machines. A unit is a run of operations of a job, mostly a single one, each
    of which starts when the one before it ends, or blocks its machine until the next one starts. The operations of job j are
    first[j]..first[j + 1] - 1; the other arrays of length J + 1, O + 1, M + 1 or U + 1 are used likewise.
    """

    goal: _Integers
    """[1] the objective: 0 makespan, 1 weighted tardiness, 2 weighted tardiness plus weighted earliness."""
    announced_start: _Integers
    """[O] the start of each operation in the announced schedule, -1 if it has none; [0] if changes cost nothing."""
    announced_machine: _Integers
    """[O] the machine of each operation in the announced schedule; [0] likewise."""
    change_costs: _Integers
    """[2] the cost of a change of machine, and of each time unit by which a start is shifted."""
    now: _Integers
    """[1] the present time: the set-up before an operation that is not fixed begins no earlier."""
    first: _Integers
    """[J + 1] the first operation of each job."""
    job: _Integers
    """[O] the job of each operation."""
    choice_offset: _Integers
    """[O + 1] the first choice of each operation."""
    machine: _Integers
    """[C] the machine of each choice."""
    duration: _Integers
    """[C] the duration of each choice."""
    time_to_job_end: _Integers
    """[O] the least time from an operation's start to the end of its job."""
    unit: _Integers
    """[U + 1] the first operation of each unit."""
    no_wait: NDArray[np.bool_]
    """[O] which operations start exactly when their job predecessor ends."""
    blocking: NDArray[np.bool_]
    """[O] which operations' jobs stay on the machine until their next operation starts."""
    swap: NDArray[np.bool_]
    """[1] whether jobs may exchange machines at the same time; True if there is no blocking."""
    resumable: NDArray[np.bool_]
    """[O] which operations stop at breaks and continue after them; all False if there are no breaks."""
    unit_offset: _Integers
    """[J + 1] the first unit of each job."""
    lowest: _Integers
    """[O] the earliest start of each operation, by dates only."""
    fixed_start: _Integers
    """[O] the fixed start, -1 if the operation is not fixed."""
    fixed_choice: _Integers
    """[O] the fixed choice, -1 if the operation is not fixed."""
    has_setups: NDArray[np.bool_]
    """[M] whether the machine has set-ups that take time."""
    family: _Integers
    """[O] the set-up family of each operation."""
    setups: _Integers
    """[M, F, F] set-up times of each machine from one family to another; [M, 1, 1] zeros if the instance has no set-ups."""
    first_setups: _Integers
    """[M, F] set-up times before the first operation of a machine, by its family."""
    break_offset: _Integers
    """[M + 1] the first break of each machine."""
    closes: _Integers
    """[breaks] when each break begins."""
    opens: _Integers
    """[breaks] when each break ends."""
    due: _Integers
    """[J] due dates."""
    weight: _Integers
    """[J] cost per time unit of tardiness."""
    early: _Integers
    """[J] the date before which a job ends too early."""
    earliness: _Integers
    """[J] cost per time unit of earliness."""
    capacity: _Integers
    """[R] the number of units of each renewable resource."""
    demand: _Integers
    """[C, R] the units that each choice occupies from its operation's start to its end."""
    usable: NDArray[np.bool_]
    """[C] whether the choice needs no more units than there are."""


class PartialSchedule(NamedTuple):
    """A partial schedule: times and choices of the placed operations, the sequence of each machine, the next unit of each job."""

    start: _Integers
    """[O] start times of the placed operations."""
    end: _Integers
    """[O] end times of the placed operations; of one that blocks its machine, the start of the next one once it is placed."""
    choice: _Integers
    """[O] the choice of each placed operation; -1 if the operation is not placed."""
    sequence_length: _Integers
    """[M] the number of operations placed on each machine."""
    sequence_offset: _Integers
    """[M + 1] the index of each machine's first entry in `sequences`."""
    sequences: _Integers
    """[C] for each machine the operations placed on it, by time; it has space for all operations that it can process."""
    next: _Integers
    """[J] the next unit of each job to place."""
    profile_length: _Integers
    """[R] the number of steps in the profile of each resource (resources.py)."""
    profile_offset: _Integers
    """[R + 1] the index of each resource's first entry in `profile_time` and `profile_units`."""
    profile_time: _Integers
    """[steps] for each resource the times at which the number of occupied units changes."""
    profile_units: _Integers
    """[steps] the number of occupied units from then on."""


def unsupported(instance: JobShopInstance) -> str:
    """Return the reason why schedules of an instance cannot be built by placing units; "" if they can."""
    blocks = instance.rules is not None and instance.rules.blocking is not None and instance.rules.blocking.any()
    if blocks and instance.rules is not None and len(instance.rules.fixed):
        return "it does not support jobs that block their machines together with operations that are frozen or running"
    return ""


def shop_of(instance: JobShopInstance) -> Shop:
    """Return the arrays of an instance, which kernels receive as a pointer.

    Constraints that the instance does not have are represented by empty arrays, zeros or -1.
    """
    rules = SideConstraints() if instance.rules is None else instance.rules
    o, jobs = instance.operations, instance.jobs
    no_wait, blocking = (np.zeros(o, bool) if flags is None else flags.copy() for flags in (rules.no_wait, rules.blocking))
    units = np.flatnonzero(~(no_wait | np.append(False, blocking[:-1])))
    resumable = np.zeros(o, bool) if rules.resumable is None or rules.unavailable is None else rules.resumable.copy()
    shortest = instance.shortest.astype(np.int64)
    total = np.cumsum(shortest)
    due = np.zeros(jobs, np.int64) if instance.due is None else instance.due
    setups = np.zeros((instance.machines, 1, 1), np.int64) if rules.setups is None else rules.setups
    first_setups = np.zeros(setups.shape[:2], np.int64) if rules.first_setups is None else rules.first_setups
    breaks = np.zeros((0, 3), np.int64) if rules.unavailable is None else rules.unavailable
    fixed_start, fixed_choice = np.full(o, -1), np.full(o, -1)
    for i in rules.fixed.tolist():
        assert rules.fixed_start is not None and rules.fixed_machine is not None
        machines = [machine for machine, _ in instance.choices(i)]
        fixed_start[i] = rules.fixed_start[i]
        fixed_choice[i] = instance.choice_first[i] + machines.index(int(rules.fixed_machine[i]))
    shop = Shop(
        goal=np.array([_GOALS[instance.objective]]),
        **change_arrays(instance, rules),
        now=np.array([rules.now]),
        first=instance.first.astype(np.int64),
        job=instance.job.astype(np.int64),
        choice_offset=instance.choice_first.astype(np.int64),
        machine=instance.choice_machine.astype(np.int64),
        duration=instance.choice_duration.astype(np.int64),
        time_to_job_end=total[instance.first[1:] - 1][instance.job] - total + shortest,
        unit=np.append(units, o),
        no_wait=no_wait,
        blocking=blocking,
        swap=np.array([rules.swap or not blocking.any()]),
        resumable=resumable,
        unit_offset=np.searchsorted(units, instance.first).astype(np.int64),
        lowest=rules.lowest(instance),
        fixed_start=fixed_start,
        fixed_choice=fixed_choice,
        has_setups=np.asarray(setups.any(axis=(1, 2)) | first_setups.any(axis=1)),
        family=np.zeros(o, np.int64) if rules.setups is None else rules.families(instance).copy(),
        setups=setups.copy(),
        first_setups=first_setups.copy(),
        break_offset=np.searchsorted(breaks[:, 0], np.arange(instance.machines + 1)).astype(np.int64),
        closes=breaks[:, 1].copy(),
        opens=breaks[:, 2].copy(),
        due=due.copy(),
        weight=instance.weight.copy(),
        early=(due if rules.early is None else rules.early).copy(),
        earliness=np.ones(jobs, np.int64) if rules.earliness is None else rules.earliness.copy(),
        capacity=np.zeros(0, np.int64) if rules.capacity is None else rules.capacity.copy(),
        demand=np.zeros((len(instance.choice_machine), 0), np.int64) if rules.demand is None else rules.demand.copy(),
        usable=usable_choices(instance),
    )
    return by_reference(shop)


def new_plan(instance: JobShopInstance) -> PartialSchedule:
    """Return an empty partial schedule, which kernels receive as a pointer."""
    o = instance.operations
    counts = np.bincount(instance.choice_machine, minlength=instance.machines)
    steps = _most_steps(instance)
    plan = PartialSchedule(
        start=np.zeros(o, np.int64),
        end=np.zeros(o, np.int64),
        choice=np.full(o, -1, np.int64),
        sequence_length=np.zeros(instance.machines, np.int64),
        sequence_offset=np.append(0, np.cumsum(counts)).astype(np.int64),
        sequences=np.zeros(len(instance.choice_machine), np.int64),
        next=np.zeros(instance.jobs, np.int64),
        profile_length=np.ones(len(steps), np.int64),
        profile_offset=np.append(0, np.cumsum(steps)).astype(np.int64),
        profile_time=np.zeros(steps.sum(), np.int64),
        profile_units=np.zeros(steps.sum(), np.int64),
    )
    return by_reference(plan)


def _most_steps(instance: JobShopInstance) -> _Integers:
    """Return the largest number of steps in the profile of each resource, int64 [R].

    They are one, two more for each operation that needs the resource, and two more while an operation is added or removed.
    """
    if instance.rules is None or instance.rules.demand is None:
        return np.zeros(0, np.int64)
    needs = np.logical_or.reduceat(instance.rules.demand > 0, instance.choice_first[:-1], axis=0)
    return np.asarray(2 * needs.sum(axis=0) + 3)


def schedule_of(instance: JobShopInstance, plan: PartialSchedule) -> Schedule:
    """Return the Schedule of a PartialSchedule in which all operations are placed."""
    return Schedule(plan.start.copy(), instance.choice_machine[plan.choice].astype(np.int32))
