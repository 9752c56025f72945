"""Completion of a schedule of the interval environment by tabu search, from which `imitation` learns with a completing teacher.

In Tassel, Gebser and Schekotihin (ICAPS 2023) CP Optimizer completes the schedule that the agent began.

The schedules of the search contain unnecessary waits, which an agent would learn to imitate. Therefore the machine orders are
replayed in the environment: an operation waits for a later one only if that one starts before the operation would end, and a wait
is kept only if the schedule would be longer without it, by more than a slack that all removed waits share.
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

_SLACK = 0.01  # the share of the makespan that removing waits may cost in total
_START, _BEST, _HERE, _TRIED = range(4)  # rows: the given state, a complete schedule, the schedule that is replayed, scratch
_ROW_FIELDS = ("unscheduled", "waits", "work", "estimate", "next", "start_time")


def completion(environment: Environment, row: int, moves: int, seed: int) -> list[NDArray[np.int64]]:
    """Implement corl.solver.Solver.complete in the environment `intervals`, by `moves` moves from the first listed actions."""
    if not isinstance(environment, IntervalEnvironment):
        raise UsageError("tabu completes schedules of the environment intervals; accepted: this one")
    pool = _single_row_pool(environment, row)
    copy_row(pool.state, _START, _BEST)
    play_listed(pool.state, _BEST, np.empty(1, np.int32), 2**62)
    return _replayed(pool, improved(pool, moves, random_state(seed)))


def _single_row_pool(environment: IntervalEnvironment, row: int) -> IntervalEnvironment:
    """Return a pool of the row's instance alone, whose first row is a copy of this row."""
    instance = environment.instances[int(environment.state.instance[row])]
    pool = IntervalEnvironment([instance], 4)
    for name in _ROW_FIELDS:
        here, there = getattr(pool.state, name), getattr(environment.state, name)
        here[_START] = there[row] if here.ndim == 1 else there[row, : here.shape[1]]
    return pool


def improved(environment: IntervalEnvironment, moves: int, random: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return an order of the operations that remain in row 0, found by a tabu search from the schedule in row 1.

    In the search each job is released when its next operation can start. A machine that is still busy then is considered only
    for that operation, so the start times need not be feasible: they only state an order.

    Args:
        environment: The pool of `_single_row_pool`, with a complete schedule in row _BEST.
        moves: Moves of the search.
        random: uint64 [1], the state of the random number generator.

    Returns:
        int64 [N], the start times of all operations.
    """
    state, instance = environment.state, environment.instances[0]
    n, job = instance.operations, instance.job
    start: NDArray[np.int64] = state.start_time[_BEST, :n].copy()
    left = np.flatnonzero(np.arange(n) >= state.next[_START, job])
    if len(left) < 2:
        return start
    release = state.start_time[_START, state.next[_START, np.unique(job[left])]]
    shop = shop_of(_remaining_instance(instance, left, release))
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


def _remaining_instance(instance: JobShopInstance, left: NDArray[np.int64], release: NDArray[np.int64]) -> JobShopInstance:
    """Return the instance of the remaining operations `left`, ascending; `release` holds a date for each job that has any."""
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


def _replayed(environment: IntervalEnvironment, start: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the actions that follow the order of `start` from row 0 without needless waits, each with equally good ones."""
    state, jobs = environment.state, environment.instances[0].jobs
    wanted, unused, found = np.zeros(jobs, np.bool_), np.zeros(jobs, np.bool_), []
    copy_row(state, _START, _TRIED)
    most = (1.0 + _SLACK) * _follow_to_end(state, _TRIED, start, unused)
    copy_row(state, _START, _HERE)
    while state.unscheduled[_HERE]:
        action = int(follow(state, _HERE, start, wanted))
        right = np.flatnonzero(wanted)
        if action == jobs:
            right, first = np.array([action]), int(_earliest(state, _HERE, start))
            environment.step([_HERE], [_TRIED], [first])
            if _follow_to_end(state, _TRIED, start, unused) <= most:
                action, right = first, np.array([first])
        found.append(np.append(action, right[right != action]))
        environment.step([_HERE], [_HERE], [action])
    return found


@kernel
def _follow_to_end(state: State, row: int, start: NDArray[np.int64], wanted: NDArray[np.bool_]) -> Any:
    """Follow the order of `start` [N] to the end in `row`, in place; return the makespan. `wanted` [J] is scratch."""
    while state.unscheduled[row] > 0:
        hooks.step(state, row, row, follow(state, row, start, wanted))
    return state.estimate[row]


@kernel
def _earliest(state: State, row: int, start: NDArray[np.int64]) -> int:
    """Return the job that comes first in the order of `start` among those that can start now; -1 if there is none."""
    instance, chosen, now = state.instance[row], -1, clock(state, row)[0]
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        can_start = i < state.end_operation[state.jobs_offset[instance] + j] and state.start_time[row, i] == now
        if can_start and (chosen < 0 or start[i] < start[state.next[row, chosen]]):
            chosen = j
    return chosen
