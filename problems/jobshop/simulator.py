"""The simulator of Tassel, Gebser and Schekotihin (ICAPS 2023): a constraint model in which time jumps from decision to decision.

Every operation is an interval with a lower bound of its start; precedences hold within jobs, no two intervals of a machine
overlap. The clock stands at the smallest bound of the jobs' next operations. What can start then are the legal actions,
besides waiting, which raises these bounds to the next time at which something else can start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.propagation import SimulatorState, reset_rows, times

__all__ = ["JobShopSimulator"]

_WINDOW = 5  # operations of each job that are observed, as in the paper


class JobShopSimulator(Environment):
    """A pool of partly fixed interval models, for the makespan without choices of machines.

    An action is a job, whose next operation starts now, or the number of jobs, for waiting. The reward of a step is minus the
    growth of the latest end that the bounds allow, the base minus the first such end.
    """

    def __init__(self, instances: Sequence[JobShopInstance], rows: int) -> None:
        if not instances or rows < 1:
            raise UsageError("an environment takes at least one instance and one row")
        if any(instance.flexible or instance.objective != "makespan" for instance in instances):
            raise UsageError("the simulator is for the makespan without choices of machines; accepted: such instances")
        self.instances, self.rows = list(instances), rows
        self.width = 1 + max(instance.jobs for instance in instances)
        self.state = _pool(self.instances, rows)
        self.reset(np.arange(rows), 0)

    def reset(self, rows: ArrayLike, which: ArrayLike, keys: ArrayLike | None = None) -> NDArray[np.float64]:
        """See Environment.reset; the bases are minus the longest job's end. Nothing is random: `keys` change nothing."""
        at = self._checked(rows)
        instances = np.broadcast_to(np.asarray(which, np.int64), at.shape).copy()
        if len(instances) and (instances.min() < 0 or instances.max() >= len(self.instances)):
            raise UsageError(f"instances are integers from 0 to {len(self.instances) - 1}")
        bases = np.empty(len(at))
        reset_rows(self.state, at, instances, bases)
        return bases

    def observe(self, rows: ArrayLike) -> dict[str, NDArray[Any]]:
        """Of each job a window of 5 operations: the one fixed last, the next one, and those behind. J is the most jobs.

        action: int32 [R, J + 1], as `actions` lists them: job numbers, then the number of jobs for waiting.
        mask: bool [R, J, 5], whether the window has an operation there; the other arrays are 0 where it has none.
        fixed, legal: bool [R, J, 5], whether it is fixed, and whether it can start now.
        start: int64 [R, J, 5], its start or the lower bound of it, less the time; duration: int64 [R, J, 5].
        machine: int32 [R, J, 5].
        time: int64 [R].
        """
        at, state = self._checked(rows), self.state
        instance, jobs = state.instance[at], self.width - 1
        time = np.empty(len(at), np.int64)
        times(state, at, time)
        exists = np.arange(jobs) < state.jobs[instance][:, None]
        job = np.where(exists, state.job_at[instance][:, None] + np.arange(jobs), 0)
        following = np.where(exists, state.next[at], 0)
        window = np.maximum(following - 1, state.opening[job])[:, :, None] + np.arange(_WINDOW)
        mask = exists[:, :, None] & (window < state.closing[job][:, :, None])
        window = np.where(mask, window, 0)
        operation = state.operation_at[instance][:, None, None] + window
        start = state.start[at[:, None, None], window] - time[:, None, None]
        nexts = mask & (window == following[:, :, None])
        return {
            "action": self.actions(at),
            "mask": mask,
            "fixed": mask & (window < following[:, :, None]),
            "legal": nexts & (start == 0),
            "start": np.where(mask, start, 0),
            "duration": np.where(mask, state.duration[operation], 0),
            "machine": np.where(mask, state.machine[operation], 0),
            "time": time,
        }

    def solution(self, row: int) -> Schedule:
        """The schedule of a row. Raises UsageError while operations are not fixed."""
        at = int(self._checked(row)[0])
        instance = self.instances[int(self.state.instance[at])]
        if self.state.left[at]:
            raise UsageError(f"row {at} has {self.state.left[at]} of {instance.operations} operations to schedule")
        return Schedule(self.state.start[at, : instance.operations].copy(), instance.choice_machine.copy())


def _pool(instances: list[JobShopInstance], rows: int) -> SimulatorState:
    """The pool over `instances`; the rows are for `reset`."""

    def joined(parts: list[Any], dtype: type) -> NDArray[Any]:
        return np.concatenate(parts).astype(dtype)

    jobs = np.array([instance.jobs for instance in instances], np.int64)
    machines = np.array([instance.machines for instance in instances], np.int64)
    operations = np.array([instance.operations for instance in instances], np.int64)
    counts = [np.bincount(instance.choice_machine, minlength=instance.machines) for instance in instances]
    return SimulatorState(
        jobs=jobs,
        operations=operations,
        job_at=np.cumsum(jobs) - jobs,
        machine_at=np.cumsum(machines) - machines,
        operation_at=np.cumsum(operations) - operations,
        opening=joined([i.first[:-1] for i in instances], np.int32),
        closing=joined([i.first[1:] for i in instances], np.int32),
        low=joined([_earliest(i) for i in instances], np.int64),
        job=joined([i.job for i in instances], np.int32),
        machine=joined([i.choice_machine for i in instances], np.int32),
        duration=joined([i.choice_duration for i in instances], np.int64),
        begin=joined([np.cumsum(count) - count for count in counts], np.int32),
        end=joined([np.cumsum(count) for count in counts], np.int32),
        members=joined([np.argsort(i.choice_machine, kind="stable") for i in instances], np.int32),
        instance=np.zeros(rows, np.int32),
        left=np.zeros(rows, np.int32),
        estimate=np.zeros(rows),
        next=np.zeros((rows, int(jobs.max())), np.int32),
        start=np.zeros((rows, int(operations.max())), np.int64),
    )


def _earliest(instance: JobShopInstance) -> NDArray[np.int64]:
    """When each operation could start if its job never waited."""
    end = np.cumsum(instance.choice_duration, dtype=np.int64)
    before = end - instance.choice_duration
    return np.asarray(before - before[instance.first[:-1]][instance.job] + instance.release[instance.job])
