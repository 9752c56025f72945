"""The pool of partial sequences and its kernels, which `corl.search` calls through `corl.hooks`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel
from corl.kernels.rotate import rotate

__all__ = ["State", "reset_rows", "setup"]


class State(NamedTuple):
    """A pool of R partial sequences of I instances, each with n <= N jobs and m <= M machines.

    An array of [sum of n] concatenates the jobs of all instances; the other sums likewise. The operation of job j on machine i of
    an instance has the index operations_start + j * m + i. All times are in the instance's unit.
    """

    jobs: NDArray[np.int64]
    """[I] the number n of jobs."""
    machines: NDArray[np.int64]
    """[I] the number m of machines."""
    total: NDArray[np.bool_]
    """[I] True if the objective is the total completion time, False if it is the makespan."""
    jobs_start: NDArray[np.int64]
    """[I] index of the instance's first job in `order`."""
    operations_start: NDArray[np.int64]
    """[I] index of the instance's first operation in `duration`, `tail` and `shortest`."""
    setups_start: NDArray[np.int64]
    """[I] index of the instance's first set-up in `setup`; -1 if the instance has no set-ups."""
    duration: NDArray[np.int64]
    """[sum of n * m] the duration of each operation."""
    tail: NDArray[np.int64]
    """[sum of n * m] the sum of the durations of the job's operations after this one."""
    shortest: NDArray[np.int32]
    """[sum of m * n] for each machine, the jobs in ascending order of their durations there."""
    setup: NDArray[np.int64]
    """[sum of m * (n + 1) * n] the set-up times, in the layout of FlowShopInstance.setup."""
    order: NDArray[np.int32]
    """[sum of n] the jobs in ascending order of the sums of their durations."""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    length: NDArray[np.int32]
    """[R] the number of jobs in the sequence."""
    sequence: NDArray[np.int32]
    """[R, N] the sequence, then the remaining jobs in the order of `order`."""
    placed: NDArray[np.bool_]
    """[R, N] whether a job is in the sequence."""
    free: NDArray[np.int64]
    """[R, M] when each machine has finished the sequence."""
    completion_sum: NDArray[np.int64]
    """[R] the sum of the completion times of the jobs in the sequence."""
    estimate: NDArray[np.float64]
    """[R] a lower bound of the objective value, exact once the sequence is complete."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make rows[k] the empty sequence of instances[k], in place; write minus its estimate to bases[k] (float64)."""
    for k in range(len(rows)):
        row, instance = rows[k], instances[k]
        n, first = state.jobs[instance], state.jobs_start[instance]
        state.instance[row], state.length[row], state.completion_sum[row] = instance, 0, 0
        state.placed[row, :] = False
        state.free[row, :] = 0
        state.sequence[row, :n] = state.order[first : first + n]
        state.estimate[row] = _bound(state, row)
        bases[k] = -state.estimate[row]


@kernel
def setup(state: Any, row: Any, job: Any, machine: Any) -> Any:
    """Return the set-up time of a machine from the last job of the row's sequence to `job`."""
    instance = state.instance[row]
    at = state.setups_start[instance]
    if at < 0:
        return 0
    n, count = state.jobs[instance], state.length[row]
    last = n if count == 0 else state.sequence[row, count - 1]
    return state.setup[at + (machine * (n + 1) + last) * n + job]


@kernel
def _bound(state: Any, row: Any) -> Any:
    """Return the objective value of a complete sequence, or a lower bound for a partial one: the largest of the machines' bounds.

    The bound of a machine ignores the set-ups that are still to come. Makespan: the earliest time at which the next job can start
    there, plus all remaining work there, plus the smallest tail of a remaining job. Total completion time: the remaining jobs are
    processed there in ascending order of their durations, and each ends after its tail without waiting.
    """
    instance = state.instance[row]
    n, m, count = state.jobs[instance], state.machines[instance], state.length[row]
    at, total = state.operations_start[instance], state.total[instance]
    if count == n:
        return float(state.completion_sum[row] if total else state.free[row, m - 1])
    best, ready = 0, 0  # `ready`: the earliest time at which a remaining job reaches machine i
    for i in range(m):
        clock, ends, least_tail = max(state.free[row, i], ready), state.completion_sum[row], 2**62
        first, least_duration = at + i * n, 2**62
        for k in range(n):
            job = state.shortest[first + k]
            if state.placed[row, job]:
                continue
            operation = at + job * m + i
            clock += state.duration[operation]
            ends += clock + state.tail[operation]
            least_tail = min(least_tail, state.tail[operation])
            least_duration = min(least_duration, state.duration[operation])
        ready = max(ready, state.free[row, i]) + least_duration
        best = max(best, ends if total else clock + least_tail)
    return float(best)


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Append job `action` to the sequence; the reward is minus the growth of the estimate.

    An illegal action has no effect; its reward is NaN.
    """
    instance = state.instance[src]
    n, m, count = state.jobs[instance], state.machines[instance], state.length[src]
    if action < 0 or action >= n or state.placed[src, action]:
        return math.nan
    before = state.estimate[src]
    if src != dst:
        state.instance[dst], state.length[dst], state.completion_sum[dst] = instance, count, state.completion_sum[src]
        state.sequence[dst, :n] = state.sequence[src, :n]
        state.placed[dst, :] = state.placed[src, :]
        state.free[dst, :] = state.free[src, :]
    end = 0
    for i in range(m):
        end = max(end, state.free[dst, i] + setup(state, dst, action, i))
        end += state.duration[state.operations_start[instance] + action * m + i]
        state.free[dst, i] = end
    at = count
    while state.sequence[dst, at] != action:
        at += 1
    rotate(state.sequence[dst], at, count)
    state.placed[dst, action], state.length[dst] = True, count + 1
    state.completion_sum[dst] += end
    state.estimate[dst] = _bound(state, dst)
    return before - state.estimate[dst]


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the remaining jobs in ascending order of the sums of their durations."""
    count = state.length[row]
    listed = min(len(out), state.jobs[state.instance[row]] - count)
    for k in range(listed):
        out[k] = state.sequence[row, count + k]
    return listed
