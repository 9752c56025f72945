"""State, the pool of the environment "floor", and how it is made from instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.rules import FOREVER

__all__ = ["State", "check_supported", "new_pool"]

_SUPPORTED = ("unavailable", "family", "setups", "first_setups")


class State(NamedTuple):
    """A pool of R states of I instances with at most J jobs, M machines and O operations each.

    Jobs, operations and choices are numbered within their instance. An array of [all jobs] concatenates the jobs of all
    instances; those of instance i begin at index `jobs_offset[i]`. Arrays of [all operations], [all choices] and [all machines]
    are concatenated in the same way. All times are in the instance's unit. But for `next_break`, a row holds only what is known
    at the time `now`.
    """

    tardy: NDArray[np.bool_]
    """[I] True if the objective is the weighted tardiness, False if it is the makespan."""
    jobs: NDArray[np.int64]
    """[I] number of jobs."""
    machines: NDArray[np.int64]
    """[I] number of machines."""
    operations: NDArray[np.int64]
    """[I] number of operations."""
    choices: NDArray[np.int64]
    """[I] number of choices; as an action, this number means to wait."""
    families: NDArray[np.int64]
    """[I] number F of set-up families, at least 1."""
    jobs_offset: NDArray[np.int64]
    """[I] index of the instance's first job in the arrays of all jobs."""
    machines_offset: NDArray[np.int64]
    """[I] index of the instance's first machine in the arrays of all machines."""
    operations_offset: NDArray[np.int64]
    """[I] index of the instance's first operation in the arrays of all operations."""
    choices_offset: NDArray[np.int64]
    """[I] index of the instance's first choice in the arrays of all choices."""
    setups_offset: NDArray[np.int64]
    """[I] index of the instance's first entry in `setups`."""
    first_operation: NDArray[np.int32]
    """[all jobs] the job's first operation."""
    end_operation: NDArray[np.int32]
    """[all jobs] one past the job's last operation."""
    release: NDArray[np.int64]
    """[all jobs] when the job arrives."""
    due: NDArray[np.int64]
    """[all jobs] due dates; 2**62 if the instance has none."""
    weight: NDArray[np.int64]
    """[all jobs] the weight of one time unit of tardiness."""
    by_release: NDArray[np.int32]
    """[all jobs] the instance's jobs, sorted by release."""
    family_of: NDArray[np.int64]
    """[all operations] the operation's set-up family, 0..F-1."""
    job: NDArray[np.int32]
    """[all operations] the operation's job."""
    first_choice: NDArray[np.int32]
    """[all operations] the operation's first choice."""
    end_choice: NDArray[np.int32]
    """[all operations] one past the operation's last choice."""
    time_to_job_end: NDArray[np.int64]
    """[all operations] the least time from the operation's start to its job's end, on the fastest machines, without set-ups."""
    operation: NDArray[np.int32]
    """[all choices] the choice's operation."""
    machine: NDArray[np.int32]
    """[all choices] the choice's machine."""
    duration: NDArray[np.int64]
    """[all choices] the duration of the operation on that machine."""
    setups: NDArray[np.int64]
    """Set-up times; that of machine m from family a (-1: nothing processed yet) to b is at (m (F + 1) + a + 1) F + b."""
    first_break: NDArray[np.int64]
    """[all machines + 1] the first breakdown of each machine, in `closes` and `opens`."""
    closes: NDArray[np.int64]
    """[breakdowns] when each breakdown begins, sorted by time within a machine."""
    opens: NDArray[np.int64]
    """[breakdowns] when the machine is up again."""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    now: NDArray[np.int64]
    """[R] the present time."""
    arrived: NDArray[np.int32]
    """[R] number of jobs that have arrived."""
    present_count: NDArray[np.int32]
    """[R] number of jobs that have arrived and are not finished."""
    estimate: NDArray[np.float64]
    """[R] the objective value if every job continued from its last finished operation without waiting: a lower bound, exact once
    all jobs are finished."""
    present: NDArray[np.int32]
    """[R, J] the jobs that have arrived and are not finished, in the order of their arrival; `present_count` of them."""
    next: NDArray[np.int32]
    """[R, J] the first operation of each job that has not begun; `end_operation` if there is none."""
    ready: NDArray[np.int64]
    """[R, J] when the job's last begun operation will end or has ended, or was undone; the release date if there is none."""
    earliest_end: NDArray[np.int64]
    """[R, J] the end of each job if it continued from its last finished operation without waiting."""
    free: NDArray[np.int64]
    """[R, M] when the machine's operation will end, or the machine will be up again; not after `now` if it is free."""
    running: NDArray[np.int32]
    """[R, M] the job of the operation that is set up for or processed; -1 if there is none."""
    family: NDArray[np.int32]
    """[R, M] the family that the machine is set up for; -1 at first."""
    family_before: NDArray[np.int32]
    """[R, M] the same before the operation under way, whose undoing restores it."""
    next_break: NDArray[np.int64]
    """[R, M] the machine's first breakdown that has not begun, in `closes` (the world's; no observation depends on it)."""
    start_time: NDArray[np.int64]
    """[R, O] start times of the begun operations; other entries are undefined."""
    chosen: NDArray[np.int32]
    """[R, O] choices of the begun operations; other entries are undefined."""


def check_supported(instances: Sequence[JobShopInstance]) -> None:
    """Raise UsageError if an instance has side constraints other than set-ups and breakdowns that end."""
    for instance in instances:
        who, rules = instance.name or "jobshop", instance.rules
        if instance.objective == "earliness_tardiness":
            raise UsageError(f"{who}: the environment floor does not support earliness")
        if rules is None:
            continue
        for name in ("earliest", "no_wait", "blocking", "resumable", "early", "fixed_start", "capacity", "changes"):
            if getattr(rules, name) is not None:
                raise UsageError(f"{who}: the environment floor does not support {name}; accepted: {', '.join(_SUPPORTED)}")
        if rules.now:
            raise UsageError(f"{who}: the environment floor does not support a time that is now; accepted: 0")
        if rules.unavailable is not None and (rules.unavailable[:, 2] == FOREVER).any():
            raise UsageError(f"{who}: the environment floor does not support machines that are down for good")


def new_pool(instances: Sequence[JobShopInstance], rows: int) -> State:
    """Return a pool of `rows` states of `instances`; `reset_rows` initialises them."""

    def joined(parts: list[Any], dtype: type) -> NDArray[Any]:
        return np.concatenate(parts).astype(dtype)

    def offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.cumsum(sizes) - sizes

    jobs, machines, operations = (
        np.array([getattr(one, name) for one in instances], np.int64) for name in ("jobs", "machines", "operations")
    )
    choices = np.array([len(one.choice_machine) for one in instances], np.int64)
    setups = [_setups(one) for one in instances]
    breaks = [_breaks(one) for one in instances]
    counts = np.concatenate([np.bincount(each[:, 0], minlength=one.machines) for each, one in zip(breaks, instances)])
    j, m, o = int(jobs.max()), int(machines.max()), int(operations.max())
    return State(
        tardy=np.array([one.objective == "weighted_tardiness" for one in instances]),
        jobs=jobs,
        machines=machines,
        operations=operations,
        choices=choices,
        families=np.array([each.shape[2] for each in setups], np.int64),
        jobs_offset=offsets(jobs),
        machines_offset=offsets(machines),
        operations_offset=offsets(operations),
        choices_offset=offsets(choices),
        setups_offset=offsets(np.array([each.size for each in setups], np.int64)),
        first_operation=joined([one.first[:-1] for one in instances], np.int32),
        end_operation=joined([one.first[1:] for one in instances], np.int32),
        release=joined([one.release for one in instances], np.int64),
        due=joined([np.full(one.jobs, 2**62) if one.due is None else one.due for one in instances], np.int64),
        weight=joined([one.weight for one in instances], np.int64),
        by_release=joined([np.argsort(one.release, kind="stable") for one in instances], np.int32),
        family_of=joined([_families(one) for one in instances], np.int64),
        job=joined([one.job for one in instances], np.int32),
        first_choice=joined([one.choice_first[:-1] for one in instances], np.int32),
        end_choice=joined([one.choice_first[1:] for one in instances], np.int32),
        time_to_job_end=joined([_times_to_job_end(one) for one in instances], np.int64),
        operation=joined([np.repeat(np.arange(one.operations), np.diff(one.choice_first)) for one in instances], np.int32),
        machine=joined([one.choice_machine for one in instances], np.int32),
        duration=joined([one.choice_duration for one in instances], np.int64),
        setups=joined([each.ravel() for each in setups], np.int64),
        first_break=np.append(0, np.cumsum(counts)).astype(np.int64),
        closes=joined([each[:, 1] for each in breaks], np.int64),
        opens=joined([each[:, 2] for each in breaks], np.int64),
        instance=np.zeros(rows, np.int32),
        now=np.zeros(rows, np.int64),
        arrived=np.zeros(rows, np.int32),
        present_count=np.zeros(rows, np.int32),
        estimate=np.zeros(rows),
        present=np.zeros((rows, j), np.int32),
        next=np.zeros((rows, j), np.int32),
        ready=np.zeros((rows, j), np.int64),
        earliest_end=np.zeros((rows, j), np.int64),
        free=np.zeros((rows, m), np.int64),
        running=np.zeros((rows, m), np.int32),
        family=np.zeros((rows, m), np.int32),
        family_before=np.zeros((rows, m), np.int32),
        next_break=np.zeros((rows, m), np.int64),
        start_time=np.zeros((rows, o), np.int64),
        chosen=np.zeros((rows, o), np.int32),
    )


def _setups(instance: JobShopInstance) -> NDArray[np.int64]:
    """Return int64 [M, F + 1, F], the set-up times of each machine from nothing (index 0) and from each family to each family."""
    rules = instance.rules
    if rules is None or rules.setups is None:
        return np.zeros((instance.machines, 2, 1), np.int64)
    first = np.zeros(rules.setups.shape[:2], np.int64) if rules.first_setups is None else rules.first_setups
    return np.concatenate([first[:, None, :], rules.setups], axis=1)


def _families(instance: JobShopInstance) -> NDArray[np.int64]:
    if instance.rules is None or instance.rules.setups is None:
        return np.zeros(instance.operations, np.int64)
    return instance.rules.families(instance)


def _breaks(instance: JobShopInstance) -> NDArray[np.int64]:
    """Return the breakdowns, int64 [breakdowns, 3]: machine, from, to."""
    if instance.rules is None or instance.rules.unavailable is None:
        return np.zeros((0, 3), np.int64)
    return instance.rules.unavailable


def _times_to_job_end(instance: JobShopInstance) -> NDArray[np.int64]:
    """Return the least time from each operation's start to the end of its job, int64 [operations]."""
    total = np.cumsum(instance.shortest[::-1], dtype=np.int64)[::-1]
    later_jobs = np.append(total, 0)[instance.first[1:]]
    return np.asarray(total - later_jobs[instance.job])
