"""Kernels that place units in the gaps of machines: between two breaks, with the set-ups before and after.

Throughout, `shop` is a Shop and `plan` a PartialSchedule (shop.py), m a machine, i an operation, and `choice` or c a choice of
machine.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.kernels.rotate import rotate
from corl.kernels.search import bisect_left_by
from corl.problems.jobshop.rules import FOREVER

__all__ = ["copy_plan", "earliest_fit", "first_gap", "latest_fit", "place", "place_fixed", "remove", "setup", "setups_fit"]

_MOST_SHIFTS = 10_000  # the most times that a unit of several operations is shifted later because one of them does not fit


@kernel(inline=True, borrow=True)
def earliest_fit(shop, m, time, length):
    """Return the earliest start, from `time` on, at which machine m is open for `length` without a break; else FOREVER."""
    for b in range(shop.break_at[m], shop.break_at[m + 1]):
        if time < shop.opens[b]:
            if time + length <= shop.closes[b]:
                return time
            time = shop.opens[b]
    return time


@kernel(inline=True, borrow=True)
def latest_fit(shop, m, end, length):
    """Return the latest start at which machine m is open for `length` without a break, and which ends by `end`."""
    for b in range(shop.break_at[m + 1] - 1, shop.break_at[m] - 1, -1):
        if end > shop.closes[b]:
            if end - length >= shop.opens[b]:
                return end - length
            end = shop.closes[b]
    return end - length


@kernel(inline=True, borrow=True)
def setup(shop, m, before, i):
    """Return the set-up time on machine m from operation `before` (-1: none) to operation i."""
    if not shop.has_setups[m]:
        return 0
    if before < 0:
        return shop.first_setups[m, shop.family[i]]
    return shop.setups[m, shop.family[before], shop.family[i]]


@kernel(inline=True, borrow=True)
def _setup_end(shop, m, before, time, i):
    """Return the earliest end of the set-up from operation `before`, which ends at `time`, to operation i."""
    length = setup(shop, m, before, i)
    if length == 0:
        return time
    if shop.fixed_start[i] < 0:
        time = max(time, shop.now[0])
    return earliest_fit(shop, m, time, length) + length


@kernel(borrow=True)
def first_gap(shop, plan, m, i, length, low):
    """Return (start, place in the line) of the first gap of machine m, from `low` on, in which operation i fits.

    The start is FOREVER if there is none.
    """
    at, count = plan.line_at[m], plan.filled[m]
    first = bisect_left_by(plan.start, plan.line, at, at + count, low + length) - at  # all earlier ones start before it could end
    for k in range(first, count + 1):
        before, time = -1, 0
        if k > 0:
            before = plan.line[at + k - 1]
            time = plan.end[before]
        start = earliest_fit(shop, m, max(low, _setup_end(shop, m, before, time, i)), length)
        if start >= FOREVER:
            break
        if k == count:
            return start, k
        later = plan.line[at + k]
        if _setup_end(shop, m, i, start + length, later) <= plan.start[later]:
            return start, k
    return FOREVER, count


@kernel(borrow=True)
def _insert(shop, plan, i, choice, start, k):
    """Place operation i at `start`, as the k-th in the line of its machine."""
    m = shop.machine[choice]
    at = plan.line_at[m]
    plan.line[at + plan.filled[m]] = i
    rotate(plan.line, at + plan.filled[m], at + k)
    plan.filled[m] += 1
    plan.start[i], plan.end[i], plan.choice[i] = start, start + shop.duration[choice], choice


@kernel(borrow=True)
def _remove_operation(shop, plan, i):
    """Remove operation i from the plan."""
    m = shop.machine[plan.choice[i]]
    at, k = plan.line_at[m], 0
    while plan.line[at + k] != i:
        k += 1
    rotate(plan.line, at + k, at + plan.filled[m] - 1)
    plan.filled[m] -= 1
    plan.choice[i] = -1


@kernel(borrow=True)
def _quickest(shop, plan, i, low):
    """Return (choice, start, place in the line) for the machine where operation i, started from `low` on, ends first."""
    best, chosen, begins, place = FOREVER, -1, FOREVER, 0
    for c in range(shop.choice_at[i], shop.choice_at[i + 1]):
        start, k = first_gap(shop, plan, shop.machine[c], i, shop.duration[c], low)
        if start < FOREVER and start + shop.duration[c] < best:
            best, chosen, begins, place = start + shop.duration[c], c, start, k
    return chosen, begins, place


@kernel(borrow=True)
def place(shop, plan, u, requested):
    """Place unit u, the next one of its job, as early as it fits after the job's last one; return False if it does not fit.

    Args:
        shop: Shop of the instance.
        plan: PartialSchedule, updated in place.
        u: The unit.
        requested: int64 [O], a choice for each operation; -1: the machine where it ends first or, in a unit of several
            operations, the first choice of the least duration.
    """
    a, b = shop.unit[u], shop.unit[u + 1]
    j, time = shop.job[a], shop.lowest[a]
    if a > shop.first[j]:
        time = max(time, plan.end[a - 1])
    if b == a + 1:
        c = requested[a]
        if c < 0 and shop.choice_at[a] + 1 < shop.choice_at[a + 1]:
            c, start, k = _quickest(shop, plan, a, time)
        else:
            c = max(c, shop.choice_at[a])
            start, k = first_gap(shop, plan, shop.machine[c], a, shop.duration[c], time)
        if start >= FOREVER:
            return False
        _insert(shop, plan, a, c, start, k)
    elif not _place_run(shop, plan, a, b, time, requested):
        return False
    if b < shop.first[j + 1] and plan.choice[b] >= 0 and plan.end[b - 1] > plan.start[b]:  # the next operation is fixed
        remove(shop, plan, u)
        return False
    return True


@kernel(borrow=True)
def _place_run(shop, plan, a, b, time, requested):
    """Place operations a..b - 1 without waiting, as early as all fit from `time` on; return False if they do not fit."""
    for _ in range(_MOST_SHIFTS):
        at, i = time, a
        while i < b:
            c = requested[i] if requested[i] >= 0 else _shortest(shop, i)
            start, k = first_gap(shop, plan, shop.machine[c], i, shop.duration[c], max(at, shop.lowest[i]))
            if start > at:
                break
            _insert(shop, plan, i, c, start, k)
            at, i = plan.end[i], i + 1
        if i == b:
            return True
        for back in range(i - 1, a - 1, -1):
            _remove_operation(shop, plan, back)
        if start >= FOREVER:
            return False
        time += start - at
    return False


@kernel(inline=True, borrow=True)
def _shortest(shop, i):
    """Return the choice of operation i with the least duration, the first one of several."""
    best = shop.choice_at[i]
    for c in range(best + 1, shop.choice_at[i + 1]):
        if shop.duration[c] < shop.duration[best]:
            best = c
    return best


@kernel(borrow=True)
def remove(shop, plan, u):
    """Remove the operations of unit u from the plan."""
    for i in range(shop.unit[u], shop.unit[u + 1]):
        _remove_operation(shop, plan, i)


# -------------------------------------------------------------------- fixed operations
@kernel
def place_fixed(shop, plan, order, requested):
    """Reset the plan, and place the fixed operations and all units that contain one; return False if they do not fit.

    Args:
        shop: Shop of the instance.
        plan: PartialSchedule, overwritten.
        order: int64 [K], the fixed operations by start time.
        requested: int64 [O], choices for the other operations of these units, -1: the least duration.
    """
    plan.filled[:], plan.choice[:] = 0, -1
    for i in order:
        c = shop.fixed_choice[i]
        _insert(shop, plan, i, c, shop.fixed_start[i], plan.filled[shop.machine[c]])
    for j in range(len(shop.first) - 1):
        plan.next[j] = shop.unit_at[j]
        for u in range(shop.unit_at[j], shop.unit_at[j + 1]):
            if not _complete_run(shop, plan, shop.unit[u], shop.unit[u + 1], requested):
                return False
    return True


@kernel(borrow=True)
def _complete_run(shop, plan, a, b, requested):
    """Place the other operations of the unit a..b - 1 if one of them is fixed; return False if they do not fit."""
    pinned = -1
    for i in range(a, b):
        if shop.fixed_start[i] >= 0:
            pinned = i
    if pinned < 0:
        return True
    for i in range(pinned - 1, a - 1, -1):
        if plan.choice[i] < 0:
            c = requested[i] if requested[i] >= 0 else _shortest(shop, i)
            if not _place_at(shop, plan, i, c, plan.start[i + 1] - shop.duration[c]):
                return False
    for i in range(a + 1, b):
        if plan.choice[i] < 0:
            c = requested[i] if requested[i] >= 0 else _shortest(shop, i)
            if not _place_at(shop, plan, i, c, plan.end[i - 1]):
                return False
    return True


@kernel(borrow=True)
def _place_at(shop, plan, i, c, time):
    """Place operation i with choice c exactly at `time`; return False if it does not fit there."""
    if time < shop.lowest[i]:
        return False
    start, k = first_gap(shop, plan, shop.machine[c], i, shop.duration[c], time)
    if start != time:
        return False
    _insert(shop, plan, i, c, start, k)
    return True


@kernel(borrow=True)
def setups_fit(shop, plan, order):
    """Return whether the set-ups fit before all fixed operations `order`; `place` checks only gaps into which it inserts."""
    for i in order:
        m = shop.machine[plan.choice[i]]
        if shop.has_setups[m]:
            at, k = plan.line_at[m], 0
            while plan.line[at + k] != i:
                k += 1
            before, time = -1, 0
            if k > 0:
                before = plan.line[at + k - 1]
                time = plan.end[before]
            if _setup_end(shop, m, before, time, i) > plan.start[i]:
                return False
    return True


@kernel(borrow=True)
def copy_plan(source, target):
    """Copy a plan into `target`."""
    for i in range(len(source.choice)):
        target.start[i], target.end[i], target.choice[i] = source.start[i], source.end[i], source.choice[i]
    for m in range(len(source.filled)):
        target.filled[m] = source.filled[m]
        for p in range(source.line_at[m], source.line_at[m] + source.filled[m]):
            target.line[p] = source.line[p]
    for j in range(len(source.next)):
        target.next[j] = source.next[j]
