"""The pool of partial schedules and its kernels, which `corl.search` calls through `corl.hooks`.

The legal actions of active schedules are Giffler and Thompson's conflict sets (Operations Research 8, 1960).
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

__all__ = ["ACTIVE", "ARRIVING", "NON_DELAY", "SEMI_ACTIVE", "State", "earliest", "reset_rows"]

SEMI_ACTIVE, ACTIVE, NON_DELAY, ARRIVING = 0, 1, 2, 3
_NEVER = 2**62


class State(NamedTuple):
    """A pool of R partial schedules of I instances with at most J jobs, M machines and O operations each.

    A choice is a pair of an operation and a machine that can process the operation. Jobs, operations and choices are numbered
    within their instance. An array of [all jobs] concatenates the jobs of all instances; those of instance i begin at index
    `jobs_offset[i]`. Arrays of [all operations] and [all choices] are concatenated in the same way. All times are in the
    instance's unit.
    """

    kind: NDArray[np.int64]
    """[1] the schedules that can be built: SEMI_ACTIVE, ACTIVE, NON_DELAY or ARRIVING (see `_conflict`)."""
    tardy: NDArray[np.bool_]
    """[I] True if the objective is the weighted tardiness, False if it is the makespan."""
    jobs: NDArray[np.int64]
    """[I] number of jobs."""
    machines: NDArray[np.int64]
    """[I] number of machines."""
    operations: NDArray[np.int64]
    """[I] number of operations."""
    choices: NDArray[np.int64]
    """[I] number of choices."""
    jobs_offset: NDArray[np.int64]
    """[I] index of the instance's first job in the arrays of all jobs."""
    operations_offset: NDArray[np.int64]
    """[I] index of the instance's first operation in the arrays of all operations."""
    choices_offset: NDArray[np.int64]
    """[I] index of the instance's first choice in the arrays of all choices."""
    first_operation: NDArray[np.int32]
    """[all jobs] the job's first operation."""
    end_operation: NDArray[np.int32]
    """[all jobs] one past the job's last operation."""
    release: NDArray[np.int64]
    """[all jobs] release dates."""
    due: NDArray[np.int64]
    """[all jobs] due dates; 2**62 if the instance has none."""
    weight: NDArray[np.int64]
    """[all jobs] the weight of one time unit of tardiness."""
    job: NDArray[np.int32]
    """[all operations] the operation's job."""
    first_choice: NDArray[np.int32]
    """[all operations] the operation's first choice."""
    end_choice: NDArray[np.int32]
    """[all operations] one past the operation's last choice."""
    time_to_job_end: NDArray[np.int64]
    """[all operations] the least time from the operation's start to the end of its job, on the fastest machines."""
    operation: NDArray[np.int32]
    """[all choices] the choice's operation."""
    machine: NDArray[np.int32]
    """[all choices] the choice's machine."""
    duration: NDArray[np.int64]
    """[all choices] the duration of the operation on that machine."""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    unscheduled: NDArray[np.int32]
    """[R] number of operations that are not scheduled."""
    estimate: NDArray[np.float64]
    """[R] the objective value if every job continued without waiting: a lower bound, exact once all operations are scheduled."""
    next: NDArray[np.int32]
    """[R, J] the first unscheduled operation of each job; `end_operation` if there is none."""
    ready: NDArray[np.int64]
    """[R, J] the time at which the job's last scheduled operation ends; the release date if there is none."""
    free: NDArray[np.int64]
    """[R, M] the time at which the last operation scheduled on the machine ends; 0 if there is none."""
    start_time: NDArray[np.int64]
    """[R, O] start times of the scheduled operations; other entries are undefined."""
    chosen: NDArray[np.int32]
    """[R, O] choices of the scheduled operations; other entries are undefined."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make rows[i] the empty schedule of instances[i], in place; write minus its estimate to bases[i] (float64)."""
    for i in range(len(rows)):
        row, instance = rows[i], instances[i]
        estimate = 0.0
        for j in range(state.jobs[instance]):
            at = state.jobs_offset[instance] + j
            state.next[row, j], state.ready[row, j] = state.first_operation[at], state.release[at]
            finish = state.release[at] + state.time_to_job_end[state.operations_offset[instance] + state.first_operation[at]]
            if state.tardy[instance]:
                estimate += _lateness(state, at, finish)
            else:
                estimate = max(estimate, float(finish))
        state.free[row, : state.machines[instance]] = 0
        state.instance[row], state.unscheduled[row], state.estimate[row] = instance, state.operations[instance], estimate
        bases[i] = -estimate


@kernel(inline=True)
def _lateness(state: Any, job: Any, finish: Any) -> Any:
    """Return the weighted tardiness of a job that ends at `finish`; `job` is an index into the arrays of all jobs."""
    return float(state.weight[job] * max(0, finish - state.due[job]))


@kernel(inline=True)
def earliest(state: Any, row: Any, job: Any, choice: Any) -> Any:
    """Return when a job's next operation can start on the machine of `choice`, an index into the arrays of all choices."""
    return max(state.ready[row, job], state.free[row, state.machine[choice]])


@kernel
def _conflict(state: Any, row: Any) -> Any:
    """Return (machine, before): a choice is legal if it is on `machine` (-1: on any) and can start before time `before`.

    SEMI_ACTIVE: all choices are legal. NON_DELAY: the choices with the earliest possible start. ARRIVING: of the
    non-delay choices, those on the machine of the first one found. ACTIVE: let m be the machine on which an operation can end
    first; the choices on m that can start before that end (Giffler and Thompson, 1960).
    """
    kind = state.kind[0]
    if kind == SEMI_ACTIVE:
        return -1, _NEVER
    instance = state.instance[row]
    best, machine, before = _NEVER, -1, _NEVER
    for j in range(state.jobs[instance]):
        at = state.next[row, j]
        if at == state.end_operation[state.jobs_offset[instance] + j]:
            continue
        operation = state.operations_offset[instance] + at
        for choice in range(state.first_choice[operation], state.end_choice[operation]):
            c = state.choices_offset[instance] + choice
            start = earliest(state, row, j, c)
            key = start + state.duration[c] if kind == ACTIVE else start
            if key < best:
                best, machine, before = key, state.machine[c], max(key, start + 1)
    return (-1, before) if kind == NON_DELAY else (machine, before)


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Append an operation to a machine's sequence; the reward is minus the growth of the estimate."""
    instance = state.instance[src]
    if action < 0 or action >= state.choices[instance] or state.unscheduled[src] == 0:
        return math.nan
    c = state.choices_offset[instance] + action
    operation = state.operation[c]
    job = state.job[state.operations_offset[instance] + operation]
    start = earliest(state, src, job, c)
    machine, before = _conflict(state, src)
    if state.next[src, job] != operation or start >= before or (machine >= 0 and machine != state.machine[c]):
        return math.nan
    if src != dst:
        _copy(state, src, dst, instance)
    at, finish = state.jobs_offset[instance] + job, start + state.duration[c]
    remaining_time = state.time_to_job_end[state.operations_offset[instance] + operation]
    old_job_end, new_job_end = state.ready[src, job] + remaining_time, finish
    if operation + 1 < state.end_operation[at]:
        new_job_end += state.time_to_job_end[state.operations_offset[instance] + operation + 1]
    before_estimate = state.estimate[src]
    if state.tardy[instance]:
        estimate = before_estimate + (_lateness(state, at, new_job_end) - _lateness(state, at, old_job_end))
    else:
        estimate = max(before_estimate, float(new_job_end))
    state.start_time[dst, operation], state.chosen[dst, operation] = start, action
    state.next[dst, job], state.ready[dst, job], state.free[dst, state.machine[c]] = operation + 1, finish, finish
    state.unscheduled[dst], state.estimate[dst] = state.unscheduled[src] - 1, estimate
    return before_estimate - estimate


@kernel(borrow=True)
def _copy(state: Any, src: Any, dst: Any, instance: Any) -> None:
    """Copy row `src`, a state of `instance`, to row `dst`; `unscheduled` and `estimate`, which `_step` sets, are not copied."""
    state.instance[dst] = instance
    copy_between_rows(state.next, src, dst, state.jobs[instance])
    copy_between_rows(state.ready, src, dst, state.jobs[instance])
    copy_between_rows(state.free, src, dst, state.machines[instance])
    copy_between_rows(state.start_time, src, dst, state.operations[instance])
    copy_between_rows(state.chosen, src, dst, state.operations[instance])


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the legal choices by earliest start. Ties: first the job with the most remaining work, then the lower number."""
    instance = state.instance[row]
    machine, before = _conflict(state, row)
    starts, remaining_times = np.empty(len(out), np.int64), np.empty(len(out), np.int64)
    count = 0
    for j in range(state.jobs[instance]):
        at = state.next[row, j]
        if at == state.end_operation[state.jobs_offset[instance] + j]:
            continue
        operation = state.operations_offset[instance] + at
        remaining_time = state.time_to_job_end[operation]
        for choice in range(state.first_choice[operation], state.end_choice[operation]):
            c = state.choices_offset[instance] + choice
            start = earliest(state, row, j, c)
            if start >= before or (machine >= 0 and machine != state.machine[c]):
                continue
            if count == len(out):
                if start > starts[-1] or (start == starts[-1] and remaining_time <= remaining_times[-1]):
                    continue
                count -= 1
            i = count
            while i > 0 and (starts[i - 1] > start or (starts[i - 1] == start and remaining_times[i - 1] < remaining_time)):
                starts[i], remaining_times[i], out[i] = starts[i - 1], remaining_times[i - 1], out[i - 1]
                i -= 1
            starts[i], remaining_times[i], out[i] = start, remaining_time, choice
            count += 1
    return count
