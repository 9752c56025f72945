"""Kernels for renewable resources: when enough units are left for an operation, and how placed operations occupy them.

The profile of resource r is a step function of time: `plan.profile_units[p]` units are occupied from `plan.profile_time[p]` to
`plan.profile_time[p + 1]`, for the steps p from `plan.profile_offset[r]` on, of which there are `plan.profile_length[r]`. The
first step begins at 0, the last one has no end and no units, and no two consecutive steps have equal units. Names of variables
are as in gaps.py.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.kernels.rotate import rotate
from corl.kernels.search import bisect_right
from corl.problems.jobshop.rules import FOREVER
from corl.solvers.jobshop.placing.breaks import end_of

__all__ = ["clear_profiles", "copy_profiles", "later_start", "occupy", "occupy_for", "previous_end"]


@kernel(borrow=True)
def later_start(shop, plan, c, start, end):
    """Return `start` if the resources that choice c needs are free from `start` to `end`, otherwise a later time.

    No start between the two is possible, as long as an operation that starts later ends no earlier, and takes the duration of the
    choice at least. FOREVER: the choice needs more units than there are.
    """
    found, until = start, end
    for r in range(len(shop.capacity)):
        left = shop.capacity[r] - shop.demand[c, r]
        if shop.demand[c, r] == 0 or start >= end:
            continue
        if left < 0:
            return FOREVER
        at = plan.profile_offset[r]
        p, after = bisect_right(plan.profile_time, at, at + plan.profile_length[r], found) - 1, at + plan.profile_length[r]
        while p < after and plan.profile_time[p] < until:
            if plan.profile_units[p] > left:
                found = plan.profile_time[p + 1]
                until = found + shop.duration[c]
            p += 1
    return found


@kernel(borrow=True)
def previous_end(shop, plan, c, start, end):
    """Return `end` if the resources that choice c needs are free from `start` to `end`, otherwise an earlier time.

    No end between the two is possible, as long as an operation that ends earlier starts no later.
    """
    found = end
    for r in range(len(shop.capacity)):
        left = shop.capacity[r] - shop.demand[c, r]
        if shop.demand[c, r] == 0 or start >= end:
            continue
        at = plan.profile_offset[r]
        p, after = bisect_right(plan.profile_time, at, at + plan.profile_length[r], start) - 1, at + plan.profile_length[r]
        while p < after and plan.profile_time[p] < found:
            if plan.profile_units[p] > left:
                found = plan.profile_time[p]
            p += 1
    return found


@kernel(borrow=True)
def occupy(shop, plan, c, start, end, sign):
    """Occupy the resources that choice c needs from `start` to `end` in place; a `sign` of -1 releases them again."""
    for r in range(len(shop.capacity)):
        units = sign * shop.demand[c, r]
        if units != 0 and start < end:
            a, b = _step_at(plan, r, start), _step_at(plan, r, end)
            for p in range(a, b):
                plan.profile_units[p] += units
            _merge(plan, r, b)
            _merge(plan, r, a)


@kernel(borrow=True)
def occupy_for(shop, plan, i, sign):
    """Occupy the resources that the placed operation i needs, while it is processed, in place; a `sign` of -1 releases them."""
    if len(shop.capacity) > 0:
        c, start = plan.choice[i], plan.start[i]
        occupy(shop, plan, c, start, end_of(shop, shop.machine[c], i, start, shop.duration[c]), sign)


@kernel(borrow=True)
def _step_at(plan, r, time):
    """Return the step of resource r that begins at `time`; one is added if there is none."""
    at, count = plan.profile_offset[r], plan.profile_length[r]
    p = bisect_right(plan.profile_time, at, at + count, time)
    if plan.profile_time[p - 1] == time:
        return p - 1
    plan.profile_time[at + count], plan.profile_units[at + count] = time, plan.profile_units[p - 1]
    rotate(plan.profile_time, at + count, p)
    rotate(plan.profile_units, at + count, p)
    plan.profile_length[r] += 1
    return p


@kernel(borrow=True)
def _merge(plan, r, p):
    """Remove step p of resource r if it has as many units as the step before it."""
    at, last = plan.profile_offset[r], plan.profile_offset[r] + plan.profile_length[r] - 1
    if p > at and plan.profile_units[p] == plan.profile_units[p - 1]:
        rotate(plan.profile_time, p, last)
        rotate(plan.profile_units, p, last)
        plan.profile_length[r] -= 1


@kernel(borrow=True)
def clear_profiles(plan):
    """Release all resources, in place."""
    for r in range(len(plan.profile_length)):
        at = plan.profile_offset[r]
        plan.profile_time[at], plan.profile_units[at], plan.profile_length[r] = 0, 0, 1


@kernel(borrow=True)
def copy_profiles(source, target):
    """Copy the profiles of the plan `source` into the plan `target`."""
    for r in range(len(source.profile_length)):
        target.profile_length[r] = source.profile_length[r]
        for p in range(source.profile_offset[r], source.profile_offset[r] + source.profile_length[r]):
            target.profile_time[p], target.profile_units[p] = source.profile_time[p], source.profile_units[p]
