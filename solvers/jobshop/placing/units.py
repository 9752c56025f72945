"""Kernels that place units: single operations, and runs of operations linked by not waiting or by blocking.

The operations of a run are placed one after the other, each as early as it can start. An operation that starts too late for the
one before it (which may not wait, or whose machine is needed for another job) raises the earliest start of that one, which is
then placed again. Starts only grow, and no feasible placement has a smaller one, so that the first run that fits is the earliest.
Names of variables are as in gaps.py.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.problems.jobshop.rules import FOREVER
from corl.solvers.jobshop.placing.breaks import end_of, latest_fit, latest_start
from corl.solvers.jobshop.placing.gaps import fastest, first_gap, insert, next_on_machine, remove_operation, setup

__all__ = ["place", "remove"]

_MAX_SHIFTS = 10_000  # how often an operation of a run is placed again because a later one does not fit


@kernel(borrow=True)
def _earliest_end(shop, plan, i, low):
    """Return (choice, start, position) on the machine where operation i ends first if it starts no earlier than `low`."""
    best_end, best_choice, best_start, position = FOREVER, -1, FOREVER, 0
    for c in range(shop.choice_offset[i], shop.choice_offset[i + 1]):
        start, k = first_gap(shop, plan, i, c, low)
        end = end_of(shop, shop.machine[c], i, start, shop.duration[c])
        if start < FOREVER and end < best_end:
            best_end, best_choice, best_start, position = end, c, start, k
    return best_choice, best_start, position


@kernel(borrow=True, shared=True)
def place(shop, plan, u, requested):
    """Place unit u, the next one of its job, as early as it fits; return False if it does not fit.

    Args:
        shop: The Shop of the instance.
        plan: The PartialSchedule, updated in place.
        u: The unit.
        requested: int64 [O], a choice for each operation. -1 means the machine on which the operation ends first; in a unit of
            several operations it means the operation's fastest machine.
    """
    a, b = shop.unit[u], shop.unit[u + 1]
    j, time = shop.job[a], shop.lowest[a]
    if a > shop.first[j]:
        time = max(time, plan.end[a - 1])
    if b == a + 1:
        c = requested[a]
        if c < 0 and shop.choice_offset[a] + 1 < shop.choice_offset[a + 1]:
            c, start, k = _earliest_end(shop, plan, a, time)
        else:
            c = max(c, shop.choice_offset[a])
            start, k = first_gap(shop, plan, a, c, time)
        if start >= FOREVER:
            return False
        insert(shop, plan, a, c, start, k)
    elif not _place_linked(shop, plan, a, b, time, requested):
        return False
    if b < shop.first[j + 1] and plan.choice[b] >= 0 and plan.end[b - 1] > plan.start[b]:  # the next operation is fixed
        remove(shop, plan, u)
        return False
    return True


@kernel(borrow=True)
def _place_linked(shop, plan, a, b, time, requested):
    """Place operations a..b - 1, which are linked, as early as all fit, not before `time`; return False if they do not fit.

    The earliest start of an operation that is not placed is in plan.start.
    """
    for i in range(a, b):
        plan.start[i] = shop.lowest[i]
    plan.start[a] = time
    i = a
    for _ in range(_MAX_SHIFTS):
        if i == b:
            i = _in_cycle(shop, plan, a, b)
            if i == b:
                return True
            _take_back(shop, plan, a, b, i)
            plan.start[i] += 1
        c, low = requested[i] if requested[i] >= 0 else fastest(shop, i), plan.start[i]
        if i > a:
            low = max(low, plan.end[i - 1])
        start, k = first_gap(shop, plan, i, c, low)
        if start >= FOREVER:
            break
        needed = _needed_start(shop, plan, i, start) if i > a else 0
        if i > a and needed > plan.start[i - 1]:
            plan.start[i] = start
            i -= 1
            _take_back(shop, plan, a, i + 1, i)
            plan.start[i] = needed
            continue
        insert(shop, plan, i, c, start, k)
        if i > a and shop.blocking[i - 1]:
            plan.end[i - 1] = start
        i += 1
    _take_back(shop, plan, a, i, a)
    return False


@kernel(borrow=True)
def _needed_start(shop, plan, i, start):
    """Return the earliest start of operation i - 1 that operation i, which starts at `start` or later, does not rule out."""
    p, found = i - 1, plan.start[i - 1]
    if shop.no_wait[i]:
        if start > plan.end[p]:
            m = shop.machine[plan.choice[p]]
            found = latest_start(shop, m, p, start, shop.duration[plan.choice[p]])
            if end_of(shop, m, p, found, shop.duration[plan.choice[p]]) < start:  # in a break: it ends later
                found += 1
        return found
    later = next_on_machine(shop, plan, p)
    if later >= 0:
        m = shop.machine[plan.choice[p]]
        length = setup(shop, m, p, later)
        if start > (plan.start[later] if length == 0 else latest_fit(shop, m, plan.start[later], length)):
            found = plan.end[later]
    return found


@kernel(borrow=True)
def _take_back(shop, plan, a, b, i):
    """Remove operations i..b - 1 of a run that begins with operation a from the plan; plan.start keeps their starts."""
    for placed in range(b - 1, i - 1, -1):
        remove_operation(shop, plan, placed)
    if i > a and shop.blocking[i - 1]:
        c = plan.choice[i - 1]
        plan.end[i - 1] = end_of(shop, shop.machine[c], i - 1, plan.start[i - 1], shop.duration[c])


@kernel(borrow=True)
def _in_cycle(shop, plan, a, b):
    """Return the first of the operations a + 1..b - 1 for which jobs would exchange machines; b if there is none.

    A job moves when an operation starts whose job predecessor blocks a machine. The operation that follows there at the same time
    may be a move, too, and so on; without swaps they must not lead back to the first one.
    """
    if shop.swap[0]:
        return b
    for first in range(a + 1, b):
        i = first
        while i >= 0:
            if i == shop.first[shop.job[i]] or not shop.blocking[i - 1]:
                break
            later = next_on_machine(shop, plan, i - 1)
            if later < 0 or later == i or plan.start[later] != plan.start[i]:
                break
            i = later
            if i == first:
                return first
    return b


@kernel(borrow=True)
def remove(shop, plan, u):
    """Remove the operations of unit u from the plan, in place."""
    for i in range(shop.unit[u], shop.unit[u + 1]):
        remove_operation(shop, plan, i)
