"""The pool of partial schedules and its kernels: what `corl.search` calls through `corl.hooks`.

Which operations compete is Giffler and Thompson's conflict set (Operations Research 8, 1960).
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
    """A pool of R partial schedules of I instances with at most J jobs, M machines, O operations and C choices each.

    Jobs, operations and choices are numbered within their instance. Arrays "of all jobs" (operations, choices) hold those of
    all instances, one instance after the other, from the offsets `jobs_start` (`operations_start`, `choices_start`) on.
    """

    kind: NDArray[np.int64]
    """[1] which schedules can be built: SEMI_ACTIVE, ACTIVE, NON_DELAY or ARRIVING."""
    tardy: NDArray[np.bool_]
    """[I] whether the weighted tardiness is minimised, not the makespan."""
    jobs: NDArray[np.int64]
    """[I] number of jobs."""
    machines: NDArray[np.int64]
    """[I] number of machines."""
    operations: NDArray[np.int64]
    """[I] number of operations."""
    choices: NDArray[np.int64]
    """[I] number of choices."""
    jobs_start: NDArray[np.int64]
    """[I] offset of the instance's jobs."""
    operations_start: NDArray[np.int64]
    """[I] offset of the instance's operations."""
    choices_start: NDArray[np.int64]
    """[I] offset of the instance's choices."""
    opening: NDArray[np.int32]
    """[all jobs] the first operation."""
    closing: NDArray[np.int32]
    """[all jobs] one past the last operation."""
    release: NDArray[np.int64]
    """[all jobs] release dates."""
    due: NDArray[np.int64]
    """[all jobs] due dates; 2**62 if the instance has none."""
    weight: NDArray[np.int64]
    """[all jobs] weights of the tardiness."""
    job: NDArray[np.int32]
    """[all operations] the job."""
    begin: NDArray[np.int32]
    """[all operations] the first choice."""
    end: NDArray[np.int32]
    """[all operations] one past the last choice."""
    rest: NDArray[np.int64]
    """[all operations] the least time from the start to the end of the job."""
    owner: NDArray[np.int32]
    """[all choices] the operation."""
    machine: NDArray[np.int32]
    """[all choices] the machine."""
    duration: NDArray[np.int64]
    """[all choices] the duration on that machine."""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    left: NDArray[np.int32]
    """[R] operations that are not scheduled."""
    estimate: NDArray[np.float64]
    """[R] the objective value if every job continued without waiting: a lower bound, and at the end the objective value."""
    next: NDArray[np.int32]
    """[R, J] the next operation of each job; `closing` if the job is finished."""
    ready: NDArray[np.int64]
    """[R, J] the time from which the job's next operation can start."""
    free: NDArray[np.int64]
    """[R, M] the time from which the machine is free."""
    start: NDArray[np.int64]
    """[R, O] start times of the scheduled operations."""
    chosen: NDArray[np.int32]
    """[R, O] choices of the scheduled operations."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make each of `rows` the empty schedule of instances[i]; bases[i] becomes minus its estimate."""
    for i in range(len(rows)):
        row, instance = rows[i], instances[i]
        estimate = 0.0
        for j in range(state.jobs[instance]):
            at = state.jobs_start[instance] + j
            state.next[row, j], state.ready[row, j] = state.opening[at], state.release[at]
            finish = state.release[at] + state.rest[state.operations_start[instance] + state.opening[at]]
            if state.tardy[instance]:
                estimate += _lateness(state, at, finish)
            else:
                estimate = max(estimate, float(finish))
        state.free[row, : state.machines[instance]] = 0
        state.instance[row], state.left[row], state.estimate[row] = instance, state.operations[instance], estimate
        bases[i] = -estimate


@kernel(inline=True)
def _lateness(state: Any, job: Any, finish: Any) -> Any:
    """Return the weighted tardiness of a job (an index into the arrays of all instances) that ends at `finish`."""
    return float(state.weight[job] * max(0, finish - state.due[job]))


@kernel(inline=True)
def earliest(state: Any, row: Any, job: Any, choice: Any) -> Any:
    """Return when a job's next operation can start on the machine of `choice` (an index into the arrays of all instances)."""
    return max(state.ready[row, job], state.free[row, state.machine[choice]])


@kernel
def _conflict(state: Any, row: Any) -> Any:
    """Return (machine, before): a choice is legal if it is of `machine` (-1: of any) and can start before `before`.

    Semi-active: all. Non-delay: the choices that can start first. Arriving: those of them that wait for one machine. Active:
    those that can start on the machine where an operation can end first, before that end (Giffler and Thompson, 1960).
    """
    kind = state.kind[0]
    if kind == SEMI_ACTIVE:
        return -1, _NEVER
    instance = state.instance[row]
    best, machine, before = _NEVER, -1, _NEVER
    for j in range(state.jobs[instance]):
        at = state.next[row, j]
        if at == state.closing[state.jobs_start[instance] + j]:
            continue
        operation = state.operations_start[instance] + at
        for choice in range(state.begin[operation], state.end[operation]):
            c = state.choices_start[instance] + choice
            start = earliest(state, row, j, c)
            key = start + state.duration[c] if kind == ACTIVE else start
            if key < best:
                best, machine, before = key, state.machine[c], max(key, start + 1)
    return (-1, before) if kind == NON_DELAY else (machine, before)


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Append an operation to a machine; the reward is minus the growth of the estimate."""
    instance = state.instance[src]
    if action < 0 or action >= state.choices[instance] or state.left[src] == 0:
        return math.nan
    c = state.choices_start[instance] + action
    operation = state.owner[c]
    job = state.job[state.operations_start[instance] + operation]
    start = earliest(state, src, job, c)
    machine, before = _conflict(state, src)
    if state.next[src, job] != operation or start >= before or (machine >= 0 and machine != state.machine[c]):
        return math.nan
    if src != dst:
        _copy(state, src, dst, instance)
    at, finish = state.jobs_start[instance] + job, start + state.duration[c]
    rest = state.rest[state.operations_start[instance] + operation]
    expected, after = state.ready[src, job] + rest, finish
    if operation + 1 < state.closing[at]:
        after += state.rest[state.operations_start[instance] + operation + 1]
    before_estimate = state.estimate[src]
    if state.tardy[instance]:
        estimate = before_estimate + (_lateness(state, at, after) - _lateness(state, at, expected))
    else:
        estimate = max(before_estimate, float(after))
    state.start[dst, operation], state.chosen[dst, operation] = start, action
    state.next[dst, job], state.ready[dst, job], state.free[dst, state.machine[c]] = operation + 1, finish, finish
    state.left[dst], state.estimate[dst] = state.left[src] - 1, estimate
    return before_estimate - estimate


@kernel(borrow=True)
def _copy(state: Any, src: Any, dst: Any, instance: Any) -> None:
    """Copy row `src`, a state of `instance`, to row `dst`, except `left` and `estimate`."""
    state.instance[dst] = instance
    copy_between_rows(state.next, src, dst, state.jobs[instance])
    copy_between_rows(state.ready, src, dst, state.jobs[instance])
    copy_between_rows(state.free, src, dst, state.machines[instance])
    copy_between_rows(state.start, src, dst, state.operations[instance])
    copy_between_rows(state.chosen, src, dst, state.operations[instance])


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the legal choices by their earliest start, ties by the most work left in the job, then by number."""
    instance = state.instance[row]
    machine, before = _conflict(state, row)
    starts, rests = np.empty(len(out), np.int64), np.empty(len(out), np.int64)
    count = 0
    for j in range(state.jobs[instance]):
        at = state.next[row, j]
        if at == state.closing[state.jobs_start[instance] + j]:
            continue
        operation = state.operations_start[instance] + at
        rest = state.rest[operation]
        for choice in range(state.begin[operation], state.end[operation]):
            c = state.choices_start[instance] + choice
            start = earliest(state, row, j, c)
            if start >= before or (machine >= 0 and machine != state.machine[c]):
                continue
            if count == len(out):
                if start > starts[-1] or (start == starts[-1] and rest <= rests[-1]):
                    continue
                count -= 1
            i = count
            while i > 0 and (starts[i - 1] > start or (starts[i - 1] == start and rests[i - 1] < rest)):
                starts[i], rests[i], out[i] = starts[i - 1], rests[i - 1], out[i - 1]
                i -= 1
            starts[i], rests[i], out[i] = start, rest, choice
            count += 1
    return count
