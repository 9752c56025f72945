"""The pool of interval models and its kernels: bounds of starts, propagated to a fixpoint after every decision.

After Tassel, Gebser and Schekotihin (ICAPS 2023).

Not every step of theirs is a decision. A job that can start now and end before anything else can start on its machine may as
well start: every schedule in which it does not can be changed into one that is no worse, so a step plays it itself. Waiting is
legal only where each job that can start now would keep a later one from its machine. What remains are the decisions of active
schedules, among which is an optimal one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel
from corl.kernels.copy import copy_between_rows
from corl.kernels.sorted_lists import insert_sorted

__all__ = ["NEVER", "State", "clock", "clocks", "copy_row", "job_end", "reset_rows", "rivals"]

NEVER = 2**62


class State(NamedTuple):
    """The pool. I instances of J jobs, M machines, O operations each (at most); R rows.

    Jobs, machines and operations are numbered within their instance; its `jobs_start`, `machines_start` and
    `operations_start` say where they begin in the arrays that hold those of all instances.
    """

    jobs: NDArray[np.int64]
    """[I]"""
    machines: NDArray[np.int64]
    """[I]"""
    operations: NDArray[np.int64]
    """[I]"""
    unit: NDArray[np.float64]
    """[I] the mean duration of the operations, above 0."""
    jobs_start: NDArray[np.int64]
    machines_start: NDArray[np.int64]
    operations_start: NDArray[np.int64]
    opening: NDArray[np.int32]
    """Of each job, its first operation."""
    closing: NDArray[np.int32]
    """Of each job, one past its last operation."""
    low: NDArray[np.int64]
    """Of each operation, the earliest start before any decision."""
    job: NDArray[np.int32]
    """Of each operation."""
    machine: NDArray[np.int32]
    """Of each operation."""
    duration: NDArray[np.int64]
    """Of each operation."""
    begin: NDArray[np.int32]
    """Of each machine, where its operations begin in `members`, counted from the instance's `operations_start`."""
    end: NDArray[np.int32]
    """Of each machine, where they end."""
    members: NDArray[np.int32]
    """The operations of each machine."""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    left: NDArray[np.int32]
    """[R] operations that are not fixed."""
    waits: NDArray[np.bool_]
    """[R] whether waiting is legal."""
    work: NDArray[np.int64]
    """[R, M] durations of what each machine has still to start."""
    estimate: NDArray[np.float64]
    """[R] the latest end that the bounds allow: a lower bound of the makespan that ends as the makespan."""
    next: NDArray[np.int32]
    """[R, J] each job's first operation that is not fixed; `closing` where it is done."""
    start: NDArray[np.int64]
    """[R, O] starts of what is fixed, lower bounds of the others' starts."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make each of `rows` the first state of instances[i] with a decision; bases[i] becomes minus its estimate."""
    for i in range(len(rows)):
        row, instance = rows[i], instances[i]
        first_operation, first_job = state.operations_start[instance], state.jobs_start[instance]
        state.instance[row], state.left[row] = instance, state.operations[instance]
        for m in range(state.machines[instance]):  # not slices: numba would compile the text of an error message with them
            state.work[row, m] = 0
        for o in range(state.operations[instance]):
            state.start[row, o] = state.low[first_operation + o]
            state.work[row, state.machine[first_operation + o]] += state.duration[first_operation + o]
        for j in range(state.jobs[instance]):
            state.next[row, j] = state.opening[first_job + j]
        _settle(state, row)
        state.estimate[row] = _latest(state, row)
        bases[i] = -state.estimate[row]


@kernel
def _latest(state: Any, row: Any) -> Any:
    """The latest end of a job that the bounds allow."""
    instance = state.instance[row]
    latest = 0
    for j in range(state.jobs[instance]):
        latest = max(latest, job_end(state, row, j))
    return float(latest)


@kernel
def clocks(state: Any, rows: Any, out: Any) -> None:
    """Into out [R, 2]: of each row the time, and the next at which another job can start; the end and NEVER once it is over."""
    for i in range(len(rows)):
        if state.left[rows[i]]:
            out[i, 0], out[i, 1] = clock(state, rows[i])
        else:
            out[i, 0], out[i, 1] = np.int64(state.estimate[rows[i]]), NEVER


@kernel
def clock(state: Any, row: Any) -> Any:
    """(the smallest, the second smallest different) start of the jobs' next operations; 2**62 where there is none."""
    instance = state.instance[row]
    now, then = NEVER, NEVER
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.closing[state.jobs_start[instance] + j]:
            at = state.start[row, i]
            if at < now:
                now, then = at, now
            elif now < at < then:
                then = at
    return now, then


@kernel(borrow=True)
def copy_row(state: Any, src: Any, dst: Any) -> None:
    """Make row `dst` the same as row `src`."""
    instance = state.instance[src]
    state.instance[dst], state.left[dst], state.estimate[dst] = instance, state.left[src], state.estimate[src]
    state.waits[dst] = state.waits[src]
    copy_between_rows(state.work, src, dst, state.machines[instance])
    copy_between_rows(state.next, src, dst, state.jobs[instance])
    copy_between_rows(state.start, src, dst, state.operations[instance])


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Fix the next operation of a job at the present time, or (action J) wait, then what may as well start; the reward is minus
    what the estimate grows by."""
    instance = state.instance[src]
    jobs = state.jobs[instance]
    if action < 0 or action > jobs or state.left[src] == 0:
        return math.nan
    now, then = clock(state, src)
    if action == jobs:
        if not state.waits[src]:
            return math.nan
    else:
        i = state.next[src, action]
        if i == state.closing[state.jobs_start[instance] + action] or state.start[src, i] > now:
            return math.nan
    if src != dst:
        copy_row(state, src, dst)
    if action == jobs:
        _wait(state, dst, now, then)
    else:
        _fix(state, dst, action)
    _settle(state, dst)
    before = state.estimate[dst]
    state.estimate[dst] = _latest(state, dst)
    return before - state.estimate[dst]


@kernel
def _settle(state: Any, row: Any) -> None:
    """Fix what may as well start now, until there is a decision or everything is fixed; then note whether waiting is legal."""
    while state.left[row] > 0:
        job, waits = _survey(state, row)
        if job < 0:
            state.waits[row] = waits
            return
        _fix(state, row, job)


@kernel
def _survey(state: Any, row: Any) -> Any:
    """(a job that may as well start now, -1: none, whether every job that can start now would keep a later one waiting)."""
    instance = state.instance[row]
    now, then = clock(state, row)
    waits = then < NEVER
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.closing[state.jobs_start[instance] + j] and state.start[row, i] == now:
            rival, later = rivals(state, row, i, now)
            if not rival:
                return j, False
            waits = waits and later
    return -1, waits


@kernel
def rivals(state: Any, row: Any, i: Any, now: Any) -> Any:
    """Whether something else can start on i's machine before i, started now, would end; and whether such a thing comes later."""
    instance = state.instance[row]
    base = state.operations_start[instance]
    m, end = state.machines_start[instance] + state.machine[base + i], now + state.duration[base + i]
    rival = False
    for k in range(state.begin[m], state.end[m]):
        other = state.members[base + k]
        if other != i and other >= state.next[row, state.job[base + other]]:
            at = state.start[row, other]
            if at < end:
                rival = True
                if at > now:
                    return True, True
    return rival, False


@kernel
def _fix(state: Any, row: Any, job: Any) -> None:
    """Fix a job's next operation at its bound: what else its machine has to do starts when it ends, at the earliest."""
    instance, i = state.instance[row], state.next[row, job]
    base = state.operations_start[instance]
    m = state.machines_start[instance] + state.machine[base + i]
    end = state.start[row, i] + state.duration[base + i]
    state.next[row, job] = i + 1
    state.left[row] -= 1
    state.work[row, state.machine[base + i]] -= state.duration[base + i]
    for k in range(state.begin[m], state.end[m]):
        other = state.members[base + k]
        if other >= state.next[row, state.job[base + other]]:
            _raise(state, row, other, end)


@kernel
def _raise(state: Any, row: Any, operation: Any, bound: Any) -> None:
    """Raise the bound of an operation, and of those behind it in its job as far as they follow from it."""
    instance = state.instance[row]
    base = state.operations_start[instance]
    closing = state.closing[state.jobs_start[instance] + state.job[base + operation]]
    while operation < closing and state.start[row, operation] < bound:
        state.start[row, operation] = bound
        bound += state.duration[base + operation]
        operation += 1


@kernel
def _wait(state: Any, row: Any, now: Any, then: Any) -> None:
    """Nothing starts at `now`: what could, can at `then`."""
    instance = state.instance[row]
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.closing[state.jobs_start[instance] + j] and state.start[row, i] == now:
            _raise(state, row, i, then)


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """The jobs that can start at the present time, those that can end last before others, by number; then waiting."""
    instance = state.instance[row]
    if state.left[row] == 0:
        return 0
    now, _ = clock(state, row)
    keys = np.empty(len(out), np.int64)
    count = 0
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.closing[state.jobs_start[instance] + j] and state.start[row, i] == now:
            count = insert_sorted(keys, out, count, -job_end(state, row, j), j)
    if state.waits[row] and count < len(out):
        out[count] = state.jobs[instance]
        count += 1
    return count


@kernel(inline=True)
def job_end(state: Any, row: Any, job: Any) -> Any:
    """When a job can end by the bounds."""
    last = state.closing[state.jobs_start[state.instance[row]] + job] - 1
    return state.start[row, last] + state.duration[state.operations_start[state.instance[row]] + last]
