"""Kernels that put units into the gaps of machines: between two breaks, with the set-ups before and after."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.kernels.rotate import rotate
from corl.kernels.search import bisect_left_by
from corl.problems.jobshop.rules import FOREVER

__all__ = ["begin", "copy_plan", "fits", "gap", "latest_fit", "lines_hold", "place", "remove", "setup"]

_TRIES = 10_000  # times that a run without waiting is put later because one of its operations does not fit


@kernel(inline=True, borrow=True)
def fits(shop, m, time, length):
    """When something of this length, begun at `time` or later, can begin on machine m in one piece; FOREVER where it cannot."""
    for b in range(shop.break_at[m], shop.break_at[m + 1]):
        if time < shop.opens[b]:
            if time + length <= shop.closes[b]:
                return time
            time = shop.opens[b]
    return time


@kernel(inline=True, borrow=True)
def latest_fit(shop, m, end, length):
    """When at the latest something of this length can begin on machine m to be done by `end`, in one piece."""
    for b in range(shop.break_at[m + 1] - 1, shop.break_at[m] - 1, -1):
        if end > shop.closes[b]:
            if end - length >= shop.opens[b]:
                return end - length
            end = shop.closes[b]
    return end - length


@kernel(inline=True, borrow=True)
def setup(shop, m, before, i):
    """What the set-up from operation `before` (-1: none) to i takes."""
    if not shop.timed[m]:
        return 0
    if before < 0:
        return shop.first_setups[m, shop.family[i]]
    return shop.setups[m, shop.family[before], shop.family[i]]


@kernel(inline=True, borrow=True)
def _ready(shop, m, before, time, i):
    """When the set-up from `before`, which ends at `time`, to i is done at the earliest."""
    length = setup(shop, m, before, i)
    if length == 0:
        return time
    if shop.fixed_start[i] < 0:
        time = max(time, shop.now[0])
    return fits(shop, m, time, length) + length


@kernel(borrow=True)
def gap(shop, plan, m, i, length, low):
    """(start, place in the line): the first gap of machine m in which operation i fits, from `low` on; FOREVER without one."""
    at, count = plan.line_at[m], plan.filled[m]
    first = bisect_left_by(plan.start, plan.line, at, at + count, low + length) - at  # all before start before it could end
    for k in range(first, count + 1):
        before, time = -1, 0
        if k > 0:
            before = plan.line[at + k - 1]
            time = plan.end[before]
        start = fits(shop, m, max(low, _ready(shop, m, before, time, i)), length)
        if start >= FOREVER:
            break
        if k == count:
            return start, k
        behind = plan.line[at + k]
        if _ready(shop, m, i, start + length, behind) <= plan.start[behind]:
            return start, k
    return FOREVER, count


@kernel(borrow=True)
def _insert(shop, plan, i, choice, start, k):
    m = shop.machine[choice]
    at = plan.line_at[m]
    plan.line[at + plan.filled[m]] = i
    rotate(plan.line, at + plan.filled[m], at + k)
    plan.filled[m] += 1
    plan.start[i], plan.end[i], plan.choice[i] = start, start + shop.duration[choice], choice


@kernel(borrow=True)
def _take_out(shop, plan, i):
    m = shop.machine[plan.choice[i]]
    at, k = plan.line_at[m], 0
    while plan.line[at + k] != i:
        k += 1
    rotate(plan.line, at + k, at + plan.filled[m] - 1)
    plan.filled[m] -= 1
    plan.choice[i] = -1


@kernel(borrow=True)
def _quickest(shop, plan, i, low):
    """(choice, start, place) of the machine where operation i ends first, from `low` on."""
    best, chosen, begins, place = FOREVER, -1, FOREVER, 0
    for c in range(shop.begin[i], shop.begin[i + 1]):
        start, k = gap(shop, plan, shop.machine[c], i, shop.duration[c], low)
        if start < FOREVER and start + shop.duration[c] < best:
            best, chosen, begins, place = start + shop.duration[c], c, start, k
    return chosen, begins, place


@kernel(borrow=True)
def place(shop, plan, u, wanted):
    """Put unit u of its job's next as early as it fits behind the job's last; False where it does not.

    wanted: int64 [O], a choice for each operation, -1: the machine where it ends first; within a run without waiting the first
    of the quickest machines.
    """
    a, b = shop.unit[u], shop.unit[u + 1]
    j, time = shop.job[a], shop.lowest[a]
    if a > shop.first[j]:
        time = max(time, plan.end[a - 1])
    if b == a + 1:
        c = wanted[a]
        if c < 0 and shop.begin[a] + 1 < shop.begin[a + 1]:
            c, start, k = _quickest(shop, plan, a, time)
        else:
            c = max(c, shop.begin[a])
            start, k = gap(shop, plan, shop.machine[c], a, shop.duration[c], time)
        if start >= FOREVER:
            return False
        _insert(shop, plan, a, c, start, k)
    elif not _place_run(shop, plan, a, b, time, wanted):
        return False
    if b < shop.first[j + 1] and plan.choice[b] >= 0 and plan.end[b - 1] > plan.start[b]:  # what comes next is fixed
        remove(shop, plan, u)
        return False
    return True


@kernel(borrow=True)
def _place_run(shop, plan, a, b, time, wanted):
    """Put operations a..b-1 one right behind the other, the first at `time` or as soon after as all fit."""
    for _ in range(_TRIES):
        at, i = time, a
        while i < b:
            c = wanted[i] if wanted[i] >= 0 else _shortest(shop, i)
            start, k = gap(shop, plan, shop.machine[c], i, shop.duration[c], max(at, shop.lowest[i]))
            if start > at:
                break
            _insert(shop, plan, i, c, start, k)
            at, i = plan.end[i], i + 1
        if i == b:
            return True
        for back in range(i - 1, a - 1, -1):
            _take_out(shop, plan, back)
        if start >= FOREVER:
            return False
        time += start - at
    return False


@kernel(inline=True, borrow=True)
def _shortest(shop, i):
    best = shop.begin[i]
    for c in range(best + 1, shop.begin[i + 1]):
        if shop.duration[c] < shop.duration[best]:
            best = c
    return best


@kernel(borrow=True)
def remove(shop, plan, u):
    """Take unit u out again."""
    for i in range(shop.unit[u], shop.unit[u + 1]):
        _take_out(shop, plan, i)


# -------------------------------------------------------------------- what is fixed
@kernel
def begin(shop, plan, order, wanted):
    """Place what is fixed, in `order` (the fixed operations by start), and what follows it, or comes before it, without waiting.

    False where that does not fit.
    """
    plan.filled[:], plan.choice[:] = 0, -1
    for i in order:
        c = shop.fixed_choice[i]
        _insert(shop, plan, i, c, shop.fixed_start[i], plan.filled[shop.machine[c]])
    for j in range(len(shop.first) - 1):
        plan.next[j] = shop.unit_at[j]
        for u in range(shop.unit_at[j], shop.unit_at[j + 1]):
            if not _complete(shop, plan, shop.unit[u], shop.unit[u + 1], wanted):
                return False
    return True


@kernel(borrow=True)
def _complete(shop, plan, a, b, wanted):
    """Place all of a run without waiting of which something is fixed."""
    pinned = -1
    for i in range(a, b):
        if shop.fixed_start[i] >= 0:
            pinned = i
    if pinned < 0:
        return True
    for i in range(pinned - 1, a - 1, -1):
        if plan.choice[i] < 0:
            c = wanted[i] if wanted[i] >= 0 else _shortest(shop, i)
            if not _place_at(shop, plan, i, c, plan.start[i + 1] - shop.duration[c]):
                return False
    for i in range(a + 1, b):
        if plan.choice[i] < 0:
            c = wanted[i] if wanted[i] >= 0 else _shortest(shop, i)
            if not _place_at(shop, plan, i, c, plan.end[i - 1]):
                return False
    return True


@kernel(borrow=True)
def _place_at(shop, plan, i, c, time):
    if time < shop.lowest[i]:
        return False
    start, k = gap(shop, plan, shop.machine[c], i, shop.duration[c], time)
    if start != time:
        return False
    _insert(shop, plan, i, c, start, k)
    return True


@kernel(borrow=True)
def lines_hold(shop, plan, order):
    """Whether set-ups fit before what is fixed, where nothing came between that would have been looked at."""
    for i in order:
        m = shop.machine[plan.choice[i]]
        if shop.timed[m]:
            at, k = plan.line_at[m], 0
            while plan.line[at + k] != i:
                k += 1
            before, time = -1, 0
            if k > 0:
                before = plan.line[at + k - 1]
                time = plan.end[before]
            if _ready(shop, m, before, time, i) > plan.start[i]:
                return False
    return True


@kernel(borrow=True)
def copy_plan(source, target):
    """Make `target` the same plan."""
    for i in range(len(source.choice)):
        target.start[i], target.end[i], target.choice[i] = source.start[i], source.end[i], source.choice[i]
    for m in range(len(source.filled)):
        target.filled[m] = source.filled[m]
        for p in range(source.line_at[m], source.line_at[m] + source.filled[m]):
            target.line[p] = source.line[p]
    for j in range(len(source.next)):
        target.next[j] = source.next[j]
