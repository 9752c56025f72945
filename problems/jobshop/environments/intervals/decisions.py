"""From a schedule to the decisions of the interval environment that build it, or one whose jobs end no later."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.jobshop.environments.intervals.environment import IntervalEnvironment
from corl.problems.jobshop.environments.intervals.transitions import clock, rivals
from corl.problems.jobshop.evaluation import check
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["decisions", "follow"]


def decisions(instance: JobShopInstance, solution: Any) -> NDArray[np.int64]:
    """The actions, int64 [T], of IntervalEnvironment that follow `solution`: no operation starts later than there.

    Raises UsageError for an instance that the environment does not take, and Infeasible for what is no schedule.
    """
    environment = IntervalEnvironment([instance], 1)
    start, _ = check(instance, solution)
    wanted, taken = np.zeros(instance.jobs, np.bool_), []
    while environment.state.left[0]:
        action = int(follow(environment.state, 0, start, wanted))
        environment.step([0], [0], [action])
        taken.append(action)
    return np.array(taken, np.int64)


@kernel
def follow(state: Any, row: Any, start: Any, wanted: Any) -> Any:
    """The action of a row whose episode is not over by which no operation starts later than in `start` [O], where none must yet.

    That is a job before whose next operation, in the order of `start`, nothing wants the machine before it would end: all of
    these become wanted [J], and the one that `start` has first is returned. Where there is none it is to wait. Where that is not
    legal, it is the first job that keeps no later one waiting: what the order has before it on its machine begins when it has
    ended. (An order that is not of a feasible schedule may leave no such job; then it is the first of all.)
    """
    instance = state.instance[row]
    jobs, (now, _) = state.jobs[instance], clock(state, row)
    chosen, spare, blocks = -1, -1, True
    for j in range(jobs):
        i = state.next[row, j]
        wanted[j] = False
        if i < state.closing[state.jobs_start[instance] + j] and state.start[row, i] == now:
            if _first(state, row, i, now, start):
                wanted[j] = True
                if chosen < 0 or start[i] < start[state.next[row, chosen]]:
                    chosen = j
            else:
                later = rivals(state, row, i, now)[1]
                if spare < 0 or later < blocks or (later == blocks and start[i] < start[state.next[row, spare]]):
                    spare, blocks = j, later
    if chosen >= 0:
        return chosen
    if state.waits[row]:
        return jobs
    wanted[spare] = True
    return spare


@kernel
def _first(state: Any, row: Any, i: Any, now: Any, start: Any) -> Any:
    """Whether nothing before i in the order of `start` wants i's machine before i, started now, would end."""
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
