"""The agent's observation of a state of the environment "intervals": tokens of the jobs that can start or compete with these.

Tokens are those of Tassel, Gebser and Schekotihin (ICAPS 2023, section 4), with the changes that CpAgentNetwork (network.py)
names. An operation that is not fixed has a lower bound of its start.
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
"""The number of operations of each job that are observed: the last fixed one, the next one, and three more (as in the paper)."""
SLOTS = WINDOW + 2
"""The number of tokens of a job: one for its start, those of the window, one for its end. A slot is an index of these."""
NEXT = 2
"""The slot of a job's next operation."""
FEATURES = 5
"""The number of features of a token: whether it is fixed, whether it can start now, its start minus the present time, its
duration, and its share, which `_write_job_tokens` defines."""
_FIXED, _STARTS, _TIME, _DURATION, _SHARE = range(FEATURES)
STARTABLE, LISTED, KEYS = range(3)
"""Indices into `Observation.counts`."""


class Observation(NamedTuple):
    """The observation of one row, of instances with up to J jobs and M machines.

    `list_startable` and `write_tokens` overwrite it for each row.
    """

    now: NDArray[np.int64]
    """[1] the present time."""
    counts: NDArray[np.int64]
    """[3] STARTABLE: the number L of jobs that can start now; LISTED: that of jobs in `jobs`; KEYS: that of entries of `keys`."""
    jobs: NDArray[np.int32]
    """[J] the listed jobs: first the L that can start, then others whose operations compete for a machine with those."""
    position: NDArray[np.int32]
    """[J] the index of each job in `jobs`; -1 if it is not listed."""
    x: NDArray[np.float32]
    """[J, SLOTS, FEATURES] the tokens of the listed jobs."""
    there: NDArray[np.bool_]
    """[J, SLOTS] whether the token exists."""
    keys: NDArray[np.int32]
    """[J * WINDOW] the operations that compete for a machine, grouped by machine, as (index in `jobs`) * SLOTS + slot."""
    key_begin: NDArray[np.int32]
    """[J] for each of the L jobs, the index in `keys` of the first operation that competes for its machine; its own is among
    them."""
    key_end: NDArray[np.int32]
    """[J] for each of the L jobs, one past the index in `keys` of the last operation that competes for its machine."""
    machine_begin: NDArray[np.int32]
    """[M] a work array: the index in `keys` of the machine's first operation; -1 if none is listed yet."""
    machine_end: NDArray[np.int32]
    """[M] a work array: one past the index in `keys` of the machine's last operation."""


def new_observation(instances: list[JobShopInstance]) -> Observation:
    """Allocate an Observation for rows of `instances`."""
    jobs, machines = max(i.jobs for i in instances), max(i.machines for i in instances)
    max_keys = jobs * WINDOW
    return Observation(
        now=np.zeros(1, np.int64), counts=np.zeros(3, np.int64), jobs=np.zeros(jobs, np.int32), position=np.zeros(jobs, np.int32),
        x=np.zeros((jobs, SLOTS, FEATURES), np.float32), there=np.zeros((jobs, SLOTS), np.bool_), keys=np.zeros(max_keys,
        np.int32), key_begin=np.zeros(jobs, np.int32), key_end=np.zeros(jobs, np.int32), machine_begin=np.zeros(machines,
        np.int32), machine_end=np.zeros(machines, np.int32),
    )  # fmt: skip


@kernel
def list_startable(state: State, row: int, observation: Observation) -> None:
    """Write the present time and the jobs that can start, ascending, to `observation`; the row's episode must not have ended."""
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
    """Write the competing operations and the tokens of their jobs to `observation`; call it after `list_startable`.

    Consider a machine on which an operation can start now, and let t be the time at which the longest of these operations would
    end. An operation competes for the machine if it is in the window of its job, is not fixed, and can start less than a mean
    duration after t.
    """
    instance = state.instance[row]
    base, machine_base, unit = state.operations_offset[instance], state.machines_offset[instance], state.unit[instance]
    observation.position[:] = -1
    observation.machine_begin[:] = -1
    listed = observation.counts[STARTABLE]
    for c in range(listed):
        observation.position[observation.jobs[c]] = c
    key_count = 0
    for c in range(observation.counts[STARTABLE]):
        m = state.machine[base + state.next[row, observation.jobs[c]]]
        if observation.machine_begin[m] < 0:
            observation.machine_begin[m] = key_count
            latest_start = observation.now[0] + _longest_startable(state, row, observation, m) + unit
            for k in range(state.first_member[machine_base + m], state.end_member[machine_base + m]):
                other = state.members[base + k]
                job = state.job[base + other]
                offset = other - state.next[row, job]
                if 0 <= offset < WINDOW - 1 and state.start_time[row, other] < latest_start:
                    if observation.position[job] < 0:
                        observation.position[job], observation.jobs[listed] = listed, job
                        listed += 1
                    observation.keys[key_count] = observation.position[job] * SLOTS + NEXT + offset
                    key_count += 1
            observation.machine_end[m] = key_count
        observation.key_begin[c], observation.key_end[c] = observation.machine_begin[m], observation.machine_end[m]
    observation.counts[LISTED], observation.counts[KEYS] = listed, key_count
    for c in range(listed):
        _write_job_tokens(state, row, observation, c)


@kernel
def _longest_startable(state: State, row: int, observation: Observation, machine: int) -> int:
    """Return the longest duration of the operations that can start now on a machine."""
    base, longest = state.operations_offset[state.instance[row]], 0
    for c in range(observation.counts[STARTABLE]):
        i = base + state.next[row, observation.jobs[c]]
        if state.machine[i] == machine:
            longest = max(longest, state.duration[i])
    return longest


@kernel
def _write_job_tokens(state: State, row: int, observation: Observation, c: int) -> None:
    """Write the tokens of the c-th listed job. Times are in mean durations; starts and ends are on a logarithmic scale.

    Let the span be the time from now to the lower bound of the makespan. The share of an operation's token is the sum of the
    durations of all operations of the same machine that are not fixed, divided by the span. The share of the end token is the
    time from now to the job's end, divided by the span. The share of the start token is the fraction of the job's operations that
    are not fixed. The duration of the end token is log(1 + the number of the job's operations that are not fixed).
    """
    instance, job = state.instance[row], observation.jobs[c]
    index, base = state.jobs_offset[instance] + job, state.operations_offset[instance]
    first, end_operation, following = state.first_operation[index], state.end_operation[index], state.next[row, job]
    now, unit, x = observation.now[0], state.unit[instance], observation.x[c]
    span = max(1.0, state.estimate[row] - now)
    x[:] = 0.0
    x[0, _FIXED], x[0, _TIME] = 1.0, _signed_log((state.start_time[row, first] - now) / unit)
    x[0, _SHARE] = (end_operation - following) / (end_operation - first)
    observation.there[c, 0] = observation.there[c, SLOTS - 1] = True
    for slot in range(1, WINDOW + 1):
        i = following + slot - NEXT
        there = first <= i < end_operation
        observation.there[c, slot] = there
        if there:
            start = state.start_time[row, i] - now
            x[slot, _FIXED], x[slot, _STARTS] = slot < NEXT, slot == NEXT and start == 0
            x[slot, _TIME], x[slot, _DURATION] = _signed_log(start / unit), state.duration[base + i] / unit
            x[slot, _SHARE] = state.work[row, state.machine[base + i]] / span
    end = state.start_time[row, end_operation - 1] + state.duration[base + end_operation - 1] - now
    x[SLOTS - 1, _TIME], x[SLOTS - 1, _DURATION] = _signed_log(end / unit), np.log(1.0 + end_operation - following)
    x[SLOTS - 1, _SHARE] = end / span


@kernel(inline=True)
def _signed_log(value: float) -> Any:
    """Return log(1 + |value|) with the sign of `value`."""
    return np.log(1.0 + value) if value >= 0.0 else -np.log(1.0 - value)
