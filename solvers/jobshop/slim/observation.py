"""The policy's observation of partial schedules: the context features of each job.

After Corsini, Porrello, Calderara and Dell'Amico (NeurIPS 2024, section 4).

As in the paper, an action is a job, whose next operation is appended to the sequence of its machine and starts as early as
possible (semi-active schedules). Of the paper's 11 context features, those that compare a job and its machine with the quartiles
of all are used. The means and one ratio are replaced by the difference between the operation's start and the earliest one, and by
the differences between the lower bounds implied by the job and by the machine and the largest such bounds, which measure how
critical both are. Differences of times are bounded, so that their range at 100 jobs is that known from training on 20.
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

_BOUND = np.float32(4.0)  # the difference, in mean durations, at which a bounded difference is half of its limit


class Tables(NamedTuple):
    """Data of S partial schedules of one instance of J jobs on M machines, in addition to the rows of the pool."""

    load: NDArray[np.int64]
    """[S, M] the work left of each machine: the sum of the durations of its unscheduled operations."""
    ready: NDArray[np.int64]
    """[S, J] the ends of the jobs' last scheduled operations, sorted ascending."""
    free: NDArray[np.int64]
    """[S, M] the ends of the machines' last scheduled operations, sorted ascending."""


def new_tables(shop: SlimInstance, schedules: int) -> Tables:
    """Allocate the tables of `schedules` partial schedules."""
    jobs, machines = len(shop.release), len(shop.load)
    load, ready, free = (np.zeros((schedules, width), np.int64) for width in (machines, jobs, machines))
    return Tables(load, ready, free)


@kernel
def fill_tables(state, row, shop, tables, s):
    """Fill the tables of schedule s from a row of the pool."""
    for m in range(len(shop.load)):
        tables.load[s, m] = 0
        _insert_time(tables.free, s, m, state.free[row, m])
    for j in range(len(shop.release)):
        _insert_time(tables.ready, s, j, state.ready[row, j])
        for i in range(state.next[row, j], shop.first[j + 1]):
            tables.load[s, shop.machine[i]] += shop.duration[i]


@kernel
def update(state, row, shop, tables, s, i, ready, free):
    """Update the tables of schedule s, in place, after operation i was scheduled.

    `ready` and `free` are the times from which its job and its machine were free before.
    """
    end = state.ready[row, state.job[state.operations_offset[state.instance[row]] + i]]
    tables.load[s, shop.machine[i]] -= shop.duration[i]
    _replace_sorted(tables.ready, s, ready, end)
    _replace_sorted(tables.free, s, free, end)


@kernel
def observe(state, row, shop, tables, s, lanes, begin):
    """Write operation, job and context of the lanes of schedule s, from lane `begin` on; return the lane after the last."""
    end, earliest, latest = begin, np.int64(2**62), np.int64(0)
    for j in range(len(shop.release)):
        i = state.next[row, j]
        if i < shop.first[j + 1]:
            lanes.job[end], lanes.operation[end] = j, i
            end += 1
            start = max(state.ready[row, j], state.free[row, shop.machine[i]])
            earliest, latest = min(earliest, start), max(latest, start + shop.rest[i])
    busiest, makespan = np.int64(0), tables.ready[s, -1]
    for m in range(len(shop.load)):
        busiest = max(busiest, state.free[row, m] + tables.load[s, m])
    scale, context = _BOUND * np.float32(shop.unit), lanes.context
    whole = np.float32(max(makespan, 1))
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
        context[7, at] = r / whole
        context[8, at] = _bounded(np.float32(start - earliest), scale)
        context[9, at] = _bounded(np.float32(latest - start - shop.rest[i]), scale)
        context[10, at] = _bounded(np.float32(busiest - free - tables.load[s, m]), scale)
    return end


@kernel(inline=True)
def _bounded(difference, scale):
    """Map a difference to -1..1, monotonically: +-scale to +-1/2."""
    return difference / (abs(difference) + scale)


@kernel
def _quartiles(table, s):
    """Return the quartiles of row s, sorted ascending, with linear interpolation."""
    return _quantile(table, s, np.float32(0.25)), _quantile(table, s, np.float32(0.5)), _quantile(table, s, np.float32(0.75))


@kernel
def _quantile(table, s, share):
    last = table.shape[1] - 1
    place = share * np.float32(last)
    low = int(place)
    high = min(low + 1, last)
    part = place - np.float32(low)
    a = np.float32(table[s, low])
    return a + part * (np.float32(table[s, high]) - a)


@kernel
def _insert_time(table, s, count, value):
    """Insert a value into the first `count` entries of row s, sorted ascending, in place."""
    while count > 0 and table[s, count - 1] > value:
        table[s, count] = table[s, count - 1]
        count -= 1
    table[s, count] = value


@kernel
def _replace_sorted(table, s, before, after):
    """Replace the entry `before` of row s, sorted ascending, by `after`, which is not smaller, in place."""
    at = 0
    while table[s, at] != before:
        at += 1
    last = table.shape[1] - 1
    while at < last and table[s, at + 1] < after:
        table[s, at] = table[s, at + 1]
        at += 1
    table[s, at] = after
