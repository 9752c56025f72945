"""The agent's observation of a state of the interval environment.

Tokens are those of Tassel, Gebser and Schekotihin (ICAPS 2023, section 4), with the additions that network.py names.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.jobshop.environments.intervals.transitions import State, clock
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["FEATURES", "KEYS", "LISTED", "NEXT", "SLOTS", "STARTABLE", "WINDOW"]
__all__ += ["Observation", "list_startable", "new_observation", "write_tokens"]

WINDOW = 5
"""Intervals of each job that are observed: the one fixed last, the next one, and those after it (the paper's number)."""
SLOTS = WINDOW + 2
"""Tokens of a job: one for its start, the window, one for its end."""
NEXT = 2
"""The slot of a job's next operation."""
FEATURES = 5
"""Features of a token: whether it is fixed, whether it can start now, its start minus the present time, its duration, its share
(`_write_job_tokens`)."""
_FIXED, _STARTS, _TIME, _DURATION, _SHARE = range(FEATURES)
STARTABLE, LISTED, KEYS = range(3)  # entries of `Observation.counts`


class Observation(NamedTuple):
    """Working memory for one row at a time of instances of up to J jobs and M machines.

    `list_startable` and `write_tokens` fill it.
    """

    now: NDArray[np.int64]
    """[1] the present time."""
    counts: NDArray[np.int64]
    """[3] STARTABLE: L, jobs that can start now; LISTED: jobs listed; KEYS: entries of `keys`."""
    jobs: NDArray[np.int32]
    """[J] the jobs listed: first the L that can start, then others that will need one of their machines."""
    position: NDArray[np.int32]
    """[J] the index of a job in `jobs`, -1: not listed."""
    x: NDArray[np.float32]
    """[J, SLOTS, FEATURES] the tokens of the listed jobs."""
    there: NDArray[np.bool_]
    """[J, SLOTS] whether the token exists."""
    keys: NDArray[np.int32]
    """[J * WINDOW] the operations that compete for a machine, grouped by machine, as listed job * SLOTS + slot."""
    key_begin: NDArray[np.int32]
    """[J] for each of the L jobs, the first index in `keys` of the competitors for its machine, itself included."""
    key_end: NDArray[np.int32]
    """[J] the index after the last one."""
    machine_begin: NDArray[np.int32]
    """[M] scratch: the first index of a machine's keys, -1: not listed yet."""
    machine_end: NDArray[np.int32]
    """[M] scratch: the index after the last one."""


def new_observation(instances: list[JobShopInstance]) -> Observation:
    """Allocate an Observation for rows of these instances."""
    jobs, machines = max(i.jobs for i in instances), max(i.machines for i in instances)
    most = jobs * WINDOW
    return Observation(
        now=np.zeros(1, np.int64), counts=np.zeros(3, np.int64), jobs=np.zeros(jobs, np.int32), position=np.zeros(jobs, np.int32),
        x=np.zeros((jobs, SLOTS, FEATURES), np.float32), there=np.zeros((jobs, SLOTS), np.bool_), keys=np.zeros(most, np.int32),
        key_begin=np.zeros(jobs, np.int32), key_end=np.zeros(jobs, np.int32), machine_begin=np.zeros(machines, np.int32),
        machine_end=np.zeros(machines, np.int32),
    )  # fmt: skip


@kernel
def list_startable(state: State, row: int, observation: Observation) -> None:
    """Write the present time and the L jobs that can start, ascending; the row's episode must not have ended."""
    instance = state.instance[row]
    now, _ = clock(state, row)
    count = 0
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.end_operation[state.jobs_offset[instance] + j] and state.start_time[row, i] == now:
            observation.jobs[count] = j
            count += 1
    observation.now[0], observation.counts[STARTABLE] = now, count


@kernel
def write_tokens(state: State, row: int, observation: Observation) -> None:
    """List the competitors, and write their tokens; call it after `list_startable`.

    An operation competes for a machine if it is in the window of its job, and can start less than a mean duration after the
    longest of the operations that can start there now would end.
    """
    instance = state.instance[row]
    base, machines_start, unit = state.operations_offset[instance], state.machines_offset[instance], state.unit[instance]
    observation.position[:] = -1
    observation.machine_begin[:] = -1
    listed = observation.counts[STARTABLE]
    for c in range(listed):
        observation.position[observation.jobs[c]] = c
    filled = 0
    for c in range(observation.counts[STARTABLE]):
        m = state.machine[base + state.next[row, observation.jobs[c]]]
        if observation.machine_begin[m] < 0:
            observation.machine_begin[m] = filled
            soon = observation.now[0] + _longest_startable(state, row, observation, m) + unit
            for k in range(state.first_member[machines_start + m], state.end_member[machines_start + m]):
                other = state.members[base + k]
                job = state.job[base + other]
                offset = other - state.next[row, job]
                if 0 <= offset < WINDOW - 1 and state.start_time[row, other] < soon:
                    if observation.position[job] < 0:
                        observation.position[job], observation.jobs[listed] = listed, job
                        listed += 1
                    observation.keys[filled] = observation.position[job] * SLOTS + NEXT + offset
                    filled += 1
            observation.machine_end[m] = filled
        observation.key_begin[c], observation.key_end[c] = observation.machine_begin[m], observation.machine_end[m]
    observation.counts[LISTED], observation.counts[KEYS] = listed, filled
    for c in range(listed):
        _write_job_tokens(state, row, observation, c)


@kernel
def _longest_startable(state: State, row: int, observation: Observation, machine: int) -> int:
    """Return the longest duration of the operations that can start on a machine now."""
    base, longest = state.operations_offset[state.instance[row]], 0
    for c in range(observation.counts[STARTABLE]):
        i = base + state.next[row, observation.jobs[c]]
        if state.machine[i] == machine:
            longest = max(longest, state.duration[i])
    return longest


@kernel
def _write_job_tokens(state: State, row: int, observation: Observation, c: int) -> None:
    """Write the tokens of the c-th listed job. Times are in mean durations, on a logarithmic scale if they may be long.

    Let the span be the time from now to the lower bound of the makespan. The share of an operation is the work that its machine
    has still to start, divided by the span; that of the job's end is the time until that end, divided by the span; that of the
    job's start is the fraction of its operations that are left.
    """
    instance, job = state.instance[row], observation.jobs[c]
    index, base = state.jobs_offset[instance] + job, state.operations_offset[instance]
    opening, closing, following = state.first_operation[index], state.end_operation[index], state.next[row, job]
    now, unit, x = observation.now[0], state.unit[instance], observation.x[c]
    span = max(1.0, state.estimate[row] - now)
    x[:] = 0.0
    x[0, _FIXED], x[0, _TIME] = 1.0, _signed_log((state.start_time[row, opening] - now) / unit)
    x[0, _SHARE] = (closing - following) / (closing - opening)
    observation.there[c, 0] = observation.there[c, SLOTS - 1] = True
    for slot in range(1, WINDOW + 1):
        i = following + slot - NEXT
        there = opening <= i < closing
        observation.there[c, slot] = there
        if there:
            start = state.start_time[row, i] - now
            x[slot, _FIXED], x[slot, _STARTS] = slot < NEXT, slot == NEXT and start == 0
            x[slot, _TIME], x[slot, _DURATION] = _signed_log(start / unit), state.duration[base + i] / unit
            x[slot, _SHARE] = state.work[row, state.machine[base + i]] / span
    end = state.start_time[row, closing - 1] + state.duration[base + closing - 1] - now
    x[SLOTS - 1, _TIME], x[SLOTS - 1, _DURATION] = _signed_log(end / unit), np.log(1.0 + closing - following)
    x[SLOTS - 1, _SHARE] = end / span


@kernel(inline=True)
def _signed_log(value: float) -> Any:
    return np.log(1.0 + value) if value >= 0.0 else -np.log(1.0 - value)
