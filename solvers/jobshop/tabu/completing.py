"""Completing a schedule of the interval environment by tabu search: what `imitation` learns from with a completing teacher.

In Tassel, Gebser and Schekotihin (ICAPS 2023) CP Optimizer completes what the agent began.

A schedule as the search leaves it has waits that do no good; an agent that imitated them waited ever longer. So the orders are
followed through the environment: nothing waits for what comes later unless it comes before it would end, and a wait is kept
only if the schedule gets longer without it, by more than a slack that all that are left out share. (Without slack a third of
what might wait did, for reasons that an agent cannot see: its schedules were 6 points longer than with hardly any.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.decoding.rollouts import play_listed
from corl.environment import Environment
from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.jobshop.environments.intervals.decisions import follow
from corl.problems.jobshop.environments.intervals.environment import IntervalEnvironment
from corl.problems.jobshop.environments.intervals.transitions import State, clock, copy_row
from corl.problems.jobshop.instance import JobShopInstance
from corl.rng import random_state
from corl.solvers.jobshop.tabu.makespan_search import advance, begin, new_search
from corl.solvers.jobshop.tabu.selection import new_selection, rebuild, shop_of, sort_starts

__all__ = ["completion", "improved"]

_SLACK = 0.01  # of the makespan: what leaving out waits may cost in all
_START, _BEST, _HERE, _TRIED = range(4)  # rows: as it is given, a whole schedule, the one that is followed, and scratch
_ROW_FIELDS = ("left", "waits", "work", "estimate", "next", "start")


def completion(environment: Environment, row: int, moves: int, seed: int) -> list[NDArray[np.int64]]:
    """See corl.solver.Solver.complete: tabu search of so many moves from the first listed actions' schedule, in `intervals`."""
    if not isinstance(environment, IntervalEnvironment):
        raise UsageError("tabu completes schedules of the environment intervals; accepted: this one")
    pool = _adopted(environment, row)
    copy_row(pool.state, _START, _BEST)
    play_listed(pool.state, _BEST, np.empty(1, np.int32), 2**62)
    return _followed(pool, improved(pool, moves, random_state(seed)))


def _adopted(environment: IntervalEnvironment, row: int) -> IntervalEnvironment:
    """A pool of the row's instance alone, whose first row is as this one."""
    instance = environment.instances[int(environment.state.instance[row])]
    pool = IntervalEnvironment([instance], 4)
    for name in _ROW_FIELDS:
        here, there = getattr(pool.state, name), getattr(environment.state, name)
        here[_START] = there[row] if here.ndim == 1 else there[row, : here.shape[1]]
    return pool


def improved(environment: IntervalEnvironment, moves: int, random: NDArray[np.uint64]) -> NDArray[np.int64]:
    """An order of the operations that are left in row 0, as starts (int64, of all operations), by a tabu search from row 1's.

    To the search each job is released when it can go on; that a machine may be busy until after that it learns only for the
    job's next operation. So these starts need not be feasible: they are an order to follow.
    """
    state, instance = environment.state, environment.instances[0]
    n, job = instance.operations, instance.job
    start: NDArray[np.int64] = state.start[_BEST, :n].copy()
    left = np.flatnonzero(np.arange(n) >= state.next[_START, job])
    if len(left) < 2:
        return start
    release = state.start[_START, state.next[_START, np.unique(job[left])]]
    shop = shop_of(_rest(instance, left, release))
    search = new_search(shop, random)
    sort_starts(shop, start[left], search.selection.sequence)
    begin(search)
    shortest = 10 + instance.jobs // instance.machines
    advance(search, moves, shortest, int(1.4 * shortest), moves)
    selection = new_selection(shop)
    selection.sequence[:] = search.best
    rebuild(shop, selection)
    start[left] = selection.end[: len(left)] - shop.duration
    return start


def _rest(instance: JobShopInstance, left: NDArray[np.int64], release: NDArray[np.int64]) -> JobShopInstance:
    """The jobs' operations that are left, rising; `release` of the jobs that have any."""
    counts = np.bincount(instance.job[left], minlength=instance.jobs)
    return JobShopInstance(
        name=instance.name,
        machines=instance.machines,
        first=np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int32),
        choice_first=np.arange(len(left) + 1, dtype=np.int32),
        choice_machine=instance.choice_machine[left],
        choice_duration=instance.choice_duration[left],
        release=release,
    )


def _followed(environment: IntervalEnvironment, start: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The actions that follow the order of `start` from row 0 on without needless waits, each with those as good."""
    state, jobs = environment.state, environment.instances[0].jobs
    wanted, unused, found = np.zeros(jobs, np.bool_), np.zeros(jobs, np.bool_), []
    copy_row(state, _START, _TRIED)
    most = (1.0 + _SLACK) * _ended(state, _TRIED, start, unused)
    copy_row(state, _START, _HERE)
    while state.left[_HERE]:
        action = int(follow(state, _HERE, start, wanted))
        right = np.flatnonzero(wanted)
        if action == jobs:
            right, first = np.array([action]), int(_earliest(state, _HERE, start))
            environment.step([_HERE], [_TRIED], [first])
            if _ended(state, _TRIED, start, unused) <= most:
                action, right = first, np.array([first])
        found.append(np.append(action, right[right != action]))
        environment.step([_HERE], [_HERE], [action])
    return found


@kernel
def _ended(state: State, row: int, start: NDArray[np.int64], wanted: NDArray[np.bool_]) -> Any:
    """Follow the order of `start` to the end; the makespan."""
    while state.left[row] > 0:
        hooks.step(state, row, row, follow(state, row, start, wanted))
    return state.estimate[row]


@kernel
def _earliest(state: State, row: int, start: NDArray[np.int64]) -> int:
    """Of the jobs that can start now, the one that the order has first."""
    instance, chosen, now = state.instance[row], -1, clock(state, row)[0]
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        able = i < state.closing[state.jobs_start[instance] + j] and state.start[row, i] == now
        if able and (chosen < 0 or start[i] < start[state.next[row, chosen]]):
            chosen = j
    return chosen
