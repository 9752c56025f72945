"""Feasibility of routes with breaks, rests or several time windows per client, by labels that follow all break schedules at once.

Segments cannot express these rules, so that a route is followed from node to node. A label is (time, remaining breaks, driving
time since the last rest); a label that another dominates is dropped.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel

__all__ = ["breaks_feasible"]

_EASE = 1e-9  # relative tolerance of the latest start of a break


@kernel(borrow=True)
def breaks_feasible(data, plan, rules, slot, count, ways):
    """Return whether a vehicle can visit a candidate route in time, with its breaks and rests.

    If there are more than `_LABELS` labels, the rest is dropped: the answer is then on the safe side.

    Args:
        data: RoutingData.
        plan: Plan; the route is `segments.sequence`, and `segments.labels` is scratch.
        rules: ConstraintTables.
        slot: The slot whose vehicle drives the route.
        count: The number of nodes of the route.
        ways: float64 [count + 1], the travel times of its legs.
    """
    kind, depot, labels = plan.type[slot], data.clients + slot, plan.segments.labels
    sequence, layer = plan.segments.sequence, 0
    first_break, last_break = rules.breaks_start[kind], rules.breaks_start[kind + 1]
    labels[0, 0, 0] = max(rules.earliest[depot], _release(data, rules, sequence, 0, count))
    if labels[0, 0, 0] > rules.leave_by[kind]:
        return False
    labels[0, 0, 1], labels[0, 0, 2], alive = float(last_break - first_break), 0.0, 1
    for i in range(count):
        node = sequence[i]
        alive = _drive(rules, labels, layer, alive, kind, ways[i])
        alive = _add_breaks(rules, labels, layer, alive, kind, last_break)
        opens = rules.earliest[node]
        if node >= rules.first_reload:
            opens = max(opens, _release(data, rules, sequence, i + 1, count))
        kept = 0
        for k in range(alive):
            time = _next_open(rules, node, max(opens, labels[layer, k, 0]))
            if time <= rules.latest[node]:
                labels[layer, kept, 0] = time + rules.service[node]
                labels[layer, kept, 1], labels[layer, kept, 2] = labels[layer, k, 1], labels[layer, k, 2]
                kept += 1
        alive = _add_breaks(rules, labels, layer, kept, kind, last_break)
        if alive == 0:
            return False
    alive = _drive(rules, labels, layer, alive, kind, ways[count])
    for k in range(alive):
        back, due = max(labels[layer, k, 0], rules.return_from[kind]), False
        for b in range(last_break - int(labels[layer, k, 1]), last_break):
            due |= back > rules.breaks[b, 1] * (1.0 + _EASE)
        if not due and back <= rules.latest[depot]:
            return True
    return False


@kernel(borrow=True)
def _release(data, rules, sequence, begin, count):
    """Return when the trip may leave whose first client is sequence[begin]."""
    release = -math.inf
    for k in range(begin, count):
        if sequence[k] >= rules.first_reload:
            break
        release = max(release, rules.release[sequence[k]])
    return release


@kernel(borrow=True)
def _next_open(rules, node, time):
    """Return the first time, from `time` on, at which a window of the client is open."""
    for k in range(rules.closed_start[node], rules.closed_start[node + 1]):
        if rules.closed[k, 0] < time < rules.closed[k, 1]:
            time = rules.closed[k, 1]
    return time


@kernel(borrow=True)
def _drive(rules, labels, layer, alive, kind, way):
    """Add a leg to all labels, in place, and drop those that exceed the driving time; return how many remain.

    labels: float64 [2, L, 3]; layer: the first index of the labels; alive: how many there are; way: travel time of the leg.
    """
    kept = 0
    for k in range(alive):
        driven = labels[layer, k, 2] + way
        if driven <= rules.max_driving[kind]:
            labels[layer, kept, 0], labels[layer, kept, 1] = labels[layer, k, 0] + way, labels[layer, k, 1]
            labels[layer, kept, 2] = driven
            kept += 1
    return kept


@kernel(borrow=True)
def _add_breaks(rules, labels, layer, alive, kind, last_break):
    """Add the labels that a break or a rest here leads to, in place, and drop dominated ones; return how many there are."""
    index = 0
    while index < alive:
        time, left, driven = labels[layer, index, 0], labels[layer, index, 1], labels[layer, index, 2]
        index += 1
        if left > 0.0:
            b = last_break - int(left)
            if time <= rules.breaks[b, 1] * (1.0 + _EASE):
                long = rules.breaks[b, 2]
                since = 0.0 if long >= rules.rest_duration[kind] else driven
                alive = _add_label(labels, layer, alive, max(time, rules.breaks[b, 0]) + long, left - 1.0, since)
        if rules.rest_duration[kind] < math.inf and driven > 0.0:
            alive = _add_label(labels, layer, alive, time + rules.rest_duration[kind], left, 0.0)
    return _drop_dominated(labels, layer, alive)


@kernel(borrow=True)
def _add_label(labels, layer, alive, time, left, driven):
    """Append a label, if there is room and no other is as good in everything; return how many there are."""
    if alive == labels.shape[1]:
        return alive
    for k in range(alive):
        if labels[layer, k, 0] <= time and labels[layer, k, 1] <= left and labels[layer, k, 2] <= driven:
            return alive
    labels[layer, alive, 0], labels[layer, alive, 1], labels[layer, alive, 2] = time, left, driven
    return alive + 1


@kernel(borrow=True)
def _drop_dominated(labels, layer, alive):
    """Drop dominated labels, in place, and all but the first of equal ones; return how many remain."""
    kept = 0
    for k in range(alive):
        worse = False
        for other in range(alive):
            if other != k:
                as_good = True
                equal = True
                for column in range(3):
                    as_good &= labels[layer, other, column] <= labels[layer, k, column]
                    equal &= labels[layer, other, column] == labels[layer, k, column]
                worse |= as_good and (not equal or other < k)
        labels[1, k, 0] = 1.0 if worse else 0.0
    for k in range(alive):
        if labels[1, k, 0] == 0.0:
            for column in range(3):
                labels[layer, kept, column] = labels[layer, k, column]
            kept += 1
    return kept
