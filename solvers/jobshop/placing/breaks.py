"""Kernels for the breaks of machines: when an operation can start, and when it ends; resumable ones stop at breaks.

`shop` is a Shop (shop.py), m a machine, i an operation and `length` its duration on the machine.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.problems.jobshop.rules import FOREVER

__all__ = ["earliest_fit", "earliest_start", "end_of", "latest_fit", "latest_opening", "latest_start"]


@kernel(inline=True, borrow=True)
def earliest_fit(shop, m, time, length):
    """Return the earliest start, not before `time`, from which machine m is open for `length` without a break, or FOREVER."""
    for b in range(shop.break_offset[m], shop.break_offset[m + 1]):
        if time < shop.opens[b]:
            if time + length <= shop.closes[b]:
                return time
            time = shop.opens[b]
    return time


@kernel(inline=True, borrow=True)
def latest_fit(shop, m, end, length):
    """Return the latest start from which machine m is open for `length` without a break, up to `end` at the latest."""
    for b in range(shop.break_offset[m + 1] - 1, shop.break_offset[m] - 1, -1):
        if end > shop.closes[b]:
            if end - length >= shop.opens[b]:
                return end - length
            end = shop.closes[b]
    return end - length


@kernel(borrow=True)
def latest_opening(shop, m, time):
    """Return the latest time, up to `time`, at which an operation that takes time can start on machine m and stop at breaks."""
    for b in range(shop.break_offset[m + 1] - 1, shop.break_offset[m] - 1, -1):
        if shop.closes[b] <= time < shop.opens[b]:
            time = shop.closes[b] - 1
    return time


@kernel(inline=True, borrow=True)
def earliest_start(shop, m, i, time, length):
    """Return the earliest start of operation i on machine m, not before `time`, or FOREVER if it never ends."""
    return _resumable_start(shop, m, time, length) if shop.resumable[i] else earliest_fit(shop, m, time, length)


@kernel(inline=True, borrow=True)
def end_of(shop, m, i, start, length):
    """Return when operation i ends on machine m if it starts at `start`; FOREVER if it never ends."""
    return _resumable_end(shop, m, start, length) if shop.resumable[i] else start + length


@kernel(inline=True, borrow=True)
def latest_start(shop, m, i, end, length):
    """Return the latest start with which operation i ends on machine m at `end` or earlier, if it were alone on it."""
    return _resumable_latest(shop, m, end, length) if shop.resumable[i] else end - length


@kernel
def _resumable_start(shop, m, time, length):
    """Return the earliest time, not before `time`, that is in no break of machine m; FOREVER if the operation never ends."""
    for b in range(shop.break_offset[m], shop.break_offset[m + 1]):
        if time < shop.opens[b] and time + min(length, 1) > shop.closes[b]:
            time = shop.opens[b]
    return time if _resumable_end(shop, m, time, length) < FOREVER else FOREVER


@kernel
def _resumable_end(shop, m, start, length):
    """Return when an operation ends that starts at `start` and stops at breaks; FOREVER if it never ends."""
    end = start + length
    for b in range(shop.break_offset[m], shop.break_offset[m + 1]):
        if start < shop.closes[b] and end > shop.closes[b]:
            end += shop.opens[b] - shop.closes[b]
    return min(end, FOREVER)


@kernel
def _resumable_latest(shop, m, end, length):
    """Return the latest start with which an operation that stops at breaks ends at `end` or earlier."""
    for b in range(shop.break_offset[m + 1] - 1, shop.break_offset[m] - 1, -1):
        if end - length >= shop.opens[b]:
            break
        if end > shop.closes[b]:
            length, end = length - max(0, end - shop.opens[b]), shop.closes[b]
    return end - length
