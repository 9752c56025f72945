"""Costs of times along route segments, as piecewise linear functions: soft windows, and travel times that depend on the hour.

The function of a head (the part of a route up to a node) maps a time t to the least cost of times if service at the node begins
by t; it never increases, is infeasible before its first point and constant after its last. The function of a tail (the part from
a node on) maps t to the least cost if the vehicle arrives by t; it never decreases, is constant before its first point, and has a
slope after its last (inf: infeasible). The cost of a joined route is the minimum of the sum of both. So do Ibaraki et al.,
Effective Local Search Algorithms for Routing and Scheduling Problems with General Time-Window Constraints, Transportation
Science 39 (2005), and, for travel times by the hour, Visser & Spliet, Efficient Move Evaluations for Time-Dependent Vehicle
Routing Problems, Transportation Science 54 (2020).

A function has at most `schedule_points` points: beyond, inner points are dropped, and costs are approximate. Functions are stored
in the last columns of `Segments.head` and `tail`. Durations cost nothing in the functions if nothing else does.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.solvers.vrp.ruin.hours import arrival, departure
from corl.solvers.vrp.ruin.schedule_points import (
    COUNT,
    FIRST_TIME,
    KIND,
    NODE,
    SLOPE,
    add_point,
    drop_after,
    drop_before,
    least_sum,
    lower_ahead,
    lower_behind,
    thin_out,
)  # fmt: skip

__all__ = ["extend_schedule", "joined_schedule", "prepend_schedule", "reset_schedule"]

_JOIN_ROW = 3  # the scratch row of `Segments.head` that joins use
_LATE = 1.0  # the lateness of a segment without a feasible schedule


@kernel(borrow=True, shared=True)
def extend_schedule(data, rules, rows, source, target, node, travel):
    """Write the function of head `source` extended by `node` to row `target`, in place; return 0, or 1 if it is infeasible.

    The arguments are those of segments.extend.
    """
    s, before = rules.schedule_column, int(rows[source, rules.schedule_column + NODE])
    _drive_ahead(data, rules, rows, source, target, before, node, travel)
    rows[target, s + NODE] = node
    opens, closes = rules.earliest[node], rules.latest[node]
    times, values = s + FIRST_TIME, s + FIRST_TIME + rules.schedule_width
    if rows[target, s + COUNT] == 0.0 or rows[target, times] > closes:
        rows[target, s + COUNT] = 0.0
        return _LATE
    if rows[target, times] < opens:
        add_point(rules, rows, target, opens)
        drop_before(rules, rows, target, opens)
    if rows[target, times + int(rows[target, s + COUNT]) - 1] > closes:
        add_point(rules, rows, target, closes)
        drop_after(rules, rows, target, closes)
    early, late = rules.early_rate[node], rules.late_rate[node]
    if early > 0.0 and rules.soft_begin[node] > rows[target, times]:
        add_point(rules, rows, target, min(rules.soft_begin[node], closes))
    if late > 0.0 and rows[target, times] < rules.soft_end[node] < rows[target, times + int(rows[target, s + COUNT]) - 1]:
        add_point(rules, rows, target, rules.soft_end[node])
    for k in range(int(rows[target, s + COUNT])):
        rows[target, values + k] += _penalty(rules, node, rows[target, times + k])
    lower_ahead(rules, rows, target)
    thin_out(rules, rows, target)
    return 0.0


@kernel(borrow=True, shared=True)
def prepend_schedule(data, rules, rows, source, target, node, travel):
    """Write the function of `node` followed by tail `source` to row `target`, in place: the mirror image of `extend_schedule`."""
    s = rules.schedule_column
    _drive_back(data, rules, rows, source, target, node, source, travel)
    rows[target, s + NODE] = node
    opens, closes = rules.earliest[node], rules.latest[node]
    times, values = s + FIRST_TIME, s + FIRST_TIME + rules.schedule_width
    count = int(rows[target, s + COUNT])
    if count == 0 or (rows[target, s + SLOPE] == math.inf and rows[target, times + count - 1] < opens):
        rows[target, s + COUNT] = 0.0
        return _LATE
    if rows[target, times] < opens:
        add_point(rules, rows, target, opens)
        drop_before(rules, rows, target, opens)
    _close(rules, rows, target, closes)
    early, late = rules.early_rate[node], rules.late_rate[node]
    if early > 0.0 and rules.soft_begin[node] > opens:
        _add_in_domain(rules, rows, target, min(rules.soft_begin[node], closes))
    if late > 0.0:
        _add_in_domain(rules, rows, target, max(rules.soft_end[node], opens))
        rows[target, s + SLOPE] += late
    for k in range(int(rows[target, s + COUNT])):
        rows[target, values + k] += _penalty(rules, node, rows[target, times + k])
    lower_behind(rules, rows, target)
    thin_out(rules, rows, target)
    return 0.0


@kernel(inline=True, borrow=True)
def _penalty(rules, node, time):
    """Return the cost of beginning service at a node at this time."""
    early = rules.early_rate[node] * max(0.0, rules.soft_begin[node] - time)
    return early + (rules.late_rate[node] * (time - rules.soft_end[node]) if time > rules.soft_end[node] else 0.0)


@kernel(inline=True, borrow=True)
def _add_in_domain(rules, rows, row, time):
    """Add a point to the function of a tail, in place; at the end of its domain if `time` is beyond."""
    s = rules.schedule_column
    end = rows[row, s + FIRST_TIME + int(rows[row, s + COUNT]) - 1]
    if rows[row, s + SLOPE] < math.inf or time < end:
        add_point(rules, rows, row, time)


@kernel(inline=True, borrow=True)
def _close(rules, rows, row, closes):
    """End the domain of the function of a tail at `closes`, in place, if it does not end before."""
    s = rules.schedule_column
    end = rows[row, s + FIRST_TIME + int(rows[row, s + COUNT]) - 1]
    if closes == math.inf or (rows[row, s + SLOPE] == math.inf and end <= closes):
        return
    add_point(rules, rows, row, closes)
    drop_after(rules, rows, row, closes)
    rows[row, s + SLOPE] = math.inf


@kernel(borrow=True)
def _drive_ahead(data, rules, rows, source, target, i, j, travel):
    """Write the function of head `source`, whose last node is i, at the arrival at node j to row `target`, in place."""
    s, w = rules.schedule_column, rules.schedule_width
    count, service, kind = int(rows[source, s + COUNT]), rules.service[i], int(rows[source, s + KIND])
    times = s + FIRST_TIME
    rows[target, s + KIND], rows[target, s + COUNT], rows[target, s + SLOPE] = kind, count, 0.0
    shift = 0.0 if rules.hourly else service + travel
    for k in range(count):
        rows[target, times + k], rows[target, times + w + k] = rows[source, times + k] + shift, rows[source, times + w + k]
    if not rules.hourly:
        return
    if count > 1:
        first, last = rows[target, times], rows[target, times + count - 1]
        for p in range(1, len(rules.period_starts)):
            leaves = rules.period_starts[p] - service
            arrives = departure(data, rules, i, j, kind, travel, rules.period_starts[p]) - service
            if first < leaves < last:
                add_point(rules, rows, target, leaves)
            if first < arrives < last:
                add_point(rules, rows, target, arrives)
    for k in range(int(rows[target, s + COUNT])):
        rows[target, times + k] = arrival(data, rules, i, j, kind, travel, rows[target, times + k] + service)


@kernel(borrow=True)
def _drive_back(data, rules, rows, source, target, i, j, travel):
    """Write the function of tail `source`, from node j on, at the begin of service at node i to row `target`, in place."""
    s, w = rules.schedule_column, rules.schedule_width
    count, service, kind = int(rows[source, s + COUNT]), rules.service[i], int(rows[source, s + KIND])
    times = s + FIRST_TIME
    rows[target, s + KIND], rows[target, s + COUNT], rows[target, s + SLOPE] = kind, count, rows[source, s + SLOPE]
    shift = 0.0 if rules.hourly else service + travel
    for k in range(count):
        rows[target, times + k], rows[target, times + w + k] = rows[source, times + k] - shift, rows[source, times + w + k]
    if not rules.hourly:
        return
    slope = rows[target, s + SLOPE]
    if count > 1 or (count == 1 and 0.0 < slope < math.inf):
        first, last = rows[target, times], rows[target, times + count - 1] if slope == math.inf else math.inf
        for p in range(1, len(rules.period_starts)):
            arrives = arrival(data, rules, i, j, kind, travel, rules.period_starts[p])
            if first < rules.period_starts[p] < last:
                add_point(rules, rows, target, rules.period_starts[p])
            if first < arrives < last:
                add_point(rules, rows, target, arrives)
    for k in range(int(rows[target, s + COUNT])):
        rows[target, times + k] = departure(data, rules, i, j, kind, travel, rows[target, times + k]) - service


@kernel(borrow=True, shared=True)
def joined_schedule(data, plan, rules, row, successor, travel, slot):
    """Return the cost of the times of a route made of a head and a tail; inf if no schedule is feasible.

    The arguments are those of segments.joined_time_cost.
    """
    head, tail, s, kind = plan.segments.head, plan.segments.tail, rules.schedule_column, plan.type[slot]
    target, node, tail_count = (
        data.clients + len(plan.size) + _JOIN_ROW,
        int(head[row, s + NODE]),
        int(tail[successor, s + COUNT]),
    )
    if head[row, s + COUNT] == 0.0 or tail_count == 0:
        return math.inf
    if not rules.hourly and tail[successor, s + SLOPE] == math.inf:
        latest = tail[successor, s + FIRST_TIME + tail_count - 1]
        if head[row, s + FIRST_TIME] + rules.service[node] + travel > latest:
            return math.inf
    _drive_ahead(data, rules, head, row, target, node, successor, travel)
    value = least_sum(rules, head, target, tail, successor)
    if rules.has_soft_windows:
        return value
    if value > rules.max_duration[kind]:  # the value is the duration
        return math.inf
    overtime = rules.overtime_rate[kind] * max(0.0, value - rules.overtime_from[kind]) if rules.overtime_rate[kind] > 0.0 else 0.0
    return rules.time_rate[kind] * value + overtime


@kernel(borrow=True)
def reset_schedule(rules, head, tail, depot, kind):
    """Set the functions of a slot's depot, in place: that of the departure in `head`, that of the return in `tail`."""
    s, w, rate = rules.schedule_column, rules.schedule_width, rules.schedule_rate[kind]
    times, values = s + FIRST_TIME, s + FIRST_TIME + w
    head[depot, s + NODE], head[depot, s + KIND], head[depot, s + SLOPE] = depot, kind, 0.0
    tail[depot, s + NODE], tail[depot, s + KIND] = depot, kind
    leaves, leave_by = rules.earliest[depot], min(rules.leave_by[kind], rules.last_event)
    head[depot, times], head[depot, values] = leaves, -rate * leaves
    head[depot, times + 1], head[depot, values + 1] = leave_by, -rate * leave_by
    head[depot, s + COUNT] = 0 if leaves > rules.leave_by[kind] else 2 if rate > 0.0 and leave_by > leaves else 1
    opens, closes = rules.return_from[kind], rules.latest[depot]
    tail[depot, times], tail[depot, values] = opens, rate * opens
    tail[depot, s + COUNT], tail[depot, s + SLOPE] = 1, rate
    if closes < math.inf:
        tail[depot, s + SLOPE] = math.inf
        if opens > closes:
            tail[depot, s + COUNT] = 0
        elif closes > opens:
            tail[depot, times + 1], tail[depot, values + 1], tail[depot, s + COUNT] = closes, rate * closes, 2
