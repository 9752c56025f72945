"""The policy's observation of partial schedules: 11 context features of each job.

As in Corsini, Porrello, Calderara and Dell'Amico (NeurIPS 2024, section 4), an action is a job; its next operation is appended to
the sequence of its machine and starts as early as possible (semi-active schedules).

Features 0 to 7 are the paper's: they compare the ready time of the job with the time when its machine is free, and both with
their quartiles over all jobs and machines. The last three features replace the paper's means and one ratio. They compare
the start of the job's next operation with the earliest start of any job; the lower bound of the makespan that the job implies
with the largest bound of a job; and the bound that the machine implies with the largest bound of a machine. The last two measure
how critical the job and the machine are. Differences of times are bounded, so that their range with 100 jobs is that of training
with 20 jobs.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.jobshop.slim.instance import SlimInstance

__all__ = ["Tables", "fill_tables", "new_tables", "observe", "update"]

_HALF_RANGE = np.float32(4.0)  # the difference, in mean durations, that `_bounded` maps to 1/2


class Tables(NamedTuple):
    """Times of S partial schedules of one instance with J jobs and M machines; the pool does not have them in this form."""

    work_left: NDArray[np.int64]
    """[S, M] for each machine, the sum of the durations of its unscheduled operations."""
    ready: NDArray[np.int64]
    """[S, J] the times when the jobs' last scheduled operations end (release dates if there are none), sorted ascending."""
    free: NDArray[np.int64]
    """[S, M] the times when the machines' last scheduled operations end, sorted ascending."""


def new_tables(shop: SlimInstance, schedules: int) -> Tables:
    """Allocate the tables of `schedules` partial schedules."""
    jobs, machines = len(shop.release), len(shop.machine_work)
    work_left, ready, free = (np.zeros((schedules, width), np.int64) for width in (machines, jobs, machines))
    return Tables(work_left, ready, free)


@kernel
def fill_tables(state, row, shop, tables, s):
    """Fill the tables of schedule s from a row of the pool, in place."""
    for m in range(len(shop.machine_work)):
        tables.work_left[s, m] = 0
        _insert_time(tables.free, s, m, state.free[row, m])
    for j in range(len(shop.release)):
        _insert_time(tables.ready, s, j, state.ready[row, j])
        for i in range(state.next[row, j], shop.first[j + 1]):
            tables.work_left[s, shop.machine[i]] += shop.duration[i]


@kernel
def update(state, row, shop, tables, s, i, ready, free):
    """Update the tables of schedule s after operation i was scheduled in `row`, in place.

    ready, free: the times from which the job and the machine of i were free before that.
    """
    end = state.ready[row, state.job[state.operations_offset[state.instance[row]] + i]]
    tables.work_left[s, shop.machine[i]] -= shop.duration[i]
    _replace_sorted(tables.ready, s, ready, end)
    _replace_sorted(tables.free, s, free, end)


@kernel
def observe(state, row, shop, tables, s, lanes, begin):
    """Write the unfinished jobs of schedule s to `lanes`, from lane `begin` on: `operation`, `job` and `context`.

    Returns one past the last lane written.
    """
    end, earliest, latest = begin, np.int64(2**62), np.int64(0)
    for j in range(len(shop.release)):
        i = state.next[row, j]
        if i < shop.first[j + 1]:
            lanes.job[end], lanes.operation[end] = j, i
            end += 1
            start = max(state.ready[row, j], state.free[row, shop.machine[i]])
            earliest, latest = min(earliest, start), max(latest, start + shop.work_left[i])
    machine_bound, makespan = np.int64(0), tables.ready[s, -1]
    for m in range(len(shop.machine_work)):
        machine_bound = max(machine_bound, state.free[row, m] + tables.work_left[s, m])
    scale, context = _HALF_RANGE * np.float32(shop.unit), lanes.context
    present_makespan = np.float32(max(makespan, 1))
    r1, r2, r3 = _quartiles(tables.ready, s)
    f1, f2, f3 = _quartiles(tables.free, s)
    for at in range(begin, end):
        i = lanes.operation[at]
        m = shop.machine[i]
        ready, free = state.ready[row, lanes.job[at]], state.free[row, m]
        r, f, start = np.float32(ready), np.float32(free), max(ready, free)
        context[0, at] = _bounded(r - f, scale)
        context[1, at] = _bounded(r - r1, scale)
        context[2, at] = _bounded(r - r2, scale)
        context[3, at] = _bounded(r - r3, scale)
        context[4, at] = _bounded(f - f1, scale)
        context[5, at] = _bounded(f - f2, scale)
        context[6, at] = _bounded(f - f3, scale)
        context[7, at] = r / present_makespan
        context[8, at] = _bounded(np.float32(start - earliest), scale)
        context[9, at] = _bounded(np.float32(latest - start - shop.work_left[i]), scale)
        context[10, at] = _bounded(np.float32(machine_bound - free - tables.work_left[s, m]), scale)
    return end


@kernel(inline=True)
def _bounded(difference, scale):
    """Map a difference monotonically to -1..1; `scale` is mapped to 1/2, -scale to -1/2."""
    return difference / (abs(difference) + scale)


@kernel
def _quartiles(table, s):
    """Return the three quartiles of row s, which is sorted ascending, with linear interpolation."""
    return _quantile(table, s, np.float32(0.25)), _quantile(table, s, np.float32(0.5)), _quantile(table, s, np.float32(0.75))


@kernel
def _quantile(table, s, share):
    """Return the quantile `share` (0 to 1) of row s, which is sorted ascending, with linear interpolation."""
    last = table.shape[1] - 1
    place = share * np.float32(last)
    low = int(place)
    high = min(low + 1, last)
    part = place - np.float32(low)
    a = np.float32(table[s, low])
    return a + part * (np.float32(table[s, high]) - a)


@kernel
def _insert_time(table, s, count, value):
    """Insert a value into the first `count` entries of row s, which are sorted ascending, in place."""
    while count > 0 and table[s, count - 1] > value:
        table[s, count] = table[s, count - 1]
        count -= 1
    table[s, count] = value


@kernel
def _replace_sorted(table, s, before, after):
    """Replace the value `before` in row s by `after`, which is not smaller, in place; the row stays sorted ascending."""
    at = 0
    while table[s, at] != before:
        at += 1
    last = table.shape[1] - 1
    while at < last and table[s, at + 1] < after:
        table[s, at] = table[s, at + 1]
        at += 1
    table[s, at] = after
