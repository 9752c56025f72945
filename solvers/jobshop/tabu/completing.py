"""Completion of a partial schedule of the environment "intervals" by tabu search, as examples for imitation learning.

An agent builds the first part of a schedule, and learns from the completed one. In Tassel, Gebser and Schekotihin (ICAPS 2023) CP
Optimizer completes the schedule.

The schedules of the tabu search contain unnecessary waits, which the agent would learn to imitate. Therefore their machine orders
are replayed in the environment (`follow`). There a wait is kept only if the makespan without it would exceed that of the replayed
schedule by more than 1 %; the makespan never exceeds this limit, however many waits are removed.
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

_SLACK = 0.01  # the fraction by which the makespan may grow when waits are removed
_START, _BEST, _REPLAY, _TRIAL = range(4)
"""Rows of the pool: the partial schedule, a completed one, the one that is being replayed, and one on which the removal of a wait
is tried."""
_ROW_FIELDS = ("unscheduled", "waits", "work", "estimate", "next", "start_time")


def completion(environment: Environment, row: int, moves: int, seed: int) -> list[NDArray[np.int64]]:
    """Return the actions, with alternatives, that complete row `row`: see corl.solver.Solver.complete.

    A first completion takes the first listed action in each step; a tabu search of `moves` moves improves it.
    """
    if not isinstance(environment, IntervalEnvironment):
        raise UsageError("tabu completes schedules of the environment intervals; accepted: this one")
    pool = _single_row_pool(environment, row)
    copy_row(pool.state, _START, _BEST)
    play_listed(pool.state, _BEST, np.empty(1, np.int32), 2**62)
    return _replayed(pool, improved(pool, moves, random_state(seed)))


def _single_row_pool(environment: IntervalEnvironment, row: int) -> IntervalEnvironment:
    """Return a new pool with the instance of `row` only, whose row _START is a copy of `row`."""
    instance = environment.instances[int(environment.state.instance[row])]
    pool = IntervalEnvironment([instance], 4)
    for name in _ROW_FIELDS:
        target, source = getattr(pool.state, name), getattr(environment.state, name)
        target[_START] = source[row] if target.ndim == 1 else source[row, : target.shape[1]]
    return pool


def improved(environment: IntervalEnvironment, moves: int, random: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return start times that order the remaining operations of row _START, found by a tabu search from row _BEST.

    The search knows only the remaining operations; each job is released when its next operation can start. It ignores that a
    machine may still process a fixed operation, so the start times may be infeasible: only their order is used.

    Args:
        environment: The pool of `_single_row_pool`, with a complete schedule in row _BEST.
        moves: The number of moves of the search.
        random: uint64 [1], the state of the random number generator.

    Returns:
        int64 [N], the start times of all operations.
    """
    state, instance = environment.state, environment.instances[0]
    n, job = instance.operations, instance.job
    start: NDArray[np.int64] = state.start_time[_BEST, :n].copy()
    remaining = np.flatnonzero(np.arange(n) >= state.next[_START, job])
    if len(remaining) < 2:
        return start
    release = state.start_time[_START, state.next[_START, np.unique(job[remaining])]]
    shop = shop_of(_remaining_instance(instance, remaining, release))
    search = new_search(shop, random)
    sort_starts(shop, start[remaining], search.selection.sequence)
    begin(search)
    shortest = 10 + instance.jobs // instance.machines
    advance(search, moves, shortest, int(1.4 * shortest), moves)
    selection = new_selection(shop)
    selection.sequence[:] = search.best
    rebuild(shop, selection)
    start[remaining] = selection.end[: len(remaining)] - shop.duration
    return start


def _remaining_instance(instance: JobShopInstance, remaining: NDArray[np.int64], release: NDArray[np.int64]) -> JobShopInstance:
    """Return the instance of the remaining operations.

    Args:
        instance: The whole instance.
        remaining: int64, the remaining operations, ascending.
        release: int64, the release date of each job that has a remaining operation.
    """
    counts = np.bincount(instance.job[remaining], minlength=instance.jobs)
    return JobShopInstance(
        name=instance.name,
        machines=instance.machines,
        first=np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int32),
        choice_first=np.arange(len(remaining) + 1, dtype=np.int32),
        choice_machine=instance.choice_machine[remaining],
        choice_duration=instance.choice_duration[remaining],
        release=release,
    )


def _replayed(environment: IntervalEnvironment, start: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return actions that follow the order of `start` from row _START, without unnecessary waits.

    Each array holds the action taken, then alternatives that follow the order as well.
    """
    state, jobs = environment.state, environment.instances[0].jobs
    wanted, unused, steps = np.zeros(jobs, np.bool_), np.zeros(jobs, np.bool_), []
    copy_row(state, _START, _TRIAL)
    max_makespan = (1.0 + _SLACK) * _follow_to_end(state, _TRIAL, start, unused)
    copy_row(state, _START, _REPLAY)
    while state.unscheduled[_REPLAY]:
        action = int(follow(state, _REPLAY, start, wanted))
        good_actions = np.flatnonzero(wanted)
        if action == jobs:  # a wait: try to start an operation instead
            good_actions, first = np.array([action]), int(_earliest(state, _REPLAY, start))
            environment.step([_REPLAY], [_TRIAL], [first])
            if _follow_to_end(state, _TRIAL, start, unused) <= max_makespan:
                action, good_actions = first, np.array([first])
        steps.append(np.append(action, good_actions[good_actions != action]))
        environment.step([_REPLAY], [_REPLAY], [action])
    return steps


@kernel
def _follow_to_end(state: State, row: int, start: NDArray[np.int64], wanted: NDArray[np.bool_]) -> Any:
    """Follow the order of `start` [N] in `row` until all operations are fixed, in place; return the makespan.

    wanted: bool [J], a work array.
    """
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
