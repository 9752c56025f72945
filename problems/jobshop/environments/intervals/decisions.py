"""The decisions of the environment "intervals" that build a given schedule, or one in which no operation starts later."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.jobshop.environments.intervals.environment import IntervalEnvironment
from corl.problems.jobshop.environments.intervals.transitions import clock, conflicts
from corl.problems.jobshop.evaluation import check
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["decisions", "follow"]


def decisions(instance: JobShopInstance, solution: Any) -> NDArray[np.int64]:
    """Return actions of IntervalEnvironment, int64 [T], by which no operation starts later than in `solution`.

    Raises UsageError for an instance that the environment does not support, and Infeasible if `solution` is not a feasible
    schedule.
    """
    environment = IntervalEnvironment([instance], 1)
    start, _ = check(instance, solution)
    wanted, actions = np.zeros(instance.jobs, np.bool_), []
    while environment.state.unscheduled[0]:
        action = int(follow(environment.state, 0, start, wanted))
        environment.step([0], [0], [action])
        actions.append(action)
    return np.array(actions, np.int64)


@kernel
def follow(state: Any, row: Any, start: Any, wanted: Any) -> Any:
    """Return the action that follows the order of the start times `start`.

    If `start` is a feasible schedule, no operation starts later than there.

    Suppose that the next operation of a job started now. The job follows the order if no operation with an earlier `start` could
    start on the same machine before this operation ended. Of the jobs that follow the order, the one with the earliest `start` is
    returned; if there is none, waiting. If waiting is illegal, the returned job is one that delays no operation that cannot start
    yet, if possible (always for a feasible schedule), ties by `start`.

    Args:
        state: The pool.
        row: A row whose episode has not ended.
        start: int64 [O], start times that define the order.
        wanted: bool [J], overwritten: the jobs that follow the order. If there are none and waiting is illegal: the returned job.

    Returns:
        A job, or the number of jobs for waiting.
    """
    instance = state.instance[row]
    jobs, (now, _) = state.jobs[instance], clock(state, row)
    chosen, fallback, fallback_delays = -1, -1, True
    for j in range(jobs):
        i = state.next[row, j]
        wanted[j] = False
        if i < state.end_operation[state.jobs_offset[instance] + j] and state.start_time[row, i] == now:
            if _is_next(state, row, i, now, start):
                wanted[j] = True
                if chosen < 0 or start[i] < start[state.next[row, chosen]]:
                    chosen = j
            else:
                delays = conflicts(state, row, i, now)[1]
                tied = delays == fallback_delays
                if fallback < 0 or delays < fallback_delays or (tied and start[i] < start[state.next[row, fallback]]):
                    fallback, fallback_delays = j, delays
    if chosen >= 0:
        return chosen
    if state.waits[row]:
        return jobs
    wanted[fallback] = True
    return fallback


@kernel
def _is_next(state: Any, row: Any, i: Any, now: Any, start: Any) -> Any:
    """Return whether no operation that precedes i in the order of `start` could start on i's machine while i ran from now on."""
    instance = state.instance[row]
    base = state.operations_offset[instance]
    m, duration = state.machines_offset[instance] + state.machine[base + i], state.duration[base + i]
    for k in range(state.first_member[m], state.end_member[m]):
        other = state.members[base + k]
        if other >= state.next[row, state.job[base + other]] and state.start_time[row, other] < now + duration:
            length = state.duration[base + other]
            tied = start[other] == start[i]
            if start[other] < start[i] or (tied and (length < duration or (length == duration and other < i))):
                return False
    return True
