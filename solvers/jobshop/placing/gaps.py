"""Kernels that place operations in the gaps of machines: between placed operations and breaks, with set-ups before and after.

A unit is a run of operations of one job, mostly a single one, linked by blocking or by not waiting. Throughout, `shop` is
a Shop and `plan` a PartialSchedule (shop.py); j is a job, u a unit, i an operation, m a machine, and c a choice: an operation
with one of its eligible machines. The sequence of a machine holds its placed operations by time.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.kernels.rotate import rotate
from corl.kernels.search import bisect_left_by
from corl.problems.jobshop.rules import FOREVER
from corl.solvers.jobshop.placing.breaks import earliest_fit, earliest_start, end_of, latest_start
from corl.solvers.jobshop.placing.resources import clear_profiles, copy_profiles, later_start, occupy_for

__all__ = [
    "copy_plan", "fastest", "first_gap", "insert", "next_on_machine", "place_fixed", "remove_operation", "setup", "setups_fit",
]  # fmt: skip


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
    """Return the earliest end of the set-up to operation i after operation `before` (-1: none); `time` is the end of `before`."""
    length = setup(shop, m, before, i)
    if length == 0:
        return time
    if shop.fixed_start[i] < 0:
        time = max(time, shop.now[0])
    return earliest_fit(shop, m, time, length) + length


@kernel(borrow=True)
def _earliest_start(shop, plan, i, c, low):
    """Return the earliest start of operation i with choice c, from `low` on, for breaks and resources, or FOREVER."""
    m, length = shop.machine[c], shop.duration[c]
    start = earliest_start(shop, m, i, low, length)
    while len(shop.capacity) > 0 and start < FOREVER:
        later = later_start(shop, plan, c, start, end_of(shop, m, i, start, length))
        if later == start:
            break
        start = earliest_start(shop, m, i, later, length)
    return start


@kernel(borrow=True, shared=True)
def first_gap(shop, plan, i, c, low):
    """Return (start, k) for the first gap of its machine in which operation i with choice c fits, not before `low`.

    k is the operation's position in the machine's sequence. The start is FOREVER if there is no gap.
    """
    m, length = shop.machine[c], shop.duration[c]
    at, count = plan.sequence_offset[m], plan.sequence_length[m]
    # before position `first`, the next operation starts before operation i could end
    first = bisect_left_by(plan.start, plan.sequences, at, at + count, low + length) - at
    for k in range(first, count + 1):
        before, time = -1, 0
        if k > 0:
            before = plan.sequences[at + k - 1]
            time = plan.end[before]
        start = _earliest_start(shop, plan, i, c, max(low, _setup_end(shop, m, before, time, i)))
        if start >= FOREVER:
            break
        if k == count:
            return start, k
        after = plan.sequences[at + k]
        if _setup_end(shop, m, i, end_of(shop, m, i, start, length), after) <= plan.start[after]:
            return start, k
    return FOREVER, count


@kernel(borrow=True)
def insert(shop, plan, i, choice, start, k):
    """Place operation i at `start`, at position k of its machine's sequence, in place."""
    m = shop.machine[choice]
    at = plan.sequence_offset[m]
    plan.sequences[at + plan.sequence_length[m]] = i
    rotate(plan.sequences, at + plan.sequence_length[m], at + k)
    plan.sequence_length[m] += 1
    plan.start[i], plan.end[i], plan.choice[i] = start, end_of(shop, m, i, start, shop.duration[choice]), choice
    occupy_for(shop, plan, i, 1)


@kernel(borrow=True)
def remove_operation(shop, plan, i):
    """Remove operation i from the plan, in place."""
    m = shop.machine[plan.choice[i]]
    at, k = plan.sequence_offset[m], 0
    while plan.sequences[at + k] != i:
        k += 1
    rotate(plan.sequences, at + k, at + plan.sequence_length[m] - 1)
    plan.sequence_length[m] -= 1
    occupy_for(shop, plan, i, -1)
    plan.choice[i] = -1


@kernel(borrow=True)
def next_on_machine(shop, plan, i):
    """Return the operation that follows the placed operation i on its machine; -1 if there is none."""
    m = shop.machine[plan.choice[i]]
    at, count = plan.sequence_offset[m], plan.sequence_length[m]
    k = bisect_left_by(plan.start, plan.sequences, at, at + count, plan.start[i])
    while plan.sequences[k] != i:  # operations of duration zero start at the same time
        k += 1
    return plan.sequences[k + 1] if k + 1 < at + count else -1


@kernel(inline=True, borrow=True)
def fastest(shop, i):
    """Return the usable choice of operation i with the least duration; of several, the first."""
    best = shop.choice_offset[i]
    for c in range(best + 1, shop.choice_offset[i + 1]):
        if shop.usable[c] and (shop.duration[c] < shop.duration[best] or not shop.usable[best]):
            best = c
    return best


# -------------------------------------------------------------------- fixed operations
@kernel
def place_fixed(shop, plan, order, requested):
    """Reset the plan, and place the fixed operations and the other operations of their units; return False if they do not fit.

    Args:
        shop: The Shop of the instance.
        plan: The PartialSchedule, overwritten.
        order: int64 [K], the fixed operations by start time.
        requested: int64 [O], choices for the other operations of these units; -1: the fastest machine.
    """
    plan.sequence_length[:], plan.choice[:] = 0, -1
    clear_profiles(plan)
    for i in order:
        c = shop.fixed_choice[i]
        insert(shop, plan, i, c, shop.fixed_start[i], plan.sequence_length[shop.machine[c]])
    for j in range(len(shop.first) - 1):
        plan.next[j] = shop.unit_offset[j]
        for u in range(shop.unit_offset[j], shop.unit_offset[j + 1]):
            if not _place_around_fixed(shop, plan, shop.unit[u], shop.unit[u + 1], requested):
                return False
    return True


@kernel(borrow=True)
def _place_around_fixed(shop, plan, a, b, requested):
    """If one of the operations a..b - 1 of a unit is fixed, place the others; return False if they do not fit."""
    fixed = -1
    for i in range(a, b):
        if shop.fixed_start[i] >= 0:
            fixed = i
    if fixed < 0:
        return True
    for i in range(fixed - 1, a - 1, -1):
        if plan.choice[i] < 0:
            c = requested[i] if requested[i] >= 0 else fastest(shop, i)
            time = latest_start(shop, shop.machine[c], i, plan.start[i + 1], shop.duration[c])
            if not _place_at(shop, plan, i, c, time) or plan.end[i] != plan.start[i + 1]:
                return False
    for i in range(a + 1, b):
        if plan.choice[i] < 0:
            c = requested[i] if requested[i] >= 0 else fastest(shop, i)
            if not _place_at(shop, plan, i, c, plan.end[i - 1]):
                return False
    return True


@kernel(borrow=True)
def _place_at(shop, plan, i, c, time):
    """Place operation i with choice c exactly at `time`; return False if it does not fit there."""
    if time < shop.lowest[i]:
        return False
    start, k = first_gap(shop, plan, i, c, time)
    if start != time:
        return False
    insert(shop, plan, i, c, start, k)
    return True


@kernel(borrow=True)
def setups_fit(shop, plan, order):
    """Return whether the set-ups before the fixed operations `order` (int64 [K]) fit.

    This is checked last, because an operation that is placed before a fixed one may change the set-up between them.
    """
    for i in order:
        m = shop.machine[plan.choice[i]]
        if shop.has_setups[m]:
            at, k = plan.sequence_offset[m], 0
            while plan.sequences[at + k] != i:
                k += 1
            before, time = -1, 0
            if k > 0:
                before = plan.sequences[at + k - 1]
                time = plan.end[before]
            if _setup_end(shop, m, before, time, i) > plan.start[i]:
                return False
    return True


@kernel(borrow=True)
def copy_plan(source, target):
    """Copy the plan `source` into the plan `target`."""
    for i in range(len(source.choice)):
        target.start[i], target.end[i], target.choice[i] = source.start[i], source.end[i], source.choice[i]
    for m in range(len(source.sequence_length)):
        target.sequence_length[m] = source.sequence_length[m]
        for p in range(source.sequence_offset[m], source.sequence_offset[m] + source.sequence_length[m]):
            target.sequences[p] = source.sequences[p]
    for j in range(len(source.next)):
        target.next[j] = source.next[j]
    copy_profiles(source, target)
