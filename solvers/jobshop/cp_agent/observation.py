"""What the agent sees of a state of the simulator, and which decisions are left to it.

Not every step is a decision. A job that can start now and end before anything else can start on its machine may as well
start: every schedule in which it does not can be changed into one that is no worse, so `survey` calls it forced. Waiting is
offered only where each job that can start now would keep a later one from its machine. What remains are the decisions of
active schedules, among which is an optimal one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["DECIDE", "DONE", "FEATURES", "NEXT", "SLOTS", "WINDOW", "View", "begin_view", "fixed", "new_view", "survey", "tokens"]

WINDOW = 5
"""Intervals of each job that are seen: the one fixed last, the next one, and those behind (the paper's)."""
SLOTS = WINDOW + 2
"""Tokens of a job: its start, the window, its end."""
NEXT = 2
"""The slot of a job's next operation."""
FEATURES = 5
"""Numbers of a token: whether it is fixed, whether it can start now, its start less the time, its duration, its share."""
DONE, DECIDE = -1, -2  # what `survey` returns besides a forced job
_NEVER = 2**62


class View(NamedTuple):
    """Scratch for one row at a time of instances of up to J jobs and M machines; `survey` and `tokens` fill it."""

    now: NDArray[np.int64]
    """[2] the time, the next time at which another job can start (2**62: none)."""
    counts: NDArray[np.int64]
    """[4] L jobs that can start now, n jobs listed, k keys, 1 where waiting is offered."""
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
    work: NDArray[np.int64]
    """[M] durations of what each machine has still to start."""
    unit: NDArray[np.float64]
    """[1] the mean duration of the instance's operations."""


def new_view(instances: list[JobShopInstance]) -> View:
    """Memory for rows of these instances."""
    jobs, machines = max(i.jobs for i in instances), max(i.machines for i in instances)
    most = jobs * WINDOW
    return View(
        now=np.zeros(2, np.int64), counts=np.zeros(4, np.int64), jobs=np.zeros(jobs, np.int32), at=np.zeros(jobs, np.int32),
        x=np.zeros((jobs, SLOTS, FEATURES), np.float32), there=np.zeros((jobs, SLOTS), np.bool_), keys=np.zeros(most, np.int32),
        key_begin=np.zeros(jobs, np.int32), key_end=np.zeros(jobs, np.int32), machine_begin=np.zeros(machines, np.int32),
        machine_end=np.zeros(machines, np.int32), work=np.zeros(machines, np.int64), unit=np.zeros(1),
    )  # fmt: skip


@kernel
def begin_view(state, row, view):
    """Take up a row: what does not follow from the present decision alone. Call `fixed` for every operation fixed since."""
    instance = state.instance[row]
    base, total = state.operation_at[instance], 0
    view.work[:] = 0
    for j in range(state.jobs[instance]):
        at = state.job_at[instance] + j
        for i in range(state.opening[at], state.closing[at]):
            total += state.duration[base + i]
            if i >= state.next[row, j]:
                view.work[state.machine[base + i]] += state.duration[base + i]
    view.unit[0] = max(1e-9, total / state.operations[instance])


@kernel
def fixed(state, row, view, job):
    """Note that a job's next operation is about to be fixed."""
    i = state.operation_at[state.instance[row]] + state.next[row, job]
    view.work[state.machine[i]] -= state.duration[i]


@kernel
def survey(state, row, view):
    """What the row asks for: DONE, DECIDE, or the number of a job that may start now without a decision.

    With DECIDE, `now`, `jobs[:L]` and whether waiting is offered are filled in.
    """
    instance = state.instance[row]
    jobs, base = state.jobs[instance], state.operation_at[instance]
    now, then, count = _NEVER, _NEVER, 0
    for j in range(jobs):
        i = state.next[row, j]
        if i < state.closing[state.job_at[instance] + j]:
            at = state.start[row, i]
            if at < now:
                now, then, count = at, now, 0
            elif now < at < then:
                then = at
            if at == now:
                view.jobs[count] = j
                count += 1
    if count == 0:
        return DONE
    waiting = then < _NEVER
    for c in range(count):
        i = state.next[row, view.jobs[c]]
        rival, later = _rivals(state, row, base, state.machine_at[instance], i, now)
        if not rival:
            return view.jobs[c]
        waiting = waiting and later
    view.now[0], view.now[1] = now, then
    view.counts[0], view.counts[3] = count, waiting
    return DECIDE


@kernel
def _rivals(state, row, base, machine_at, i, now):
    """Whether something else can start on i's machine before i, started now, would end; and whether such a thing comes later."""
    m, end = machine_at + state.machine[base + i], now + state.duration[base + i]
    rival = False
    for k in range(state.begin[m], state.end[m]):
        other = state.members[base + k]
        if other != i and other >= state.next[row, state.job[base + other]]:
            at = state.start[row, other]
            if at < end:
                rival = True
                if at > now:
                    return True, True
    return rival, False


@kernel
def tokens(state, row, view):
    """After `survey` with DECIDE: list the competitors and write their tokens.

    Those compete that are in their job's window and can start on the machine within a mean duration of the end of what can
    start there now.
    """
    instance = state.instance[row]
    base, machine_at = state.operation_at[instance], state.machine_at[instance]
    view.at[:] = -1
    view.machine_begin[:] = -1
    listed = view.counts[0]
    for c in range(listed):
        view.at[view.jobs[c]] = c
    filled = 0
    for c in range(view.counts[0]):
        m = state.machine[base + state.next[row, view.jobs[c]]]
        if view.machine_begin[m] < 0:
            view.machine_begin[m] = filled
            soon = view.now[0] + _longest(state, row, view, m) + view.unit[0]
            for k in range(state.begin[machine_at + m], state.end[machine_at + m]):
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
    view.counts[1], view.counts[2] = listed, filled
    for c in range(listed):
        _describe(state, row, view, c)


@kernel
def _longest(state, row, view, machine):
    """The longest duration of what can start on a machine now."""
    base, longest = state.operation_at[state.instance[row]], 0
    for c in range(view.counts[0]):
        i = base + state.next[row, view.jobs[c]]
        if state.machine[i] == machine:
            longest = max(longest, state.duration[i])
    return longest


@kernel
def _describe(state, row, view, c):
    """The tokens of the c-th listed job. Times are in mean durations, on a logarithmic scale where they may be long.

    The share of an operation is the work that its machine has still to start, of the span from now to the latest end that
    the bounds allow; that of the job's end is the job's own time to its end; that of its start the operations left, of all.
    """
    instance, job = state.instance[row], view.jobs[c]
    at, base = state.job_at[instance] + job, state.operation_at[instance]
    opening, closing, following = state.opening[at], state.closing[at], state.next[row, job]
    now, unit, x = view.now[0], view.unit[0], view.x[c]
    span = max(1.0, state.estimate[row] - now)
    x[:] = 0.0
    x[0, 0], x[0, 2] = 1.0, _signed_log((state.start[row, opening] - now) / unit)
    x[0, 4] = (closing - following) / (closing - opening)
    view.there[c, 0] = view.there[c, SLOTS - 1] = True
    for slot in range(1, WINDOW + 1):
        i = following + slot - NEXT
        there = opening <= i < closing
        view.there[c, slot] = there
        if there:
            start = state.start[row, i] - now
            x[slot, 0], x[slot, 1] = slot < NEXT, slot == NEXT and start == 0
            x[slot, 2], x[slot, 3] = _signed_log(start / unit), state.duration[base + i] / unit
            x[slot, 4] = view.work[state.machine[base + i]] / span
    end = state.start[row, closing - 1] + state.duration[base + closing - 1] - now
    x[SLOTS - 1, 2], x[SLOTS - 1, 3] = _signed_log(end / unit), np.log(1.0 + closing - following)
    x[SLOTS - 1, 4] = end / span


@kernel(inline=True)
def _signed_log(value):
    return np.log(1.0 + value) if value >= 0.0 else -np.log(1.0 - value)
