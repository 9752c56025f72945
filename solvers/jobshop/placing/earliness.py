"""Kernels that shift operations of a complete schedule later, to reduce the earliness of jobs; sequences do not change.

Units whose operations may wait for each other, or are resumable, are shifted operation by operation, others as a whole. Names of
variables are as in gaps.py; `successor`, int64 [O], is the next operation on the machine of each operation, or -1.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

import numpy as np

from corl.jit import kernel
from corl.kernels.heap import heap_pop, heap_push
from corl.problems.jobshop.rules import FOREVER
from corl.solvers.jobshop.placing.breaks import end_of, latest_fit, latest_opening, latest_start
from corl.solvers.jobshop.placing.gaps import setup
from corl.solvers.jobshop.placing.resources import occupy_for, previous_end

__all__ = ["shift_later"]


@kernel(shared=True)
def shift_later(shop, plan):
    """Shift units later to reduce the earliness of their jobs, in place, in descending order of their starts.

    The last unit of a job is shifted up to the job's `shop.early`, other units up to the job's next unit. The sequences of the
    machines do not change; units that contain a fixed operation are not shifted.
    """
    units = len(shop.unit) - 1
    keys, queue, count = np.empty(units, np.int64), np.empty(units, np.int64), 0
    for u in range(units):
        count = heap_push(keys, queue, count, -plan.start[shop.unit[u]], u, True)
    successor = np.full(len(plan.choice), -1)
    for m in range(len(plan.sequence_length)):
        for p in range(plan.sequence_offset[m], plan.sequence_offset[m] + plan.sequence_length[m] - 1):
            successor[plan.sequences[p]] = plan.sequences[p + 1]
    while count > 0:
        u = queue[0]
        count = heap_pop(keys, queue, count, True)
        a, b = shop.unit[u], shop.unit[u + 1]
        waits = True
        for i in range(a + 1, b):
            waits = waits and not shop.no_wait[i]
        if waits and (b > a + 1 or shop.resumable[a]):
            if shop.fixed_start[a] < 0:  # blocking and fixed operations do not go together
                _shift_each(shop, plan, successor, a, b)
            continue
        for i in range(a, b):
            occupy_for(shop, plan, i, -1)
        shift = _slack(shop, plan, successor, a, b)
        for i in range(a, b):
            plan.start[i], plan.end[i] = plan.start[i] + shift, plan.end[i] + shift
            occupy_for(shop, plan, i, 1)


@kernel(borrow=True)
def _latest_end(shop, plan, successor, i):
    """Return the latest time at which the job of operation i can leave its machine for the machine's next operation."""
    later = successor[i]
    if later < 0:
        return FOREVER
    m = shop.machine[plan.choice[i]]
    length = setup(shop, m, i, later)
    until = plan.start[later] if length == 0 else latest_fit(shop, m, plan.start[later], length)
    # a job that leaves before the next one comes does not exchange machines with it
    return until - 1 if shop.blocking[i] and not shop.swap[0] else until


@kernel(borrow=True)
def _latest_end_of_unit(shop, plan, b):
    """Return the latest end of the unit before operation b: the job's next start, or the end that avoids earliness."""
    j = shop.job[b - 1]
    return plan.start[b] if b < shop.first[j + 1] else max(plan.end[b - 1], shop.early[j])


@kernel(borrow=True)
def _slack(shop, plan, successor, a, b):
    """Return the time by which the unit of operations a..b - 1, whose resources are released, can be shifted later as a whole."""
    shift = _latest_end_of_unit(shop, plan, b) - plan.end[b - 1]
    for i in range(a, b):
        if shop.fixed_start[i] >= 0:
            return 0
        shift = min(shift, _latest_end(shop, plan, successor, i) - plan.end[i])
    overlaps = True
    while overlaps and shift > 0:  # reduce the shift until no operation of the unit overlaps a break or overloads a resource
        overlaps = False
        for i in range(a, b):
            m = shop.machine[plan.choice[i]]
            length = plan.end[i] - plan.start[i]
            allowed = latest_fit(shop, m, plan.end[i] + shift, length) - plan.start[i]
            if allowed == shift and len(shop.capacity) > 0:
                begin, c = plan.start[i] + shift, plan.choice[i]
                end = end_of(shop, m, i, begin, shop.duration[c])
                allowed = shift - (end - previous_end(shop, plan, c, begin, end))
            if allowed < shift:
                shift, overlaps = allowed, True
    return max(0, shift) if shift < math.inf else 0


@kernel(borrow=True)
def _shift_each(shop, plan, successor, a, b):
    """Shift operations b - 1 down to a, which may wait for each other on their machines, each as late as it can start."""
    for i in range(b - 1, a - 1, -1):
        c = plan.choice[i]
        m, length = shop.machine[c], shop.duration[c]
        if i == b - 1:
            limit = min(_latest_end_of_unit(shop, plan, b), _latest_end(shop, plan, successor, i))
        else:
            limit = plan.start[i + 1]
            between = setup(shop, m, i, i + 1) if successor[i] == i + 1 else 0
            if between > 0:
                limit = latest_fit(shop, m, limit, between)
        start = latest_start(shop, m, i, limit, length) if shop.resumable[i] else latest_fit(shop, m, limit, length)
        if i > a and successor[i - 1] != i:  # the job leaves the machine before when this operation starts
            leaves = _latest_end(shop, plan, successor, i - 1)
            if leaves < start:
                start = latest_opening(shop, m, leaves) if shop.resumable[i] else latest_fit(shop, m, leaves + length, length)
        occupy_for(shop, plan, i, -1)
        start = _start_with_resources(shop, plan, i, start)
        if start > plan.start[i]:
            plan.start[i] = start
            if i == b - 1:
                plan.end[i] = end_of(shop, m, i, start, length)
            if i > a:
                plan.end[i - 1] = start
        occupy_for(shop, plan, i, 1)


@kernel(borrow=True)
def _start_with_resources(shop, plan, i, start):
    """Return the latest start of operation i, up to `start`, for which its released resources suffice.

    If the latest one is not after plan.start, the result is not, either.
    """
    c = plan.choice[i]
    m, length = shop.machine[c], shop.duration[c]
    while len(shop.capacity) > 0 and start > plan.start[i]:
        end = end_of(shop, m, i, start, length)
        limit = previous_end(shop, plan, c, start, end)
        if limit == end:
            break
        start = latest_start(shop, m, i, limit, length) if shop.resumable[i] else latest_fit(shop, m, limit, length)
    return start
