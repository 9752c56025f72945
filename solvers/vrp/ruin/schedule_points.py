"""Points of the piecewise linear functions of schedules.py, in the last columns of a row of segments.

From column `schedule_column` on, a row holds the four columns named below, then the times of the points, in order, then their
values; there is room for `schedule_width` points. In all functions, `rules` is ConstraintTables, `rows` is `Segments.head` or
`Segments.tail`, and `row` is the row whose function is changed, in place.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel

__all__ = [
    "COUNT",
    "FIRST_TIME",
    "KIND",
    "NODE",
    "SLOPE",
    "add_point",
    "drop_after",
    "drop_before",
    "least_sum",
    "lower_ahead",
    "lower_behind",
    "thin_out",
]  # fmt: skip

NODE, KIND = 0, 1  # the last node of a head or the first of a tail, and the vehicle type
COUNT = 2  # the number of points; 0: infeasible at all times
SLOPE = 3  # the slope after the last point; 0 in heads, inf in a tail that is infeasible from there on
FIRST_TIME = 4  # the time of the first point


@kernel(borrow=True)
def add_point(rules, rows, row, time):
    """Add a point at `time`, unless there is one, without changing the function.

    Before the first point the function is taken as constant, and after the last one as having the row's slope, or as constant if
    that is infinite. A time of inf is ignored.
    """
    s, w = rules.schedule_column, rules.schedule_width
    count, times, values = int(rows[row, s + COUNT]), s + FIRST_TIME, s + FIRST_TIME + w
    if time == math.inf or count == w:
        return
    k = count
    while k > 0 and rows[row, times + k - 1] >= time:
        k -= 1
    if k < count and rows[row, times + k] == time:
        return
    if k == 0:
        value = rows[row, values]
    elif k == count:
        slope = rows[row, s + SLOPE]
        value = rows[row, values + k - 1]
        if slope < math.inf:
            value += slope * (time - rows[row, times + k - 1])
    else:
        value = _between(rows, row, times + k, values + k, time)
    for m in range(count, k, -1):
        rows[row, times + m], rows[row, values + m] = rows[row, times + m - 1], rows[row, values + m - 1]
    rows[row, times + k], rows[row, values + k], rows[row, s + COUNT] = time, value, count + 1


@kernel(inline=True, borrow=True)
def _between(rows, row, time_column, value_column, time):
    """Return the value at `time`, which is between the point in these columns and the point before it."""
    before, after = rows[row, time_column - 1], rows[row, time_column]
    share = (time - before) / (after - before)
    return rows[row, value_column - 1] + share * (rows[row, value_column] - rows[row, value_column - 1])


@kernel(borrow=True)
def drop_before(rules, rows, row, time):
    """Drop the points before `time`."""
    s, w = rules.schedule_column, rules.schedule_width
    count, times, first = int(rows[row, s + COUNT]), s + FIRST_TIME, 0
    while first < count and rows[row, times + first] < time:
        first += 1
    for k in range(first, count):
        rows[row, times + k - first], rows[row, times + w + k - first] = rows[row, times + k], rows[row, times + w + k]
    rows[row, s + COUNT] = count - first


@kernel(borrow=True)
def drop_after(rules, rows, row, time):
    """Drop the points after `time`."""
    s = rules.schedule_column
    count = int(rows[row, s + COUNT])
    while count > 0 and rows[row, s + FIRST_TIME + count - 1] > time:
        count -= 1
    rows[row, s + COUNT] = count


@kernel(borrow=True)
def lower_ahead(rules, rows, row):
    """Replace the value at each time by the least value up to it: a vehicle that is ready earlier may wait."""
    s, w = rules.schedule_column, rules.schedule_width
    count, times = int(rows[row, s + COUNT]), s + FIRST_TIME
    time_before, before, least = rows[row, times], rows[row, times + w], rows[row, times + w]
    kept, kept_before = 1, True
    for k in range(1, count):
        time, value = rows[row, times + k], rows[row, times + w + k]
        if value < least:
            if not kept_before:  # the function falls below the least value between the two points
                crossing = time_before + (time - time_before) * (before - least) / (before - value)
                rows[row, times + kept], rows[row, times + w + kept] = crossing, least
                kept += 1
            rows[row, times + kept], rows[row, times + w + kept] = time, value
            kept, least, kept_before = kept + 1, value, True
        else:
            kept_before = False
        time_before, before = time, value
    rows[row, s + COUNT] = kept


@kernel(borrow=True)
def lower_behind(rules, rows, row):
    """Replace the value at each time by the least value from it on: the mirror image of `lower_ahead`."""
    s, w = rules.schedule_column, rules.schedule_width
    count, times = int(rows[row, s + COUNT]), s + FIRST_TIME
    kept, kept_after = count - 1, True
    time_after, after = rows[row, times + kept], rows[row, times + w + kept]
    least = after
    for k in range(count - 2, -1, -1):
        time, value = rows[row, times + k], rows[row, times + w + k]
        if value < least:
            if not kept_after:
                kept -= 1
                crossing = time + (time_after - time) * (least - value) / (after - value)
                rows[row, times + kept], rows[row, times + w + kept] = crossing, least
            kept -= 1
            rows[row, times + kept], rows[row, times + w + kept] = time, value
            least, kept_after = value, True
        else:
            kept_after = False
        time_after, after = time, value
    for k in range(kept, count):
        rows[row, times + k - kept], rows[row, times + w + k - kept] = rows[row, times + k], rows[row, times + w + k]
    rows[row, s + COUNT] = count - kept


@kernel(borrow=True)
def thin_out(rules, rows, row):
    """Drop every other inner point if there are more than `schedule_points` points."""
    s, w = rules.schedule_column, rules.schedule_width
    count, times = int(rows[row, s + COUNT]), s + FIRST_TIME
    if count <= rules.schedule_points:
        return
    kept = 0
    for k in range(count):
        if k % 2 == 0 or k == count - 1:
            rows[row, times + kept], rows[row, times + w + kept] = rows[row, times + k], rows[row, times + w + k]
            kept += 1
    rows[row, s + COUNT] = kept


@kernel(borrow=True)
def least_sum(rules, head, row, tail, other):
    """Return the minimum of the sum of a head's function, at the arrival at the tail, and the tail's; inf if it is infeasible.

    Args:
        rules: ConstraintTables.
        head: The rows with the head's function.
        row: Its row.
        tail: The rows with the tail's function.
        other: Its row.
    """
    s, w = rules.schedule_column, rules.schedule_width
    times, values = s + FIRST_TIME, s + FIRST_TIME + w
    count, tail_count = int(head[row, s + COUNT]), int(tail[other, s + COUNT])
    first, slope = head[row, times], tail[other, s + SLOPE]
    end = tail[other, times + tail_count - 1]
    if slope == math.inf and first > end:
        return math.inf
    least, m = math.inf, 0
    for k in range(count):
        time = head[row, times + k]
        while m < tail_count and tail[other, times + m] < time:
            m += 1
        if m == tail_count and slope == math.inf:
            break  # after the end of the tail's domain
        if m == 0:
            value = tail[other, values]
        elif m == tail_count:
            value = tail[other, values + m - 1] + slope * (time - end)
        else:
            value = _between(tail, other, times + m, values + m, time)
        least = min(least, head[row, values + k] + value)
    m = 0
    for k in range(tail_count):
        time = tail[other, times + k]
        if time < first:
            continue
        while m < count and head[row, times + m] < time:
            m += 1
        if m == count:
            value = head[row, values + count - 1]
        elif m == 0:
            value = head[row, values]
        else:
            value = _between(head, row, times + m, values + m, time)
        least = min(least, value + tail[other, values + k])
    return least
