"""The pool of interval models and its kernels: bounds of starts, propagated to a fixpoint after every decision.

After Tassel, Gebser and Schekotihin (ICAPS 2023).

Not every step of theirs is a decision. If an operation can start now and end before any other can start on its machine, it is
started within the step before: every schedule in which it starts later can be changed into one that is no worse. Waiting is
legal only if each operation that can start now would delay one that can start later on its machine. The remaining decisions are
those of active schedules, which include an optimal one.
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

__all__ = ["NEVER", "State", "clock", "clocks", "copy_row", "job_end", "reset_rows", "conflicts"]

NEVER = 2**62


class State(NamedTuple):
    """A pool of R states of I instances with at most J jobs, M machines and O operations each.

    Jobs, machines and operations are numbered within their instance. Arrays "of all jobs" (machines, operations) hold those of
    all instances, one instance after the other, from the offsets `jobs_start` (`machines_start`, `operations_start`) on.
    """

    jobs: NDArray[np.int64]
    """[I] number of jobs."""
    machines: NDArray[np.int64]
    """[I] number of machines."""
    operations: NDArray[np.int64]
    """[I] number of operations."""
    unit: NDArray[np.float64]
    """[I] the mean duration of the operations, above 0."""
    jobs_start: NDArray[np.int64]
    """[I] offset of the instance's jobs."""
    machines_start: NDArray[np.int64]
    """[I] offset of the instance's machines."""
    operations_start: NDArray[np.int64]
    """[I] offset of the instance's operations."""
    opening: NDArray[np.int32]
    """[all jobs] the first operation."""
    closing: NDArray[np.int32]
    """[all jobs] one past the last operation."""
    low: NDArray[np.int64]
    """[all operations] the earliest start before any decision."""
    job: NDArray[np.int32]
    """[all operations] the job."""
    machine: NDArray[np.int32]
    """[all operations] the machine."""
    duration: NDArray[np.int64]
    """[all operations] the duration."""
    begin: NDArray[np.int32]
    """[all machines] the offset of the machine's operations in the instance's part of `members`."""
    end: NDArray[np.int32]
    """[all machines] one past the last of them."""
    members: NDArray[np.int32]
    """[all operations] the operations of an instance, grouped by machine."""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    left: NDArray[np.int32]
    """[R] operations that are not fixed."""
    waits: NDArray[np.bool_]
    """[R] whether waiting is legal."""
    work: NDArray[np.int64]
    """[R, M] the sum of the durations of the operations that the machine has still to start."""
    estimate: NDArray[np.float64]
    """[R] the makespan that the bounds imply: a lower bound, and at the end the makespan."""
    next: NDArray[np.int32]
    """[R, J] the first operation of each job that is not fixed; `closing` if all are."""
    start: NDArray[np.int64]
    """[R, O] starts of the fixed operations, lower bounds of the starts of the others."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make rows[i] the first state of instances[i] that has a decision; bases[i] becomes minus its estimate."""
    for i in range(len(rows)):
        row, instance = rows[i], instances[i]
        first_operation, first_job = state.operations_start[instance], state.jobs_start[instance]
        state.instance[row], state.left[row] = instance, state.operations[instance]
        for m in range(state.machines[instance]):  # no slice: numba would compile the text of its error message
            state.work[row, m] = 0
        for o in range(state.operations[instance]):
            state.start[row, o] = state.low[first_operation + o]
            state.work[row, state.machine[first_operation + o]] += state.duration[first_operation + o]
        for j in range(state.jobs[instance]):
            state.next[row, j] = state.opening[first_job + j]
        _fix_forced(state, row)
        state.estimate[row] = _latest_end(state, row)
        bases[i] = -state.estimate[row]


@kernel
def _latest_end(state: Any, row: Any) -> Any:
    """Return the makespan that the lower bounds of the starts imply."""
    instance = state.instance[row]
    latest = 0
    for j in range(state.jobs[instance]):
        latest = max(latest, job_end(state, row, j))
    return float(latest)


@kernel
def clocks(state: Any, rows: Any, out: Any) -> None:
    """Write `clock` of each of `rows` to out [R, 2]; after the end of an episode, the makespan and NEVER."""
    for i in range(len(rows)):
        if state.left[rows[i]]:
            out[i, 0], out[i, 1] = clock(state, rows[i])
        else:
            out[i, 0], out[i, 1] = np.int64(state.estimate[rows[i]]), NEVER


@kernel
def clock(state: Any, row: Any) -> Any:
    """Return the present time (the smallest start of the jobs' next operations), and the next larger one; NEVER without one."""
    instance = state.instance[row]
    now, next_time = NEVER, NEVER
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.closing[state.jobs_start[instance] + j]:
            at = state.start[row, i]
            if at < now:
                now, next_time = at, now
            elif now < at < next_time:
                next_time = at
    return now, next_time


@kernel(borrow=True)
def copy_row(state: Any, src: Any, dst: Any) -> None:
    """Copy row `src` to row `dst`."""
    instance = state.instance[src]
    state.instance[dst], state.left[dst], state.estimate[dst] = instance, state.left[src], state.estimate[src]
    state.waits[dst] = state.waits[src]
    copy_between_rows(state.work, src, dst, state.machines[instance])
    copy_between_rows(state.next, src, dst, state.jobs[instance])
    copy_between_rows(state.start, src, dst, state.operations[instance])


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Fix the next operation of a job at the present time, or (action J) wait; then make all steps without a choice.

    The reward is minus the growth of the estimate; NaN for an illegal action, without an effect.
    """
    instance = state.instance[src]
    jobs = state.jobs[instance]
    if action < 0 or action > jobs or state.left[src] == 0:
        return math.nan
    now, next_time = clock(state, src)
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
        _wait(state, dst, now, next_time)
    else:
        _fix(state, dst, action)
    _fix_forced(state, dst)
    before = state.estimate[dst]
    state.estimate[dst] = _latest_end(state, dst)
    return before - state.estimate[dst]


@kernel
def _fix_forced(state: Any, row: Any) -> None:
    """Make steps without a choice until there is a decision or all operations are fixed; then record whether waiting is legal."""
    while state.left[row] > 0:
        job, waits = _forced_job(state, row)
        if job < 0:
            state.waits[row] = waits
            return
        _fix(state, row, job)


@kernel
def _forced_job(state: Any, row: Any) -> Any:
    """Return a job whose next operation can start without a choice, or -1, and whether waiting is legal (valid with -1)."""
    instance = state.instance[row]
    now, next_time = clock(state, row)
    waits = next_time < NEVER
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.closing[state.jobs_start[instance] + j] and state.start[row, i] == now:
            rival, later = conflicts(state, row, i, now)
            if not rival:
                return j, False
            waits = waits and later
    return -1, waits


@kernel
def conflicts(state: Any, row: Any, i: Any, now: Any) -> Any:
    """Return whether another operation can start on the machine of i before i, started now, would end; and whether one can that
    cannot start now."""
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
    """Fix a job's next operation at its bound; the other operations of its machine cannot start before it ends."""
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
            _raise_bound(state, row, other, end)


@kernel
def _raise_bound(state: Any, row: Any, operation: Any, bound: Any) -> None:
    """Raise the bound of an operation, and those of the later ones of its job as far as that implies."""
    instance = state.instance[row]
    base = state.operations_start[instance]
    closing = state.closing[state.jobs_start[instance] + state.job[base + operation]]
    while operation < closing and state.start[row, operation] < bound:
        state.start[row, operation] = bound
        bound += state.duration[base + operation]
        operation += 1


@kernel
def _wait(state: Any, row: Any, now: Any, next_time: Any) -> None:
    """Raise the bounds of the operations that can start at `now` to `next_time`."""
    instance = state.instance[row]
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.closing[state.jobs_start[instance] + j] and state.start[row, i] == now:
            _raise_bound(state, row, i, next_time)


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the jobs that can start now in descending order of their earliest possible ends, ties by number; then waiting."""
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
    """Return the earliest end of a job that the bounds allow."""
    last = state.closing[state.jobs_start[state.instance[row]] + job] - 1
    return state.start[row, last] + state.duration[state.operations_start[state.instance[row]] + last]
