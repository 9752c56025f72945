"""Building a schedule operation by operation, as a Markov decision process (README.md, "As a decision process")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.jobshop.features import COLUMNS, observe
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.problems.jobshop.rules import first_rule
from corl.problems.jobshop.transitions import ACTIVE, ARRIVING, NON_DELAY, SEMI_ACTIVE, State, reset_rows

__all__ = ["JobShopEnvironment", "refuse"]

_KINDS = {"semi-active": SEMI_ACTIVE, "active": ACTIVE, "non-delay": NON_DELAY, "arriving": ARRIVING}


class JobShopEnvironment(Environment):
    """A pool of partial schedules.

    An action is a choice, an index into the instance's `choice_machine`: the next operation of a job is appended to the sequence
    of one of its machines, and starts there as early as possible. At most `width` actions are listed, those with the earliest
    starts.

    The estimate of a state is the objective value if all jobs continued without waiting. The reward of a step is minus the growth
    of the estimate; the base value is minus the estimate of the empty schedule.

    Args:
        instances: The instances, without side constraints.
        rows: The number of states.
        schedules: The legal actions. "semi-active": all. "active": those of Giffler and Thompson's conflict sets; some sequence
            of them builds an optimal schedule, for both objectives. "non-delay": those with the earliest possible start; the
            schedules are good, but need not include an optimal one. "arriving": those of the non-delay actions that are on one
            machine.
        width: The maximum number of listed actions.
    """

    def __init__(
        self,
        instances: Sequence[JobShopInstance],
        rows: int,
        schedules: Literal["semi-active", "active", "non-delay", "arriving"] = "active",
        width: int = 128,
    ) -> None:
        super().__init__(instances, rows, width)
        refuse(instances)
        if schedules not in _KINDS:
            raise UsageError(f"schedules: {schedules!r} is not accepted; accepted: {', '.join(_KINDS)}")
        self.width = min(width, max(_most_choices(instance) for instance in instances))
        self.state = _pool(self.instances, rows, _KINDS[schedules])
        self.reset(np.arange(rows), 0)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values, float64 [R]: minus the makespan, or minus the weighted tardiness, if no job ever waited."""
        bases = np.empty(len(rows))
        reset_rows(self.state, rows, which, bases)
        return bases

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the data of each listed action. Arrays are [R, K] unless stated otherwise; empty slots are 0.

        Returns:
            action: int32, the actions as `actions` lists them, -1 in empty slots.
            mask: bool, whether the slot holds an action.
            job, machine: int64, numbers in the instance.
            duration: int64, the operation's duration on this machine.
            start: int64, when the operation would start: the later of `ready` and `free`.
            ready: int64, when the job's previous operation ends, or the job's release date.
            free: int64, when the last operation scheduled on the machine ends; 0 if there is none.
            rest: int64, the least time from the operation's start to the job's end.
            left: int64, the number of operations of the job from this operation on.
            due, weight: int64, due date and weight of the job; `due` is 2**62 if the instance has no due dates.
            least: int64, the operation's duration on its fastest machine.
            work: int64, the sum of the durations of all unscheduled operations that the machine can process.
            remaining: int32 [R], the number of operations that are not scheduled.
            estimate: float64 [R], the objective value if no job waited any more.
            tardy: bool [R], True if the objective is the weighted tardiness, False if it is the makespan.
        """
        table = np.zeros((*actions.shape, len(COLUMNS)), np.int64)
        observe(self.state, rows, actions, table)
        observed: dict[str, NDArray[Any]] = {"action": actions, "mask": actions >= 0, "remaining": self.state.unscheduled[rows]}
        observed |= {"estimate": self.state.estimate[rows], "tardy": self.state.tardy[self.state.instance[rows]]}
        return observed | {name: table[:, :, k] for k, name in enumerate(COLUMNS)}

    def solution(self, row: int) -> Schedule:
        """Return the schedule of a row. Raises UsageError while operations are not scheduled."""
        at = int(self._checked(row)[0])
        instance = self.instances[int(self.state.instance[at])]
        if self.state.unscheduled[at]:
            raise UsageError(f"row {at} has {self.state.unscheduled[at]} of {instance.operations} operations to schedule")
        chosen = self.state.chosen[at, : instance.operations]
        return Schedule(self.state.start_time[at, : instance.operations].copy(), instance.choice_machine[chosen])


def refuse(instances: Sequence[JobShopInstance]) -> None:
    """Raise UsageError if an instance has side constraints, which the decision processes do not support."""
    for instance in instances:
        if rule := first_rule(instance):
            raise UsageError(f"{instance.name or 'jobshop'}: the decision process does not support {rule}")


def _most_choices(instance: JobShopInstance) -> int:
    """Return an upper bound of the number of legal actions: the sum over jobs of the most choices that one operation has."""
    return int(np.maximum.reduceat(np.diff(instance.choice_first), instance.first[:-1]).sum())


def _pool(instances: list[JobShopInstance], rows: int, kind: int) -> State:
    """Return the pool of `instances`; the rows are initialised by `reset`."""

    def sizes(attribute: str) -> NDArray[np.int64]:
        return np.array([getattr(instance, attribute) for instance in instances], np.int64)

    def joined(parts: list[Any], dtype: type) -> NDArray[Any]:
        return np.concatenate(parts).astype(dtype)

    jobs, machines, operations = sizes("jobs"), sizes("machines"), sizes("operations")
    choices = np.array([len(instance.choice_machine) for instance in instances], np.int64)
    never = 2**62
    dues = [np.full(i.jobs, never) if i.due is None else i.due for i in instances]
    j, m, o = int(jobs.max()), int(machines.max()), int(operations.max())
    return State(
        kind=np.array([kind], np.int64),
        tardy=np.array([instance.objective == "weighted_tardiness" for instance in instances]),
        jobs=jobs,
        machines=machines,
        operations=operations,
        choices=choices,
        jobs_offset=np.cumsum(jobs) - jobs,
        operations_offset=np.cumsum(operations) - operations,
        choices_offset=np.cumsum(choices) - choices,
        first_operation=joined([i.first[:-1] for i in instances], np.int32),
        end_operation=joined([i.first[1:] for i in instances], np.int32),
        release=joined([i.release for i in instances], np.int64),
        due=joined(dues, np.int64),
        weight=joined([i.weight for i in instances], np.int64),
        job=joined([i.job for i in instances], np.int32),
        first_choice=joined([i.choice_first[:-1] for i in instances], np.int32),
        end_choice=joined([i.choice_first[1:] for i in instances], np.int32),
        time_to_job_end=joined([_times_to_job_end(i) for i in instances], np.int64),
        operation=joined([np.repeat(np.arange(i.operations), np.diff(i.choice_first)) for i in instances], np.int32),
        machine=joined([i.choice_machine for i in instances], np.int32),
        duration=joined([i.choice_duration for i in instances], np.int64),
        instance=np.zeros(rows, np.int32),
        unscheduled=np.zeros(rows, np.int32),
        estimate=np.zeros(rows),
        next=np.zeros((rows, j), np.int32),
        ready=np.zeros((rows, j), np.int64),
        free=np.zeros((rows, m), np.int64),
        start_time=np.zeros((rows, o), np.int64),
        chosen=np.zeros((rows, o), np.int32),
    )


def _times_to_job_end(instance: JobShopInstance) -> NDArray[np.int64]:
    """Return the least time from each operation's start to the end of its job, int64 [operations]."""
    total = np.cumsum(instance.shortest[::-1], dtype=np.int64)[::-1]
    later_jobs = np.append(total, 0)[instance.first[1:]]
    return np.asarray(total - later_jobs[instance.job])
