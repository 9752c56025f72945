"""Feasibility of routes with breaks, rests or several time windows per client, by dynamic programming over labels.

A break has a window for its start and a duration; a rest is needed after a maximum driving time. Segments (segments.py) cannot
express these rules, so that a route is followed from node to node, with a label for each break schedule: (time, remaining
breaks, driving time since the last rest). A label is dropped if another one is at most as large in all three.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel

__all__ = ["breaks_feasible"]

_EASE = 1e-9  # relative tolerance of the latest start of a break


@kernel(borrow=True)
def breaks_feasible(data, plan, rules, slot, count, travel_times):
    """Return whether a vehicle can drive a candidate route in time, with its breaks and rests.

    There are at most as many labels as `segments.labels` has room for (constraint_tables.py). If there would be more, a feasible
    route may be called infeasible, but never the other way round.

    Args:
        data: RoutingData.
        plan: Plan; `segments.sequence` holds the route, and `segments.labels` is overwritten.
        rules: ConstraintTables.
        slot: The slot whose vehicle drives the route.
        count: The number of nodes of the route.
        travel_times: float64 [count + 1], the travel times of the route's legs.
    """
    kind, depot, labels = plan.type[slot], data.clients + slot, plan.segments.labels
    sequence, layer = plan.segments.sequence, 0
    first_break, last_break = rules.breaks_start[kind], rules.breaks_start[kind + 1]
    labels[0, 0, 0] = max(rules.earliest[depot], _release(data, rules, sequence, 0, count))
    if labels[0, 0, 0] > rules.leave_by[kind]:
        return False
    labels[0, 0, 1], labels[0, 0, 2], labels_count = float(last_break - first_break), 0.0, 1
    for i in range(count):
        node = sequence[i]
        labels_count = _drive(rules, labels, layer, labels_count, kind, travel_times[i])
        labels_count = _add_breaks(rules, labels, layer, labels_count, kind, last_break)
        opens = rules.earliest[node]
        if node >= rules.first_reload:
            opens = max(opens, _release(data, rules, sequence, i + 1, count))
        kept_count = 0
        for k in range(labels_count):
            time = _next_open(rules, node, max(opens, labels[layer, k, 0]))
            if time <= rules.latest[node]:
                labels[layer, kept_count, 0] = time + rules.service[node]
                labels[layer, kept_count, 1], labels[layer, kept_count, 2] = labels[layer, k, 1], labels[layer, k, 2]
                kept_count += 1
        labels_count = _add_breaks(rules, labels, layer, kept_count, kind, last_break)
        if labels_count == 0:
            return False
    labels_count = _drive(rules, labels, layer, labels_count, kind, travel_times[count])
    for k in range(labels_count):
        return_time, break_due = max(labels[layer, k, 0], rules.return_from[kind]), False
        for b in range(last_break - int(labels[layer, k, 1]), last_break):
            break_due |= return_time > rules.breaks[b, 1] * (1.0 + _EASE)
        if not break_due and return_time <= rules.latest[depot]:
            return True
    return False


@kernel(borrow=True)
def _release(data, rules, sequence, begin, count):
    """Return the earliest departure of the trip whose first client is sequence[begin]: the latest release time of its clients.

    count: The number of nodes of the route.
    """
    release = -math.inf
    for k in range(begin, count):
        if sequence[k] >= rules.first_reload:
            break
        release = max(release, rules.release[sequence[k]])
    return release


@kernel(borrow=True)
def _next_open(rules, node, time):
    """Return the first time, from `time` on, that is in no interval between two windows of the client."""
    for k in range(rules.closed_start[node], rules.closed_start[node + 1]):
        if rules.closed[k, 0] < time < rules.closed[k, 1]:
            time = rules.closed[k, 1]
    return time


@kernel(borrow=True)
def _drive(rules, labels, layer, labels_count, kind, travel):
    """Add a leg to all labels, in place, and drop labels that exceed the driving time; return how many remain.

    Args:
        rules: ConstraintTables.
        labels: float64 [2, L, 3], `Segments.labels`.
        layer: The index of the labels in the first axis.
        labels_count: The number of labels.
        kind: The vehicle type.
        travel: The travel time of the leg.
    """
    kept = 0
    for k in range(labels_count):
        driving = labels[layer, k, 2] + travel
        if driving <= rules.max_driving[kind]:
            labels[layer, kept, 0], labels[layer, kept, 1] = labels[layer, k, 0] + travel, labels[layer, k, 1]
            labels[layer, kept, 2] = driving
            kept += 1
    return kept


@kernel(borrow=True)
def _add_breaks(rules, labels, layer, labels_count, kind, last_break):
    """Add a label for each break or rest that can be taken here, in place, and drop dominated labels; return how many remain."""
    index = 0
    while index < labels_count:
        time, breaks_left, driving = labels[layer, index, 0], labels[layer, index, 1], labels[layer, index, 2]
        index += 1
        if breaks_left > 0.0:
            b = last_break - int(breaks_left)
            if time <= rules.breaks[b, 1] * (1.0 + _EASE):
                duration = rules.breaks[b, 2]
                end = max(time, rules.breaks[b, 0]) + duration
                driving_after = 0.0 if duration >= rules.rest_duration[kind] else driving  # a long break is a rest, too
                labels_count = _add_label(labels, layer, labels_count, end, breaks_left - 1.0, driving_after)
        if rules.rest_duration[kind] < math.inf and driving > 0.0:
            labels_count = _add_label(labels, layer, labels_count, time + rules.rest_duration[kind], breaks_left, 0.0)
    return _drop_dominated(labels, layer, labels_count)


@kernel(borrow=True)
def _add_label(labels, layer, labels_count, time, breaks_left, driving):
    """Append a label, if there is room and no other label is at most as large in all columns; return the number of labels."""
    if labels_count == labels.shape[1]:
        return labels_count
    for k in range(labels_count):
        if labels[layer, k, 0] <= time and labels[layer, k, 1] <= breaks_left and labels[layer, k, 2] <= driving:
            return labels_count
    labels[layer, labels_count, 0], labels[layer, labels_count, 1], labels[layer, labels_count, 2] = time, breaks_left, driving
    return labels_count + 1


@kernel(borrow=True)
def _drop_dominated(labels, layer, labels_count):
    """Drop dominated labels, in place, and all but the first of equal labels; return how many remain."""
    kept = 0
    for k in range(labels_count):
        worse = False
        for other in range(labels_count):
            if other != k:
                as_good = True
                equal = True
                for column in range(3):
                    as_good &= labels[layer, other, column] <= labels[layer, k, column]
                    equal &= labels[layer, other, column] == labels[layer, k, column]
                worse |= as_good and (not equal or other < k)
        labels[1, k, 0] = 1.0 if worse else 0.0
    for k in range(labels_count):
        if labels[1, k, 0] == 0.0:
            for column in range(3):
                labels[layer, kept, column] = labels[layer, k, column]
            kept += 1
    return kept
