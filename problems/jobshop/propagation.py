"""The pool of the simulator's states and its kernels: interval bounds, propagated to a fixpoint after every decision."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.search import hooks
from corl.search.hooks import attach

__all__ = ["SimulatorState", "reset_rows", "times"]

_NEVER = 2**62


class SimulatorState(NamedTuple):
    """The pool. I instances of J jobs, M machines, O operations each (at most); R rows.

    Jobs, machines and operations are numbered within their instance; its `job_at`, `machine_at` and `operation_at` say where
    they begin in the arrays that hold those of all instances.
    """

    jobs: NDArray[np.int64]
    """[I]"""
    operations: NDArray[np.int64]
    """[I]"""
    job_at: NDArray[np.int64]
    machine_at: NDArray[np.int64]
    operation_at: NDArray[np.int64]
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
    """Of each machine, where its operations begin in `members`, counted from the instance's `operation_at`."""
    end: NDArray[np.int32]
    """Of each machine, where they end."""
    members: NDArray[np.int32]
    """The operations of each machine."""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    left: NDArray[np.int32]
    """[R] operations that are not fixed."""
    estimate: NDArray[np.float64]
    """[R] the latest end that the bounds allow: a lower bound of the makespan that ends as the makespan."""
    next: NDArray[np.int32]
    """[R, J] each job's first operation that is not fixed; `closing` where it is done."""
    start: NDArray[np.int64]
    """[R, O] starts of what is fixed, lower bounds of the others' starts."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make each of `rows` the state of instances[i] with nothing fixed; bases[i] becomes minus its estimate."""
    for i in range(len(rows)):
        row, instance = rows[i], instances[i]
        o, j = state.operation_at[instance], state.job_at[instance]
        n, jobs = state.operations[instance], state.jobs[instance]
        state.instance[row], state.left[row] = instance, n
        state.start[row, :n] = state.low[o : o + n]
        state.next[row, :jobs] = state.opening[j : j + jobs]
        state.estimate[row] = _latest(state, row)
        bases[i] = -state.estimate[row]


@kernel
def _latest(state: Any, row: Any) -> Any:
    """The latest end of a job that the bounds allow."""
    instance = state.instance[row]
    latest = 0
    for j in range(state.jobs[instance]):
        last = state.closing[state.job_at[instance] + j] - 1
        latest = max(latest, state.start[row, last] + state.duration[state.operation_at[instance] + last])
    return float(latest)


@kernel
def times(state: Any, rows: Any, out: Any) -> None:
    """The time of each of `rows`, into out [R]: the end of the schedule where everything is fixed."""
    for i in range(len(rows)):
        out[i] = _clock(state, rows[i])[0] if state.left[rows[i]] else np.int64(state.estimate[rows[i]])


@kernel
def _clock(state: Any, row: Any) -> Any:
    """(the smallest, the second smallest different) start of the jobs' next operations; 2**62 where there is none."""
    instance = state.instance[row]
    now, then = _NEVER, _NEVER
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.closing[state.job_at[instance] + j]:
            at = state.start[row, i]
            if at < now:
                now, then = at, now
            elif now < at < then:
                then = at
    return now, then


@attach(hooks.step, SimulatorState)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Fix the next operation of a job at the present time, or (action J) wait; the reward is minus what the estimate grows by."""
    instance = state.instance[src]
    jobs, n = state.jobs[instance], state.operations[instance]
    if action < 0 or action > jobs or state.left[src] == 0:
        return math.nan
    now, then = _clock(state, src)
    if action == jobs:
        if then == _NEVER:
            return math.nan
    else:
        i = state.next[src, action]
        if i == state.closing[state.job_at[instance] + action] or state.start[src, i] > now:
            return math.nan
    if src != dst:
        state.instance[dst], state.left[dst], state.estimate[dst] = instance, state.left[src], state.estimate[src]
        state.next[dst, :jobs], state.start[dst, :n] = state.next[src, :jobs], state.start[src, :n]
    if action == jobs:
        _wait(state, dst, now, then)
    else:
        _fix(state, dst, action)
    before = state.estimate[dst]
    state.estimate[dst] = _latest(state, dst)
    return before - state.estimate[dst]


@kernel
def _fix(state: Any, row: Any, job: Any) -> None:
    """Fix a job's next operation at its bound: what else its machine has to do starts when it ends, at the earliest."""
    instance, i = state.instance[row], state.next[row, job]
    base = state.operation_at[instance]
    m = state.machine_at[instance] + state.machine[base + i]
    end = state.start[row, i] + state.duration[base + i]
    state.next[row, job] = i + 1
    state.left[row] -= 1
    for k in range(state.begin[m], state.end[m]):
        other = state.members[base + k]
        if other >= state.next[row, state.job[base + other]]:
            _raise(state, row, other, end)


@kernel
def _raise(state: Any, row: Any, operation: Any, bound: Any) -> None:
    """Raise the bound of an operation, and of those behind it in its job as far as they follow from it."""
    instance = state.instance[row]
    base = state.operation_at[instance]
    closing = state.closing[state.job_at[instance] + state.job[base + operation]]
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
        if i < state.closing[state.job_at[instance] + j] and state.start[row, i] == now:
            _raise(state, row, i, then)


@attach(hooks.actions, SimulatorState)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """The jobs that can start at the present time, by number; then waiting, where something can start later."""
    instance = state.instance[row]
    if state.left[row] == 0:
        return 0
    now, then = _clock(state, row)
    count = 0
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.closing[state.job_at[instance] + j] and state.start[row, i] == now and count < len(out):
            out[count] = j
            count += 1
    if then < _NEVER and count < len(out):
        out[count] = state.jobs[instance]
        count += 1
    return count
