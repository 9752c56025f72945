"""What the agent sees of a state of the interval environment, and which decisions are left to it.

Tokens are those of Tassel, Gebser and Schekotihin (ICAPS 2023, section 4), with what network.py says is added.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.jobshop.environments.intervals.transitions import State, clock
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["ABLE", "FEATURES", "KEYS", "LISTED", "NEXT", "SLOTS", "WINDOW", "View", "new_view", "survey", "tokens"]

WINDOW = 5
"""Intervals of each job that are seen: the one fixed last, the next one, and those behind (the paper's)."""
SLOTS = WINDOW + 2
"""Tokens of a job: its start, the window, its end."""
NEXT = 2
"""The slot of a job's next operation."""
FEATURES = 5
"""Numbers of a token: whether it is fixed, whether it can start now, its start less the time, its duration, its share."""
_FIXED, _STARTS, _TIME, _DURATION, _SHARE = range(FEATURES)
ABLE, LISTED, KEYS = range(3)  # what `counts` of a View holds


class View(NamedTuple):
    """Scratch for one row at a time of instances of up to J jobs and M machines; `survey` and `tokens` fill it."""

    now: NDArray[np.int64]
    """[1] the time."""
    counts: NDArray[np.int64]
    """[3] ABLE: L, jobs that can start now; LISTED: n, jobs listed; KEYS: k."""
    jobs: NDArray[np.int32]
    """[J] the jobs listed: the L first, then others that will want one of their machines."""
    at: NDArray[np.int32]
    """[J] where a job is listed, -1: nowhere."""
    x: NDArray[np.float32]
    """[J, SLOTS, FEATURES] the tokens of those that are listed."""
    there: NDArray[np.bool_]
    """[J, SLOTS] whether there is such a token."""
    keys: NDArray[np.int32]
    """[J * WINDOW] tokens, listed job * SLOTS + slot: operations that compete for a machine, machine after machine."""
    key_begin: NDArray[np.int32]
    """[J] for each of the L jobs where the competitors for its machine begin in `keys`, itself among them."""
    key_end: NDArray[np.int32]
    machine_begin: NDArray[np.int32]
    """[M] scratch: where a machine's keys begin, -1: not listed yet."""
    machine_end: NDArray[np.int32]


def new_view(instances: list[JobShopInstance]) -> View:
    """Memory for rows of these instances."""
    jobs, machines = max(i.jobs for i in instances), max(i.machines for i in instances)
    most = jobs * WINDOW
    return View(
        now=np.zeros(1, np.int64), counts=np.zeros(3, np.int64), jobs=np.zeros(jobs, np.int32), at=np.zeros(jobs, np.int32),
        x=np.zeros((jobs, SLOTS, FEATURES), np.float32), there=np.zeros((jobs, SLOTS), np.bool_), keys=np.zeros(most, np.int32),
        key_begin=np.zeros(jobs, np.int32), key_end=np.zeros(jobs, np.int32), machine_begin=np.zeros(machines, np.int32),
        machine_end=np.zeros(machines, np.int32),
    )  # fmt: skip


@kernel
def survey(state: State, row: int, view: View) -> None:
    """Fill `now` and `jobs[:L]`, by number, of a row whose episode is not over."""
    instance = state.instance[row]
    now, _ = clock(state, row)
    count = 0
    for j in range(state.jobs[instance]):
        i = state.next[row, j]
        if i < state.closing[state.jobs_start[instance] + j] and state.start[row, i] == now:
            view.jobs[count] = j
            count += 1
    view.now[0], view.counts[ABLE] = now, count


@kernel
def tokens(state: State, row: int, view: View) -> None:
    """After `survey`: list the competitors and write their tokens.

    Those compete that are in their job's window and can start on the machine within a mean duration of the end of what can
    start there now.
    """
    instance = state.instance[row]
    base, machines_start, unit = state.operations_start[instance], state.machines_start[instance], state.unit[instance]
    view.at[:] = -1
    view.machine_begin[:] = -1
    listed = view.counts[ABLE]
    for c in range(listed):
        view.at[view.jobs[c]] = c
    filled = 0
    for c in range(view.counts[ABLE]):
        m = state.machine[base + state.next[row, view.jobs[c]]]
        if view.machine_begin[m] < 0:
            view.machine_begin[m] = filled
            soon = view.now[0] + _longest(state, row, view, m) + unit
            for k in range(state.begin[machines_start + m], state.end[machines_start + m]):
                other = state.members[base + k]
                job = state.job[base + other]
                ahead = other - state.next[row, job]
                if 0 <= ahead < WINDOW - 1 and state.start[row, other] < soon:
                    if view.at[job] < 0:
                        view.at[job], view.jobs[listed] = listed, job
                        listed += 1
                    view.keys[filled] = view.at[job] * SLOTS + NEXT + ahead
                    filled += 1
            view.machine_end[m] = filled
        view.key_begin[c], view.key_end[c] = view.machine_begin[m], view.machine_end[m]
    view.counts[LISTED], view.counts[KEYS] = listed, filled
    for c in range(listed):
        _describe(state, row, view, c)


@kernel
def _longest(state: State, row: int, view: View, machine: int) -> int:
    """The longest duration of what can start on a machine now."""
    base, longest = state.operations_start[state.instance[row]], 0
    for c in range(view.counts[ABLE]):
        i = base + state.next[row, view.jobs[c]]
        if state.machine[i] == machine:
            longest = max(longest, state.duration[i])
    return longest


@kernel
def _describe(state: State, row: int, view: View, c: int) -> None:
    """The tokens of the c-th listed job. Times are in mean durations, on a logarithmic scale where they may be long.

    The share of an operation is the work that its machine has still to start, of the span from now to the latest end that
    the bounds allow; that of the job's end is the job's own time to its end; that of its start the operations left, of all.
    """
    instance, job = state.instance[row], view.jobs[c]
    at, base = state.jobs_start[instance] + job, state.operations_start[instance]
    opening, closing, following = state.opening[at], state.closing[at], state.next[row, job]
    now, unit, x = view.now[0], state.unit[instance], view.x[c]
    span = max(1.0, state.estimate[row] - now)
    x[:] = 0.0
    x[0, _FIXED], x[0, _TIME] = 1.0, _signed_log((state.start[row, opening] - now) / unit)
    x[0, _SHARE] = (closing - following) / (closing - opening)
    view.there[c, 0] = view.there[c, SLOTS - 1] = True
    for slot in range(1, WINDOW + 1):
        i = following + slot - NEXT
        there = opening <= i < closing
        view.there[c, slot] = there
        if there:
            start = state.start[row, i] - now
            x[slot, _FIXED], x[slot, _STARTS] = slot < NEXT, slot == NEXT and start == 0
            x[slot, _TIME], x[slot, _DURATION] = _signed_log(start / unit), state.duration[base + i] / unit
            x[slot, _SHARE] = state.work[row, state.machine[base + i]] / span
    end = state.start[row, closing - 1] + state.duration[base + closing - 1] - now
    x[SLOTS - 1, _TIME], x[SLOTS - 1, _DURATION] = _signed_log(end / unit), np.log(1.0 + closing - following)
    x[SLOTS - 1, _SHARE] = end / span


@kernel(inline=True)
def _signed_log(value: float) -> Any:
    return np.log(1.0 + value) if value >= 0.0 else -np.log(1.0 - value)
