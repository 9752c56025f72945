"""Building a sequence job by job, as a Markov decision process (README.md, "As a decision process")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.flowshop.features import COLUMNS, observe
from corl.problems.flowshop.instance import FlowShopInstance
from corl.problems.flowshop.transitions import State, reset_rows

__all__ = ["FlowShopEnvironment"]


class FlowShopEnvironment(Environment):
    """A pool of partial sequences.

    An action is a job, which is appended to the sequence that all machines follow. `actions` lists the `width` remaining jobs
    with the smallest sums of durations; `step` accepts any remaining job.

    The estimate is a lower bound of the objective value (`_bound` in transitions.py). The reward of a step is minus the growth of
    the estimate; the base value is minus the estimate of the empty sequence.
    """

    def __init__(self, instances: Sequence[FlowShopInstance], rows: int, width: int = 128) -> None:
        super().__init__(instances, rows, width)
        self.width = min(width, max(instance.jobs for instance in instances))
        self.state = _pool(self.instances, rows)
        self.reset(np.arange(rows), 0)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values, float64 [R]: minus the lower bounds of the empty sequences."""
        bases = np.empty(len(rows))
        reset_rows(self.state, rows, which, bases)
        return bases

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the effect of appending each listed job. Arrays are [R, K] unless stated otherwise; empty slots are 0.

        Returns:
            action: int32, the jobs as `actions` lists them, -1 in empty slots.
            mask: bool, whether the slot holds a job.
            end: float64, when the job would end.
            idle: float64, the time for which machines would wait before the job, set-ups included, summed over the machines.
            late_idle: float64, the sum of the waiting times weighted by (m - i) / m for machine i = 0..m - 1, times the fraction
                of jobs that remain.
            growth: float64, the difference between the times at which the last machine would be free with the job and without it.
            work: float64, the sum of the job's durations.
            slope: float64, the sum of the job's durations weighted from -1 (first machine) to 1 (last machine).
            setup: float64, the sum of the set-ups before the job.
            remaining: int32 [R], the number of jobs that are not in the sequence.
            machines: int32 [R], the number of machines.
            estimate: float64 [R], the lower bound.
            free: float64 [R, 2], when the first and the last machine have finished the sequence.
            total: bool [R], True if the objective is the total completion time, False if it is the makespan.
        """
        state = self.state
        table = np.zeros((*actions.shape, len(COLUMNS)))
        observe(state, rows, actions, table)
        instance = state.instance[rows]
        jobs, machines = state.jobs[instance], state.machines[instance]
        observed: dict[str, NDArray[Any]] = {"action": actions, "mask": actions >= 0}
        observed |= {name: table[:, :, k] for k, name in enumerate(COLUMNS)}
        observed |= {"remaining": (jobs - state.length[rows]).astype(np.int32), "machines": machines.astype(np.int32)}
        free = np.stack([state.free[rows, 0], state.free[rows, machines - 1]], axis=1).astype(np.float64)
        return observed | {"estimate": state.estimate[rows], "free": free, "total": state.total[instance]}

    def solution(self, row: int) -> NDArray[np.int64]:
        """Return the sequence of a row, int64 [n]. Raises UsageError while jobs remain."""
        at = int(self._checked(row)[0])
        instance = self.instances[int(self.state.instance[at])]
        if self.state.length[at] < instance.jobs:
            raise UsageError(f"row {at} has {instance.jobs - self.state.length[at]} of {instance.jobs} jobs to place")
        return self.state.sequence[at, : instance.jobs].astype(np.int64)  # type: ignore[no-any-return]


def _pool(instances: list[FlowShopInstance], rows: int) -> State:
    """Return the pool of `instances`; the rows are initialised by `reset`."""
    jobs = np.array([instance.jobs for instance in instances], np.int64)
    machines = np.array([instance.machines for instance in instances], np.int64)
    setups = [np.zeros(0, np.int64) if instance.setup is None else instance.setup.ravel() for instance in instances]
    sizes = np.array([len(table) for table in setups], np.int64)
    n, m = int(jobs.max()), int(machines.max())
    tails = [np.cumsum(i.duration[:, ::-1], axis=1)[:, ::-1] - i.duration for i in instances]
    orders = [np.argsort(i.duration.sum(axis=1), kind="stable") for i in instances]
    return State(
        jobs=jobs,
        machines=machines,
        total=np.array([instance.objective == "total_completion_time" for instance in instances]),
        jobs_start=np.cumsum(jobs) - jobs,
        operations_start=np.cumsum(jobs * machines) - jobs * machines,
        setups_start=np.where(sizes > 0, np.cumsum(sizes) - sizes, -1),
        duration=np.concatenate([instance.duration.ravel() for instance in instances]),
        tail=np.concatenate([tail.ravel() for tail in tails]),
        shortest=np.concatenate([np.argsort(i.duration.T, axis=1, kind="stable").ravel() for i in instances]).astype(np.int32),
        setup=np.concatenate(setups),
        order=np.concatenate(orders).astype(np.int32),
        instance=np.zeros(rows, np.int32),
        length=np.zeros(rows, np.int32),
        sequence=np.zeros((rows, n), np.int32),
        placed=np.zeros((rows, n), np.bool_),
        free=np.zeros((rows, m), np.int64),
        completion_sum=np.zeros(rows, np.int64),
        estimate=np.zeros(rows),
    )
