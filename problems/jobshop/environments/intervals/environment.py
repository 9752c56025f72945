"""The environment of Tassel, Gebser and Schekotihin (ICAPS 2023): a constraint model in which time jumps between decisions.

Every operation is an interval with a lower bound of its start. An operation follows its predecessor in the job, and no two
intervals of a machine overlap. The present time is the smallest lower bound of the jobs' next operations. An action starts one
of the operations that can start now, or waits: waiting raises the lower bounds of all these operations to the second smallest
lower bound of the jobs' next operations. Steps without an alternative are made within the step before (transitions.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.jobshop.environment import refuse
from corl.problems.jobshop.environments.intervals.features import COLUMNS, END, FIRST, JOB, NEXT, SOON, observe
from corl.problems.jobshop.environments.intervals.transitions import NEVER, State, clocks, reset_rows
from corl.problems.jobshop.instance import JobShopInstance, Schedule

__all__ = ["IntervalEnvironment"]

_WINDOW = 5  # operations of each job that are observed, as in the paper


class IntervalEnvironment(Environment):
    """A pool of partly fixed interval models, for the makespan without choices of machines.

    An action is a job, whose next operation is then fixed at the present time, or the number of jobs, which means waiting. At
    most `width` actions are listed: jobs in descending order of their earliest possible ends, then waiting.

    The estimate is the makespan that the lower bounds of the starts imply. The reward of a step is minus the growth of the
    estimate; the base value is minus the estimate of the first state.
    """

    def __init__(self, instances: Sequence[JobShopInstance], rows: int, width: int = 129) -> None:
        super().__init__(instances, rows, width)
        refuse(instances)
        self.width = min(width, 1 + max(instance.jobs for instance in instances))
        if any(instance.flexible or instance.objective != "makespan" for instance in instances):
            raise UsageError("the interval environment is for the makespan without choices of machines; accepted: such instances")
        self.state = _pool(self.instances, rows)
        self.reset(np.arange(rows), 0)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values, float64 [R]: minus the estimates of the first states."""
        bases = np.empty(len(rows))
        reset_rows(self.state, rows, which, bases)
        return bases

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the data of each listed action; empty slots are 0, and so is waiting except in the first three arrays.

        The window of a job is its last fixed operation, its next operation, and the three operations after the next one.

        Returns:
            action: int32 [R, K], the listed actions, -1 in empty slots.
            mask: bool [R, K], whether the slot holds an action.
            waiting: bool [R, K], whether the action is waiting.
            there: bool [R, K, 5], which operations of the window exist.
            fixed: bool [R, K, 5], which operations of the window are fixed.
            start: int64 [R, K, 5], starts of the fixed operations, lower bounds of the others, relative to the present time.
            duration: int64 [R, K, 5], durations of the operations of the window.
            machine: int32 [R, K, 5], machines of the operations of the window.
            work: int64 [R, K, 5], for the machine of each operation of the window, the sum of the durations of all operations of
                this machine that are not fixed.
            end: int64 [R, K], the least time from now to the job's end.
            left: int64 [R, K], the number of operations of the job that are not fixed.
            soon: int64 [R, K], the time until another operation can start on the machine of the job's next operation; 2**62 if
                there is none.
            time: int64 [R], the present time.
            pause: int64 [R], how long a wait would take; 0 if no next operation has a later lower bound.
            estimate: float64 [R], the makespan that the lower bounds imply.
            remaining: int32 [R], the number of operations that are not fixed.
            unit: float64 [R], the instance's mean duration.
        """
        state = self.state
        instance = state.instance[rows]
        table, time = np.zeros((*actions.shape, len(COLUMNS)), np.int64), np.empty((len(rows), 2), np.int64)
        observe(state, rows, actions, table)
        clocks(state, rows, time)
        jobs = state.jobs[instance][:, None]
        is_job = (actions >= 0) & (actions < jobs)
        following = table[:, :, NEXT]
        end_operation = state.end_operation[state.jobs_offset[instance][:, None] + table[:, :, JOB]]
        window = following[:, :, None] + np.arange(-1, _WINDOW - 1)
        there = is_job[:, :, None] & (window >= table[:, :, FIRST, None]) & (window < end_operation[:, :, None])
        window = np.where(there, window, 0)
        operation = state.operations_offset[instance][:, None, None] + window
        machine = np.where(there, state.machine[operation], 0)

        def shown(values: NDArray[Any]) -> NDArray[Any]:
            return np.where(there, values, 0)

        return {
            "action": actions,
            "mask": actions >= 0,
            "waiting": actions == jobs,
            "there": there,
            "fixed": there & (window < following[:, :, None]),
            "start": shown(state.start_time[rows[:, None, None], window] - time[:, 0, None, None]),
            "duration": shown(state.duration[operation]),
            "machine": machine,
            "work": shown(state.work[rows[:, None, None], machine]),
            "end": table[:, :, END],
            "left": np.where(is_job, end_operation - following, 0),
            "soon": table[:, :, SOON],
            "time": time[:, 0],
            "pause": np.where(time[:, 1] < NEVER, time[:, 1] - time[:, 0], 0),
            "estimate": state.estimate[rows],
            "remaining": state.unscheduled[rows],
            "unit": state.unit[instance],
        }

    def solution(self, row: int) -> Schedule:
        """Return the schedule of a row. Raises UsageError while operations are not fixed."""
        at = int(self._checked(row)[0])
        instance = self.instances[int(self.state.instance[at])]
        if self.state.unscheduled[at]:
            raise UsageError(f"row {at} has {self.state.unscheduled[at]} of {instance.operations} operations to schedule")
        return Schedule(self.state.start_time[at, : instance.operations].copy(), instance.choice_machine.copy())


def _pool(instances: list[JobShopInstance], rows: int) -> State:
    """Return the pool of `instances`; the rows are initialised by `reset`."""

    def joined(parts: list[Any], dtype: type) -> NDArray[Any]:
        return np.concatenate(parts).astype(dtype)

    jobs = np.array([instance.jobs for instance in instances], np.int64)
    machines = np.array([instance.machines for instance in instances], np.int64)
    operations = np.array([instance.operations for instance in instances], np.int64)
    counts = [np.bincount(instance.choice_machine, minlength=instance.machines) for instance in instances]
    total_durations = [int(i.choice_duration.sum(dtype=np.int64)) for i in instances]
    return State(
        jobs=jobs,
        machines=machines,
        operations=operations,
        unit=np.maximum(1e-9, np.array(total_durations) / operations),
        jobs_offset=np.cumsum(jobs) - jobs,
        machines_offset=np.cumsum(machines) - machines,
        operations_offset=np.cumsum(operations) - operations,
        first_operation=joined([i.first[:-1] for i in instances], np.int32),
        end_operation=joined([i.first[1:] for i in instances], np.int32),
        low=joined([_earliest(i) for i in instances], np.int64),
        job=joined([i.job for i in instances], np.int32),
        machine=joined([i.choice_machine for i in instances], np.int32),
        duration=joined([i.choice_duration for i in instances], np.int64),
        first_member=joined([np.cumsum(count) - count for count in counts], np.int32),
        end_member=joined([np.cumsum(count) for count in counts], np.int32),
        members=joined([np.argsort(i.choice_machine, kind="stable") for i in instances], np.int32),
        instance=np.zeros(rows, np.int32),
        unscheduled=np.zeros(rows, np.int32),
        waits=np.zeros(rows, np.bool_),
        work=np.zeros((rows, int(machines.max())), np.int64),
        estimate=np.zeros(rows),
        next=np.zeros((rows, int(jobs.max())), np.int32),
        start_time=np.zeros((rows, int(operations.max())), np.int64),
    )


def _earliest(instance: JobShopInstance) -> NDArray[np.int64]:
    """Return when each operation could start if its job never waited, int64 [O]."""
    end = np.cumsum(instance.choice_duration, dtype=np.int64)
    before = end - instance.choice_duration
    return np.asarray(before - before[instance.first[:-1]][instance.job] + instance.release[instance.job])
