"""The decisions of the interval environment that build a given schedule, or one in which no operation starts later."""

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
    while environment.state.left[0]:
        action = int(follow(environment.state, 0, start, wanted))
        environment.step([0], [0], [action])
        actions.append(action)
    return np.array(actions, np.int64)


@kernel
def follow(state: Any, row: Any, start: Any, wanted: Any) -> Any:
    """Return the action that follows the order of `start`; if it is that of a feasible schedule, no operation starts later.

    A job follows the order if no operation with an earlier `start` can start on the machine of its next operation before that
    one, started now, would end. The first such job is returned. If there is none, the action is to wait; if waiting is illegal,
    the first job that does not delay an operation that can start later. (In the order of an infeasible schedule there may be no
    such job either; then it is the first of all.)

    Args:
        state: The pool.
        row: A row whose episode has not ended.
        start: int64 [O], start times that define the order.
        wanted: bool [J], overwritten: the jobs that follow the order or, without one and without waiting, the returned one.
    """
    instance = state.instance[row]
    jobs, (now, _) = state.jobs[instance], clock(state, row)
    chosen, fallback, blocks = -1, -1, True
    for j in range(jobs):
        i = state.next[row, j]
        wanted[j] = False
        if i < state.closing[state.jobs_start[instance] + j] and state.start[row, i] == now:
            if _is_next(state, row, i, now, start):
                wanted[j] = True
                if chosen < 0 or start[i] < start[state.next[row, chosen]]:
                    chosen = j
            else:
                later = conflicts(state, row, i, now)[1]
                if fallback < 0 or later < blocks or (later == blocks and start[i] < start[state.next[row, fallback]]):
                    fallback, blocks = j, later
    if chosen >= 0:
        return chosen
    if state.waits[row]:
        return jobs
    wanted[fallback] = True
    return fallback


@kernel
def _is_next(state: Any, row: Any, i: Any, now: Any, start: Any) -> Any:
    """Return whether no operation before i in the order of `start` can start on its machine before i, started now, would end."""
    instance = state.instance[row]
    base = state.operations_start[instance]
    m, duration = state.machines_start[instance] + state.machine[base + i], state.duration[base + i]
    for k in range(state.begin[m], state.end[m]):
        other = state.members[base + k]
        if other >= state.next[row, state.job[base + other]] and state.start[row, other] < now + duration:
            length = state.duration[base + other]
            tied = start[other] == start[i]
            if start[other] < start[i] or (tied and (length < duration or (length == duration and other < i))):
                return False
    return True
