"""What the policy sees of partial schedules while they are built: the context of each job.

After Corsini, Porrello, Calderara and Dell'Amico (NeurIPS 2024, section 4).

As in the paper an action is a job, whose next operation is put behind all that its machine does so far, as early as it can
start (semi-active schedules). Of its 11 context features those that compare a job and its machine with the quartiles of all
are kept; instead of the means and one ratio there are the operation's start beside the earliest one, and the lower bounds that
follow for the job and for the machine beside the largest ones, which say how critical both are. Differences of times are
bounded, so that what the network sees at 100 jobs it has seen at 20.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.jobshop.slim.instance import SlimInstance

__all__ = ["Tables", "new_tables", "observe", "tabulate", "update"]

_BOUND = np.float32(4.0)  # mean durations at which a difference counts half of what it can at most


class Tables(NamedTuple):
    """What is kept of S partial schedules of one instance of J jobs on M machines, beside the rows of the pool."""

    load: NDArray[np.int64]
    """[S, M] durations of what each machine has still to do."""
    ready: NDArray[np.int64]
    """[S, J] when the jobs' last operations end, rising."""
    free: NDArray[np.int64]
    """[S, M] when the machines' last operations end, rising."""


def new_tables(shop: SlimInstance, schedules: int) -> Tables:
    """Memory for so many partial schedules."""
    jobs, machines = len(shop.release), len(shop.load)
    load, ready, free = (np.zeros((schedules, width), np.int64) for width in (machines, jobs, machines))
    return Tables(load, ready, free)


@kernel
def tabulate(state, row, shop, tables, s):
    """Fill the tables of schedule s, which stands in a row of the pool."""
    for m in range(len(shop.load)):
        tables.load[s, m] = 0
        _insert(tables.free, s, m, state.free[row, m])
    for j in range(len(shop.release)):
        _insert(tables.ready, s, j, state.ready[row, j])
        for i in range(state.next[row, j], shop.first[j + 1]):
            tables.load[s, shop.machine[i]] += shop.duration[i]


@kernel
def update(state, row, shop, tables, s, i, ready, free):
    """Keep the tables of schedule s right after operation i was placed, whose job was `ready` and whose machine `free` before."""
    end = state.ready[row, state.job[state.operations_start[state.instance[row]] + i]]
    tables.load[s, shop.machine[i]] -= shop.duration[i]
    _raise(tables.ready, s, ready, end)
    _raise(tables.free, s, free, end)


@kernel
def observe(state, row, shop, tables, s, lanes, begin):
    """The lanes of schedule s, from `begin` on, with operation, job and context; returns where they end."""
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
    """A float32 in -1..1 that grows with the difference."""
    return difference / (abs(difference) + scale)


@kernel
def _quartiles(table, s):
    """The quartiles of a sorted row, between its entries where they fall there."""
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
def _insert(table, s, count, value):
    """Into the first `count` entries of row s, which rise."""
    while count > 0 and table[s, count - 1] > value:
        table[s, count] = table[s, count - 1]
        count -= 1
    table[s, count] = value


@kernel
def _raise(table, s, before, after):
    """Replace an entry of a sorted row by one that is not smaller."""
    at = 0
    while table[s, at] != before:
        at += 1
    last = table.shape[1] - 1
    while at < last and table[s, at + 1] < after:
        table[s, at] = table[s, at + 1]
        at += 1
    table[s, at] = after
