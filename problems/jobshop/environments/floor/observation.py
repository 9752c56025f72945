"""What is known at a decision on the floor: columns of each listed action, and of the floor as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel
from corl.problems.jobshop.environments.floor.transitions import setup_time

__all__ = ["NOWHERE", "OF_ACTIONS", "OF_FLOOR", "observe", "observe_row"]

OF_ACTIONS = (
    "job", "machine", "duration", "setup", "rest", "left", "due", "weight", "ready", "release", "following", "queue", "elsewhere",
    "same", "rivals", "wait", "family",
)  # fmt: skip
(
    JOB, MACHINE, DURATION, SETUP, REST, LEFT, DUE, WEIGHT, READY, RELEASE, FOLLOWING, QUEUE, ELSEWHERE, SAME, RIVALS, WAIT,
    FAMILY,
) = range(len(OF_ACTIONS))  # fmt: skip
"""Columns of the observation of a listed action: see `FloorEnvironment._observe`."""
OF_FLOOR = ("now", "present", "load", "tardy", "idle", "down", "machines", "next_event")
NOW, PRESENT, LOAD, TARDY, IDLE, DOWN, MACHINES, NEXT_EVENT = range(len(OF_FLOOR))
"""Entries of the observation of the floor as a whole: see `FloorEnvironment._observe`."""
NOWHERE = 2**62
"""The value of "elsewhere" if no other machine can process the operation."""


@kernel
def observe(state: Any, rows: Any, actions: Any, jobs: Any, floor: Any) -> None:
    """Apply `observe_row` to each of `rows`; write to jobs, int64 [R, K, 17], and floor, int64 [R, 8]."""
    work = np.empty(state.free.shape[1], np.int64)
    for i in range(len(rows)):
        count = 0
        while count < actions.shape[1] and actions[i, count] >= 0:
            count += 1
        if count > 0:
            observe_row(state, rows[i], actions[i], count, work, jobs[i], floor[i])


@kernel(borrow=True)
def observe_row(state: Any, row: Any, listed: Any, count: Any, work: Any, jobs: Any, floor: Any) -> None:
    """Write the observation of a row to `jobs` and `floor`, in place.

    Args:
        state: The pool.
        row: The row.
        listed: int32 [at least count], the row's legal actions.
        count: The number of listed actions, at least 1.
        work: int64 [M], a work array, overwritten.
        jobs: int64 [at least count, 17], the columns OF_ACTIONS, written for the listed actions.
        floor: int64 [8], the entries OF_FLOOR.
    """
    instance = state.instance[row]
    floor[NOW], floor[TARDY], floor[MACHINES] = state.now[row], state.tardy[instance], state.machines[instance]
    floor[PRESENT], floor[LOAD] = state.present_count[row], _queues(state, row, work)
    _describe_machines(state, row, floor)
    for k in range(count):
        if listed[k] == state.choices[instance]:
            for column in range(len(OF_ACTIONS)):
                jobs[k, column] = 0
            jobs[k, JOB], jobs[k, MACHINE], jobs[k, WAIT] = -1, -1, 1
        else:
            _describe_choice(state, row, state.choices_offset[instance] + listed[k], work, jobs, k)
    _count_rivals(jobs, count)


@kernel(borrow=True)
def _describe_machines(state: Any, row: Any, floor: Any) -> None:
    """Write how many machines are idle and down, and the time to the next end of an operation or breakdown (0 if none)."""
    now, idle, down, event = state.now[row], 0, 0, NOWHERE
    for m in range(state.machines[state.instance[row]]):
        if state.free[row, m] <= now:
            idle += 1
        else:
            down += state.running[row, m] < 0
            event = min(event, state.free[row, m] - now)
    floor[IDLE], floor[DOWN], floor[NEXT_EVENT] = idle, down, 0 if event == NOWHERE else event


@kernel(borrow=True)
def _queues(state: Any, row: Any, work: Any) -> Any:
    """Write to work [M] how long each machine needs for its operation, its breakdown and the operations that wait for it.

    An operation with a choice of machines counts at each. Returns the time that all present jobs together still need on their
    fastest machines.
    """
    instance, now, load = state.instance[row], state.now[row], np.int64(0)
    for m in range(state.machines[instance]):
        work[m] = max(np.int64(0), state.free[row, m] - now)
    for k in range(state.present_count[row]):
        j = state.present[row, k]
        load += max(np.int64(0), state.ready[row, j] - now)
        if state.next[row, j] == state.end_operation[state.jobs_offset[instance] + j]:
            continue
        operation = state.operations_offset[instance] + state.next[row, j]
        load += state.time_to_job_end[operation]
        if state.ready[row, j] <= now:
            for choice in range(state.first_choice[operation], state.end_choice[operation]):
                c = state.choices_offset[instance] + choice
                work[state.machine[c]] += state.duration[c]
    return load


@kernel(borrow=True)
def _describe_choice(state: Any, row: Any, c: Any, work: Any, jobs: Any, k: Any) -> None:
    """Write the columns OF_ACTIONS but SAME and RIVALS of choice c, an index into the pool's arrays of all choices, to jobs[k].

    work: int64 [M], as `_queues` writes it.
    """
    instance, m = state.instance[row], state.machine[c]
    o = state.operations_offset[instance] + state.operation[c]
    job = state.job[o]
    at = state.jobs_offset[instance] + job
    jobs[k, JOB], jobs[k, MACHINE], jobs[k, DURATION], jobs[k, REST] = job, m, state.duration[c], state.time_to_job_end[o]
    jobs[k, SETUP] = setup_time(state, instance, m, state.family[row, m], state.family_of[o])
    jobs[k, DUE], jobs[k, WEIGHT], jobs[k, LEFT] = state.due[at], state.weight[at], state.end_operation[at] - state.operation[c]
    jobs[k, READY], jobs[k, RELEASE], jobs[k, FAMILY] = state.ready[row, job], state.release[at], state.family_of[o]
    jobs[k, ELSEWHERE], jobs[k, WAIT], jobs[k, FOLLOWING], jobs[k, QUEUE] = _elsewhere(state, row, o, m), 0, 0, 0
    if state.operation[c] + 1 == state.end_operation[at]:
        return
    least, queue = np.int64(NOWHERE), np.int64(NOWHERE)
    for choice in range(state.first_choice[o + 1], state.end_choice[o + 1]):
        other = state.choices_offset[instance] + choice
        least, queue = min(least, state.duration[other]), min(queue, work[state.machine[other]])
    jobs[k, FOLLOWING], jobs[k, QUEUE] = least, queue


@kernel(borrow=True)
def _elsewhere(state: Any, row: Any, o: Any, machine: Any) -> Any:
    """Return how long from now operation o takes at least if it goes next to another machine, with set-up; or NOWHERE."""
    instance, best = state.instance[row], np.int64(NOWHERE)
    for choice in range(state.first_choice[o], state.end_choice[o]):
        c = state.choices_offset[instance] + choice
        m = state.machine[c]
        if m != machine:
            setup = setup_time(state, instance, m, state.family[row, m], state.family_of[o])
            best = min(best, max(np.int64(0), state.free[row, m] - state.now[row]) + setup + state.duration[c])
    return best


@kernel(borrow=True)
def _count_rivals(jobs: Any, count: Any) -> None:
    """Write the columns SAME and RIVALS of the listed actions that start an operation: other listed jobs on the same machine."""
    for k in range(count):
        same, rivals = 0, 0
        for other in range(count):
            if jobs[other, MACHINE] == jobs[k, MACHINE] and other != k:
                rivals += 1
                same += jobs[other, FAMILY] == jobs[k, FAMILY]
        jobs[k, SAME], jobs[k, RIVALS] = same, rivals
