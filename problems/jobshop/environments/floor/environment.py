"""A shop floor over time as a Markov decision process: whenever jobs wait for free machines, one of them starts, or all wait.

Jobs arrive, machines break down, set-ups depend on the sequence of a machine, and operations may have a choice of machines. An
observation contains only what is known at the time of the decision: nothing of jobs that have not arrived or of breakdowns that
have not begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.jobshop.environments.floor.observation import OF_ACTIONS, OF_FLOOR, observe
from corl.problems.jobshop.environments.floor.pool import check_supported, new_pool
from corl.problems.jobshop.environments.floor.transitions import reset_rows
from corl.problems.jobshop.instance import JobShopInstance, Schedule

__all__ = ["FloorEnvironment"]


class FloorEnvironment(Environment):
    """A pool of days under way.

    An action is a choice, an index into the instance's `choice_machine`: the set-up for the next operation of a waiting job
    begins now on a free machine, then the operation. The number of choices is the action of waiting: nothing starts until the
    next event. It is legal while a machine is at work or down.

    A breakdown undoes the operation under way on its machine together with its set-up: the job waits for this operation again,
    and the machine keeps its earlier set-up. When a breakdown begins, its end becomes known. Therefore a finished day is a
    schedule of the instance in which the breakdowns are `unavailable`.

    The estimate of a state is the objective value if all jobs continued from their last finished operation without waiting. The
    reward of a step is minus the growth of the estimate; the base value is minus the estimate at the beginning.

    Args:
        instances: The instances; of side constraints, with set-ups and breakdowns only.
        rows: The number of states.
        width: The maximum number of listed actions.
    """

    def __init__(self, instances: Sequence[JobShopInstance], rows: int, width: int = 128) -> None:
        super().__init__(instances, rows, width)
        check_supported(instances)
        self.width = min(width, 1 + max(_most_choices(instance) for instance in instances))
        self.state = new_pool(self.instances, rows)
        self.reset(np.arange(rows), 0)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values, float64 [R]: minus the makespan, or minus the weighted tardiness, if no job ever waited."""
        bases = np.empty(len(rows))
        reset_rows(self.state, rows, which, bases)
        return bases

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what is known at the time of the decision. Arrays are [R, K] unless stated otherwise; empty slots are 0.

        Returns:
            action: int32, the actions as `actions` lists them, -1 in empty slots.
            mask: bool, whether the slot holds an action.
            wait: int64, 1 for the action of waiting; its job and machine are -1, its other entries 0.
            job, machine: int64, the job whose next operation would start, and on which machine.
            duration, setup: int64, of the operation and of the set-up before it.
            rest: int64, the least time from the operation's start to the job's end, without set-ups.
            left: int64, the number of operations of the job from this operation on.
            due, weight: int64, due date and weight of the job; `due` is 2**62 if the instance has no due dates.
            ready: int64, when the job began to wait.
            release: int64, when the job arrived.
            following: int64, the duration of the job's operation after this one, on its fastest machine; 0 if there is none.
            queue: int64, for the machine of the job's operation after this one: how long it needs for what runs or waits there
                now, and its breakdown; the minimum if that operation has several machines, 0 if there is no such operation.
            elsewhere: int64, how long from now the operation would take at least if it were next on another machine, with waiting
                and set-up; NOWHERE if there is no other machine.
            same, rivals: int64, the number of other listed jobs for this machine with an operation of the same set-up family,
                and with any operation.
            family: int64, the operation's set-up family.
            now: int64 [R], the present time.
            present: int64 [R], the number of jobs that have arrived and are not finished.
            load: int64 [R], the time that all present jobs together still need, on the fastest machines.
            tardy: int64 [R], 1 if the objective is the weighted tardiness.
            idle, down, machines: int64 [R], the numbers of machines that are free, that are down, and of all.
            next_event: int64 [R], the time until an operation or a breakdown ends; 0 if none is under way.
        """
        jobs = np.zeros((*actions.shape, len(OF_ACTIONS)), np.int64)
        floor = np.zeros((len(rows), len(OF_FLOOR)), np.int64)
        observe(self.state, rows, actions, jobs, floor)
        observed: dict[str, NDArray[Any]] = {"action": actions, "mask": actions >= 0}
        observed |= {name: jobs[:, :, k] for k, name in enumerate(OF_ACTIONS)}
        observed |= {name: floor[:, k] for k, name in enumerate(OF_FLOOR)}
        return observed

    def solution(self, row: int) -> Schedule:
        """Return the schedule of a row. Raises UsageError while jobs are not finished."""
        at = int(self._checked(row)[0])
        instance = self.instances[int(self.state.instance[at])]
        if unfinished := instance.jobs - int(self.state.arrived[at]) + int(self.state.present_count[at]):
            raise UsageError(f"row {at} has {unfinished} of {instance.jobs} jobs to finish")
        chosen = self.state.chosen[at, : instance.operations]
        return Schedule(self.state.start_time[at, : instance.operations].copy(), instance.choice_machine[chosen])


def _most_choices(instance: JobShopInstance) -> int:
    """Return an upper bound of the number of choices at once: the sum over jobs of the most choices that one operation has."""
    return int(np.maximum.reduceat(np.diff(instance.choice_first), instance.first[:-1]).sum())
