"""The kernels of the environment "floor": an event simulation that stops whenever a waiting job can start on a free machine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel
from corl.kernels.copy import copy_between_rows
from corl.problems.jobshop.environments.floor.pool import State

__all__ = ["may_wait", "reset_rows", "setup_time", "waits"]

_NEVER = 2**62


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make rows[i] the beginning of the day of instances[i], in place; write minus its estimate to bases[i] (float64)."""
    for i in range(len(rows)):
        row, instance = rows[i], instances[i]
        state.instance[row], state.now[row], state.arrived[row], state.present_count[row] = instance, 0, 0, 0
        estimate = 0.0
        for j in range(state.jobs[instance]):
            at = state.jobs_offset[instance] + j
            first = state.first_operation[at]
            end = state.release[at] + state.time_to_job_end[state.operations_offset[instance] + first]
            state.next[row, j], state.ready[row, j], state.earliest_end[row, j] = first, state.release[at], end
            estimate = estimate + _lateness(state, at, end) if state.tardy[instance] else max(estimate, float(end))
        for m in range(state.machines[instance]):
            state.free[row, m], state.running[row, m], state.family[row, m] = 0, -1, -1
            state.family_before[row, m] = -1
            state.next_break[row, m] = state.first_break[state.machines_offset[instance] + m]
        state.estimate[row] = estimate
        bases[i] = -estimate
        _settle(state, row)


@kernel(inline=True)
def _lateness(state: Any, job: Any, end: Any) -> Any:
    """Return the weighted tardiness of a job that ends at `end`; `job` is an index into the arrays of all jobs."""
    return float(state.weight[job] * max(0, end - state.due[job]))


@kernel(inline=True)
def setup_time(state: Any, instance: Any, machine: Any, before: Any, family: Any) -> Any:
    """Return the set-up time of a machine from the family `before` (-1: nothing processed yet) to `family`."""
    count = state.families[instance]
    return state.setups[state.setups_offset[instance] + (machine * (count + 1) + before + 1) * count + family]


@kernel(inline=True)
def waits(state: Any, row: Any, job: Any) -> Any:
    """Return whether a present job waits for its next operation."""
    at = state.jobs_offset[state.instance[row]] + job
    return state.ready[row, job] <= state.now[row] and state.next[row, job] < state.end_operation[at]


@kernel(borrow=True)
def may_wait(state: Any, row: Any) -> Any:
    """Return whether it is possible to start nothing until the next event: whether a machine is at work or down."""
    latest = np.int64(0)
    for m in range(state.machines[state.instance[row]]):
        latest = max(latest, state.free[row, m])
    return latest > state.now[row]


@kernel(borrow=True)
def _settle(state: Any, row: Any) -> None:
    """Process events, in place, until a waiting job can start on a free machine, or all jobs are finished."""
    instance = state.instance[row]
    while True:
        _end_operations(state, row, instance)
        _begin_breaks(state, row, instance)
        _add_arrivals(state, row, instance)
        if _can_start(state, row, instance):
            return
        if state.present_count[row] == 0 and state.arrived[row] == state.jobs[instance]:
            return
        _advance(state, row, instance)


@kernel(borrow=True)
def _advance(state: Any, row: Any, instance: Any) -> None:
    """Move the clock to the next event: the end of an operation or breakdown, the begin of a breakdown, or an arrival."""
    now, event = state.now[row], _NEVER
    for m in range(state.machines[instance]):
        if state.free[row, m] > now:
            event = min(event, state.free[row, m])
        following = state.next_break[row, m]
        if following < state.first_break[state.machines_offset[instance] + m + 1]:
            event = min(event, state.closes[following])
    if state.arrived[row] < state.jobs[instance]:
        base = state.jobs_offset[instance]
        event = min(event, state.release[base + state.by_release[base + state.arrived[row]]])
    state.now[row] = event


@kernel(borrow=True)
def _end_operations(state: Any, row: Any, instance: Any) -> None:
    """Process the operations that have ended."""
    now, base = state.now[row], state.operations_offset[instance]
    for m in range(state.machines[instance]):
        j = state.running[row, m]
        if j < 0 or state.free[row, m] > now:
            continue
        state.running[row, m] = -1
        at, end = state.jobs_offset[instance] + j, state.free[row, m]
        following = state.next[row, j]
        last = following == state.end_operation[at]
        if not last:
            end += state.time_to_job_end[base + following]
        if state.tardy[instance]:
            state.estimate[row] += _lateness(state, at, end) - _lateness(state, at, state.earliest_end[row, j])
        else:
            state.estimate[row] = max(state.estimate[row], float(end))
        state.earliest_end[row, j] = end
        if last:
            _remove(state, row, j)


@kernel(borrow=True)
def _remove(state: Any, row: Any, job: Any) -> None:
    """Remove a job from those present."""
    k = 0
    while state.present[row, k] != job:
        k += 1
    state.present_count[row] -= 1
    for i in range(k, state.present_count[row]):
        state.present[row, i] = state.present[row, i + 1]


@kernel(borrow=True)
def _begin_breaks(state: Any, row: Any, instance: Any) -> None:
    """Process the breakdowns that begin: an operation under way is undone, with its set-up."""
    now = state.now[row]
    for m in range(state.machines[instance]):
        end = state.first_break[state.machines_offset[instance] + m + 1]
        while state.next_break[row, m] < end and state.closes[state.next_break[row, m]] <= now:
            j = state.running[row, m]
            if j >= 0:
                state.next[row, j], state.ready[row, j] = state.next[row, j] - 1, now
                state.running[row, m], state.family[row, m] = -1, state.family_before[row, m]
            state.free[row, m] = state.opens[state.next_break[row, m]]
            state.next_break[row, m] += 1


@kernel(borrow=True)
def _add_arrivals(state: Any, row: Any, instance: Any) -> None:
    """Add the jobs that have arrived to those present."""
    base = state.jobs_offset[instance]
    while state.arrived[row] < state.jobs[instance]:
        j = state.by_release[base + state.arrived[row]]
        if state.release[base + j] > state.now[row]:
            return
        state.present[row, state.present_count[row]] = j
        state.present_count[row] += 1
        state.arrived[row] += 1


@kernel(borrow=True)
def _can_start(state: Any, row: Any, instance: Any) -> Any:
    """Return whether a waiting job can start on a free machine."""
    for k in range(state.present_count[row]):
        j = state.present[row, k]
        if waits(state, row, j):
            o = state.operations_offset[instance] + state.next[row, j]
            for choice in range(state.first_choice[o], state.end_choice[o]):
                if state.free[row, state.machine[state.choices_offset[instance] + choice]] <= state.now[row]:
                    return True
    return False


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Start an operation, or wait; then go on to the next decision. The reward is minus the growth of the estimate."""
    instance = state.instance[src]
    if action < 0 or action > state.choices[instance] or not _can_start(state, src, instance):
        return math.nan
    if action == state.choices[instance]:
        if not may_wait(state, src):
            return math.nan
    else:
        c = state.choices_offset[instance] + action
        job = state.job[state.operations_offset[instance] + state.operation[c]]
        idle = state.free[src, state.machine[c]] <= state.now[src]
        if not idle or not waits(state, src, job) or state.next[src, job] != state.operation[c]:
            return math.nan
    if src != dst:
        _copy(state, src, dst, instance)
    before = state.estimate[dst]
    if action == state.choices[instance]:
        _advance(state, dst, instance)
    else:
        _start(state, dst, instance, action)
    _settle(state, dst)
    return before - state.estimate[dst]


@kernel(borrow=True)
def _start(state: Any, row: Any, instance: Any, action: Any) -> None:
    """Begin the set-up and then the operation of a choice, now."""
    c = state.choices_offset[instance] + action
    o, m = state.operation[c], state.machine[c]
    family, job = state.family_of[state.operations_offset[instance] + o], state.job[state.operations_offset[instance] + o]
    start = state.now[row] + setup_time(state, instance, m, state.family[row, m], family)
    end = start + state.duration[c]
    state.start_time[row, o], state.chosen[row, o] = start, action
    state.next[row, job], state.ready[row, job] = o + 1, end
    state.free[row, m], state.running[row, m] = end, job
    state.family_before[row, m], state.family[row, m] = state.family[row, m], family


@kernel(borrow=True)
def _copy(state: Any, src: Any, dst: Any, instance: Any) -> None:
    """Copy row `src`, a state of `instance`, to row `dst`."""
    state.instance[dst], state.now[dst], state.arrived[dst] = instance, state.now[src], state.arrived[src]
    state.present_count[dst], state.estimate[dst] = state.present_count[src], state.estimate[src]
    copy_between_rows(state.present, src, dst, state.jobs[instance])
    copy_between_rows(state.next, src, dst, state.jobs[instance])
    copy_between_rows(state.ready, src, dst, state.jobs[instance])
    copy_between_rows(state.earliest_end, src, dst, state.jobs[instance])
    copy_between_rows(state.free, src, dst, state.machines[instance])
    copy_between_rows(state.running, src, dst, state.machines[instance])
    copy_between_rows(state.family, src, dst, state.machines[instance])
    copy_between_rows(state.family_before, src, dst, state.machines[instance])
    copy_between_rows(state.next_break, src, dst, state.machines[instance])
    copy_between_rows(state.start_time, src, dst, state.operations[instance])
    copy_between_rows(state.chosen, src, dst, state.operations[instance])


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the choices that can start now, jobs in the order of arrival; then, if it is legal and there is room, to wait."""
    instance, count = state.instance[row], 0
    waiting = may_wait(state, row)
    most = max(1, len(out) - 1) if waiting else len(out)
    for k in range(state.present_count[row]):
        j = state.present[row, k]
        if not waits(state, row, j):
            continue
        o = state.operations_offset[instance] + state.next[row, j]
        for choice in range(state.first_choice[o], state.end_choice[o]):
            if count < most and state.free[row, state.machine[state.choices_offset[instance] + choice]] <= state.now[row]:
                out[count] = choice
                count += 1
    if count > 0 and waiting and count < len(out):
        out[count] = state.choices[instance]
        count += 1
    return count
