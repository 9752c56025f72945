"""Dispatching while jobs arrive, as a Markov decision process: who goes next on a machine that is free.

Schedules without delay can be made while jobs arrive: whenever a machine is free and jobs wait for it, one of these begins.
Nothing that is observed here is known before its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.jobshop.environment import JobShopEnvironment
from corl.problems.jobshop.evaluation import check
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["OF_JOBS", "OF_SHOP", "ArrivingEnvironment", "decisions", "look"]

OF_JOBS = ("job", "duration", "rest", "left", "due", "weight", "ready", "release", "following", "queue")
_TRIES = 1000  # of orders in which operations that take no time may have gone
OF_SHOP = ("now", "machine", "present", "load", "tardy")


class ArrivingEnvironment(JobShopEnvironment):
    """A pool of partial schedules. An action is a choice (an index into `choice_machine`): a job that waits for the machine which
    is free first begins its next operation there at once. Rewards and bases are those of JobShopEnvironment."""

    def __init__(self, instances: Sequence[JobShopInstance], rows: int, width: int = 128) -> None:
        super().__init__(instances, rows, "arriving", width)

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """What is known when the decision falls. Arrays of the first two lines are [R, K], empty slots are 0.

        action: int32, as `actions` lists them, -1 where there are fewer; mask: bool, whether there is one.
        job, duration, rest, left, due, weight: int64, as in JobShopEnvironment; ready, release: int64, when the job came to
        this machine and when it arrived; following: int64, the least duration of its next operation (0: it has none);
        queue: int64, for how long the machine of that one has work, on it and waiting for it (the least of several machines).
        now: int64 [R], the time; machine: int64 [R]; present: int64 [R], how many jobs have arrived and are not done; load: int64
        [R], the least durations of all that they have to do.
        tardy: int64 [R], 1 where the objective is the weighted tardiness.
        """
        jobs = np.zeros((*actions.shape, len(OF_JOBS)), np.int64)
        shop = np.zeros((len(rows), len(OF_SHOP)), np.int64)
        _look_at_rows(self.state, rows, actions, jobs, shop)
        seen: dict[str, NDArray[Any]] = {"action": actions, "mask": actions >= 0}
        seen |= {name: jobs[:, :, k] for k, name in enumerate(OF_JOBS)}
        seen |= {name: shop[:, k] for k, name in enumerate(OF_SHOP)}
        return seen


def decisions(instance: JobShopInstance, schedule: Any) -> NDArray[np.int64]:
    """The choices, int64 [operations], of ArrivingEnvironment that build a schedule.

    Where operations take no time, several orders may look alike, not all of which go on; the last such choice is then another.
    Raises Infeasible for what is no schedule, and UsageError for one in which a machine waits while a job waits for it.
    """
    start, machine = check(instance, schedule)
    environment = ArrivingEnvironment([instance], 1, len(instance.choice_machine))
    owner = np.repeat(np.arange(instance.operations), np.diff(instance.choice_first))
    wanted = instance.choice_machine == machine[owner]
    open_: list[list[int]] = []  # what may begin at each step, the last of which is taken
    for _ in range(_TRIES):
        environment.reset([0], [0])
        for able in open_:
            environment.step([0], [0], able[-1:])
        while len(open_) < instance.operations:
            listed = environment.actions([0])[0]
            listed = listed[(listed >= 0) & wanted[listed]]
            begin = listed[start[owner[listed]] == environment.observe([0])["now"][0]]
            if not len(begin):
                break
            # of several one that takes no time goes first
            open_.append(begin[np.argsort(-instance.choice_duration[begin], kind="stable")].tolist())
            environment.step([0], [0], open_[-1][-1:])
        if len(open_) == instance.operations:
            return np.array([able[-1] for able in open_])
        while open_ and len(open_[-1]) == 1:
            open_.pop()
        if not open_:
            break
        open_[-1].pop()
    raise UsageError("the environment arriving has no decisions of a schedule with delays; accepted: one without")


@kernel
def _look_at_rows(state: Any, rows: Any, actions: Any, jobs: Any, shop: Any) -> None:
    """`look` for each of `rows`, into jobs [R, K, 10] and shop [R, 5]."""
    work = np.empty(state.free.shape[1], np.int64)
    for i in range(len(rows)):
        look(state, rows[i], actions[i], work, jobs[i], shop[i])


@kernel
def look(state: Any, row: Any, listed: Any, work: Any, jobs: Any, shop: Any) -> Any:
    """What ArrivingEnvironment.observe tells of the actions `listed` in a row, in that order, into jobs [K, 10] and shop [5].

    work [M]: scratch. Returns how many are listed, from 0.
    """
    if listed[0] < 0:
        return 0
    instance = state.instance[row]
    base, machine = state.choice_at[instance], state.machine[state.choice_at[instance] + listed[0]]
    operation = state.owner[base + listed[0]]
    now = max(state.free[row, machine], state.ready[row, state.job[state.operation_at[instance] + operation]])
    shop[0], shop[1], shop[4] = now, machine, state.tardy[instance]
    shop[2], shop[3] = _queues(state, row, now, work)
    count = 0
    while count < len(listed) and listed[count] >= 0:
        _tell(state, row, base + listed[count], work, jobs[count])
        count += 1
    return count


@kernel
def _queues(state: Any, row: Any, now: Any, work: Any) -> Any:
    """Into work [M] for how long each machine has work at `now`; returns the jobs that are there, and what they have to do."""
    instance, present, load = state.instance[row], np.int64(0), np.int64(0)
    for m in range(state.machines[instance]):
        work[m] = max(np.int64(0), state.free[row, m] - now)
    for j in range(state.jobs[instance]):
        at = state.job_at[instance] + j
        following, end = state.next[row, j], state.closing[at]
        if state.release[at] > now or (following == end and state.ready[row, j] <= now):
            continue
        present += 1
        load += max(np.int64(0), state.ready[row, j] - now)
        if following == end:
            continue
        operation = state.operation_at[instance] + following
        load += state.rest[operation]
        if state.ready[row, j] <= now:
            for choice in range(state.begin[operation], state.end[operation]):
                c = state.choice_at[instance] + choice
                work[state.machine[c]] += state.duration[c]
    return present, load


@kernel
def _tell(state: Any, row: Any, c: Any, work: Any, seen: Any) -> None:
    """What is known of the job of choice c (an index into the arrays of all instances), into seen [10]."""
    instance = state.instance[row]
    o = state.operation_at[instance] + state.owner[c]
    job = state.job[o]
    at = state.job_at[instance] + job
    seen[0], seen[1], seen[2], seen[3] = job, state.duration[c], state.rest[o], state.closing[at] - state.owner[c]
    seen[4], seen[5], seen[6], seen[7] = state.due[at], state.weight[at], state.ready[row, job], state.release[at]
    seen[8] = seen[9] = 0
    if state.owner[c] + 1 == state.closing[at]:
        return
    least, queue = np.int64(2**62), np.int64(2**62)
    for choice in range(state.begin[o + 1], state.end[o + 1]):
        other = state.choice_at[instance] + choice
        least, queue = min(least, state.duration[other]), min(queue, work[state.machine[other]])
    seen[8], seen[9] = least, queue
