"""The pool of interval models and its kernels: lower bounds of starts, propagated to a fixpoint after every decision.

The model is that of Tassel, Gebser and Schekotihin (ICAPS 2023), with fewer decisions. If an operation can start now and end
before any other can start on its machine, it is fixed without a decision: starting it later improves no schedule. Waiting is
legal only if each operation that can start now would delay another operation of its machine, one that cannot start yet. The
decisions that remain are those that build active schedules, which include an optimal one.
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

    Jobs, machines and operations are numbered within their instance. An array of [all jobs] concatenates the jobs of all
    instances; those of instance i begin at index `jobs_offset[i]`. Arrays of [all machines] and [all operations] are concatenated
    in the same way. All times are in the instance's unit.
    """

    jobs: NDArray[np.int64]
    """[I] number of jobs."""
    machines: NDArray[np.int64]
    """[I] number of machines."""
    operations: NDArray[np.int64]
    """[I] number of operations."""
    unit: NDArray[np.float64]
    """[I] the mean duration of the operations, above 0."""
    jobs_offset: NDArray[np.int64]
    """[I] index of the instance's first job in the arrays of all jobs."""
    machines_offset: NDArray[np.int64]
    """[I] index of the instance's first machine in the arrays of all machines."""
    operations_offset: NDArray[np.int64]
    """[I] index of the instance's first operation in the arrays of all operations."""
    first_operation: NDArray[np.int32]
    """[all jobs] the job's first operation."""
    end_operation: NDArray[np.int32]
    """[all jobs] one past the job's last operation."""
    low: NDArray[np.int64]
    """[all operations] the start if the job never waited: the lower bound before any decision."""
    job: NDArray[np.int32]
    """[all operations] the operation's job."""
    machine: NDArray[np.int32]
    """[all operations] the operation's machine."""
    duration: NDArray[np.int64]
    """[all operations] the operation's duration."""
    first_member: NDArray[np.int32]
    """[all machines] index of the machine's first operation in the instance's part of `members`."""
    end_member: NDArray[np.int32]
    """[all machines] one past the index of the machine's last operation in the instance's part of `members`."""
    members: NDArray[np.int32]
    """[all operations] for each instance its operations, grouped by machine."""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    unscheduled: NDArray[np.int32]
    """[R] number of operations that are not fixed."""
    waits: NDArray[np.bool_]
    """[R] whether waiting is legal."""
    work: NDArray[np.int64]
    """[R, M] the sum of the durations of the machine's operations that are not fixed."""
    estimate: NDArray[np.float64]
    """[R] the makespan that the lower bounds imply: a lower bound, exact once all operations are fixed."""
    next: NDArray[np.int32]
    """[R, J] the first operation of each job that is not fixed; `end_operation` if there is none."""
    start_time: NDArray[np.int64]
    """[R, O] start times of the fixed operations, and lower bounds of the start times of the others."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make rows[i] the first state of instances[i] that needs a decision; write minus its estimate to bases[i] (float64)."""
    for i in range(len(rows)):
        row, instance = rows[i], instances[i]
        first_operation, first_job = state.operations_offset[instance], state.jobs_offset[instance]
        state.instance[row], state.unscheduled[row] = instance, state.operations[instance]
        for m in range(state.machines[instance]):  # not a slice: Numba would compile the message of its shape error, slowly
            state.work[row, m] = 0
        for o in range(state.operations[instance]):
            state.start_time[row, o] = state.low[first_operation + o]
            state.work[row, state.machine[first_operation + o]] += state.duration[first_operation + o]
        for j in range(state.jobs[instance]):
            state.next[row, j] = state.first_operation[first_job + j]
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
    """Write the result of `clock` for each of `rows` to out, int64 [R, 2]; once an episode has ended, the makespan and NEVER."""
    for i in range(len(rows)):
        if state.unscheduled[rows[i]]:
            out[i, 0], out[i, 1] = clock(state, rows[i])
        else:
            out[i, 0], out[i, 1] = np.int64(state.estimate[rows[i]]), NEVER


@kernel
def clock(state: Any, row: Any) -> Any:
    """Return the smallest lower bound of the jobs' next operations (the present time) and the second smallest (NEVER if none)."""
    instance = state.instance[row]
    now, next_time = NEVER, NEVER
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.end_operation[state.jobs_offset[instance] + j]:
            at = state.start_time[row, i]
            if at < now:
                now, next_time = at, now
            elif now < at < next_time:
                next_time = at
    return now, next_time


@kernel(borrow=True)
def copy_row(state: Any, src: Any, dst: Any) -> None:
    """Copy the state in row `src` to row `dst`."""
    instance = state.instance[src]
    state.instance[dst], state.unscheduled[dst], state.estimate[dst] = instance, state.unscheduled[src], state.estimate[src]
    state.waits[dst] = state.waits[src]
    copy_between_rows(state.work, src, dst, state.machines[instance])
    copy_between_rows(state.next, src, dst, state.jobs[instance])
    copy_between_rows(state.start_time, src, dst, state.operations[instance])


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Fix the next operation of job `action` at the present time, or wait if `action` is the number of jobs.

    Then make all steps without an alternative. The reward is minus the growth of the estimate. An illegal action has no effect;
    its reward is NaN.
    """
    instance = state.instance[src]
    jobs = state.jobs[instance]
    if action < 0 or action > jobs or state.unscheduled[src] == 0:
        return math.nan
    now, next_time = clock(state, src)
    if action == jobs:
        if not state.waits[src]:
            return math.nan
    else:
        i = state.next[src, action]
        if i == state.end_operation[state.jobs_offset[instance] + action] or state.start_time[src, i] > now:
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
    """Fix operations without an alternative until a decision is needed or all are fixed; then record whether waiting is legal."""
    while state.unscheduled[row] > 0:
        job, waits = _forced_job(state, row)
        if job < 0:
            state.waits[row] = waits
            return
        _fix(state, row, job)


@kernel
def _forced_job(state: Any, row: Any) -> Any:
    """Return (job, waits): a job whose next operation has no rival for its machine, or -1; with -1, whether waiting is legal."""
    instance = state.instance[row]
    now, next_time = clock(state, row)
    waits = next_time < NEVER
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.end_operation[state.jobs_offset[instance] + j] and state.start_time[row, i] == now:
            has_rival, delays_later = conflicts(state, row, i, now)
            if not has_rival:
                return j, False
            waits = waits and delays_later
    return -1, waits


@kernel
def conflicts(state: Any, row: Any, i: Any, now: Any) -> Any:
    """Return (has_rival, delays_later) for operation i if it started now.

    has_rival: another operation could start on i's machine before i ended. delays_later: at least
    one such operation cannot start yet at `now`.
    """
    instance = state.instance[row]
    base = state.operations_offset[instance]
    m, end = state.machines_offset[instance] + state.machine[base + i], now + state.duration[base + i]
    rival = False
    for k in range(state.first_member[m], state.end_member[m]):
        other = state.members[base + k]
        if other != i and other >= state.next[row, state.job[base + other]]:
            at = state.start_time[row, other]
            if at < end:
                rival = True
                if at > now:
                    return True, True
    return rival, False


@kernel
def _fix(state: Any, row: Any, job: Any) -> None:
    """Fix a job's next operation i at its lower bound, and raise the bounds of the machine's other operations to i's end."""
    instance, i = state.instance[row], state.next[row, job]
    base = state.operations_offset[instance]
    m = state.machines_offset[instance] + state.machine[base + i]
    end = state.start_time[row, i] + state.duration[base + i]
    state.next[row, job] = i + 1
    state.unscheduled[row] -= 1
    state.work[row, state.machine[base + i]] -= state.duration[base + i]
    for k in range(state.first_member[m], state.end_member[m]):
        other = state.members[base + k]
        if other >= state.next[row, state.job[base + other]]:
            _raise_bound(state, row, other, end)


@kernel
def _raise_bound(state: Any, row: Any, operation: Any, bound: Any) -> None:
    """Raise the lower bound of an operation to `bound`, and propagate it to the later operations of the job."""
    instance = state.instance[row]
    base = state.operations_offset[instance]
    end_operation = state.end_operation[state.jobs_offset[instance] + state.job[base + operation]]
    while operation < end_operation and state.start_time[row, operation] < bound:
        state.start_time[row, operation] = bound
        bound += state.duration[base + operation]
        operation += 1


@kernel
def _wait(state: Any, row: Any, now: Any, next_time: Any) -> None:
    """Make `next_time` the lower bound of each operation that can start at `now`."""
    instance = state.instance[row]
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.end_operation[state.jobs_offset[instance] + j] and state.start_time[row, i] == now:
            _raise_bound(state, row, i, next_time)


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the jobs that can start now in descending order of their earliest possible ends, ties by number; then waiting."""
    instance = state.instance[row]
    if state.unscheduled[row] == 0:
        return 0
    now, _ = clock(state, row)
    keys = np.empty(len(out), np.int64)
    count = 0
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.end_operation[state.jobs_offset[instance] + j] and state.start_time[row, i] == now:
            count = insert_sorted(keys, out, count, -job_end(state, row, j), j)
    if state.waits[row] and count < len(out):
        out[count] = state.jobs[instance]
        count += 1
    return count


@kernel(inline=True)
def job_end(state: Any, row: Any, job: Any) -> Any:
    """Return the earliest end of a job that the lower bounds allow."""
    last = state.end_operation[state.jobs_offset[state.instance[row]] + job] - 1
    return state.start_time[row, last] + state.duration[state.operations_offset[state.instance[row]] + last]
