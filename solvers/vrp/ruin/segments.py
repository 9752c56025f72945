"""Data of route segments, by which the side constraints of two joined segments are checked in constant time.

The head of a node is its route from the depot up to the node; its tail is the route from the node to the end. Both are rows whose
columns constraint_tables.py defines. Times (duration, earliest start, latest start) are joined as in Vidal, Crainic, Gendreau &
Prins, A Unified Solution Framework for Multi-Attribute Vehicle Routing Problems, EJOR 234 (2014), section 3.2. Loads are joined
in the same way: the sum delivered, the sum collected, and the greatest load on board.

A vehicle may reload at a depot (a visit to a reload node) and make several trips. A trip leaves when everything that it delivers
has been released; rows therefore hold the current trip apart from the trips before it (head) or after it (tail). A late arrival
is not refused: its lateness is added to the column LATE. A slot is a place for one route (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.solvers.vrp.ruin.clusters import mark_cuts
from corl.solvers.vrp.ruin.constraint_tables import (
    AFTER,
    BEFORE,
    COLLECTS,
    DELIVERS,
    LATE,
    LOADS,
    OPEN,
    RELEASE,
    RELOADS,
    TRIP,
)  # fmt: skip
from corl.solvers.vrp.ruin.coupling import record_route, release_route
from corl.solvers.vrp.ruin.schedules import extend_schedule, joined_schedule, prepend_schedule, reset_schedule

__all__ = [
    "extend",
    "joined_duration",
    "joined_time_cost",
    "may_serve",
    "refresh",
    "refresh_all",
    "refresh_if_rules",
    "travel_time",
]

_ORDER_PENALTY = 1e6  # added to the column OPEN if a delivery follows a collection: such a route never has OPEN = 0
_MAX_LATE = 1e-7  # greatest sum of lateness that counts as rounding, in units of time


@kernel(inline=True, borrow=True)
def travel_time(data, rules, i, j, kind, leg):
    """Return the travel time from node i to node j for vehicle type `kind`; `leg` is the distance between the two nodes."""
    if not rules.has_durations:
        return leg
    if j >= data.clients:
        if i >= data.clients or data.metric_node[j + (len(data.metric_node) - data.clients) // 2] < 0:
            return 0.0
        j += (len(data.metric_node) - data.clients) // 2
    return rules.durations[rules.profile[kind], data.metric_node[i], data.metric_node[j]]


@kernel(inline=True, borrow=True)
def may_serve(rules, kind, client):
    """Return whether vehicles of this type may serve the client, or reload at the node."""
    return not rules.restricted or rules.allowed[kind, client]


@kernel(inline=True, borrow=True)
def _join_times(duration, earliest, latest, travel, next_duration, next_earliest, next_latest):
    """Join the times of two segments, the second after a leg with travel time `travel`.

    Returns:
        Duration, earliest start and latest start of both together, and the lateness at the second.
    """
    offset = duration + travel
    wait = max(next_earliest - offset - latest, 0.0)
    late = max(earliest + offset - next_latest, 0.0)
    return (
        offset + next_duration + wait,
        max(next_earliest - offset, earliest) - wait,
        min(next_latest - offset, latest) + late,
        late,
    )


@kernel(borrow=True)
def extend(data, rules, rows, source, target, node, travel):
    """Write the head of row `source` extended by `node` to row `target`, in place.

    Args:
        data: RoutingData.
        rules: ConstraintTables.
        rows: `Segments.head`.
        source: The row of the head that is extended.
        target: The row that is written.
        node: A client or a reload node.
        travel: Travel time from the last node of `source` to `node`.
    """
    late = rows[source, LATE]
    if node >= rules.first_reload:
        duration, earliest, latest, added_late = _up_to_trip_end(rows, source, rows[source, RELEASE])
        duration, earliest, latest, reload_late = _join_times(
            duration, earliest, latest, travel, 0.0, -math.inf, rules.latest[node]
        )
        rows[target, BEFORE], rows[target, BEFORE + 1], rows[target, BEFORE + 2] = duration, earliest, latest
        rows[target, TRIP], rows[target, TRIP + 1] = 0.0, rules.earliest[node]
        rows[target, TRIP + 2] = rules.latest[node]
        rows[target, RELEASE], rows[target, RELOADS] = -math.inf, rows[source, RELOADS] + 1.0
        rows[target, DELIVERS] = rows[target, COLLECTS] = 0.0
        rows[target, OPEN], rows[target, LATE] = rows[source, OPEN], late + added_late + reload_late
        for q in range(LOADS, LOADS + 3 * rules.dimensions):
            rows[target, q] = 0.0
        if rules.has_schedule:
            rows[target, LATE] = extend_schedule(data, rules, rows, source, target, node, travel)
        return
    if rules.has_schedule:
        late = extend_schedule(data, rules, rows, source, target, node, travel)
    if rules.timed:
        rows[target, BEFORE], rows[target, BEFORE + 1] = rows[source, BEFORE], rows[source, BEFORE + 1]
        rows[target, BEFORE + 2] = rows[source, BEFORE + 2]
        duration, earliest, latest, added_late = _join_times(
            rows[source, TRIP], rows[source, TRIP + 1], rows[source, TRIP + 2], travel, rules.service[node], rules.earliest[node],
            rules.latest[node],
        )  # fmt: skip
        rows[target, TRIP], rows[target, TRIP + 1], rows[target, TRIP + 2] = duration, earliest, latest
        rows[target, RELEASE] = max(rows[source, RELEASE], rules.release[node])
        late += added_late
    rows[target, LATE], rows[target, RELOADS] = late, rows[source, RELOADS]
    rows[target, DELIVERS], rows[target, COLLECTS] = rows[source, DELIVERS], rows[source, COLLECTS]
    rows[target, OPEN] = rows[source, OPEN]
    if rules.partner[node] >= 0:
        rows[target, OPEN] += 1.0 if rules.is_pickup[node] else -1.0
    for q in range(rules.dimensions):
        column, delivery, pickup = LOADS + 3 * q, rules.delivery[node, q], rules.pickup[node, q]
        if rules.linehaul_first:
            if delivery > 0.0 and rows[source, COLLECTS] > 0.0:
                rows[target, OPEN] += _ORDER_PENALTY
            rows[target, DELIVERS] = max(rows[target, DELIVERS], 1.0 if delivery > 0.0 else 0.0)
            rows[target, COLLECTS] = max(rows[target, COLLECTS], 1.0 if pickup > 0.0 else 0.0)
        rows[target, column] = rows[source, column] + delivery
        rows[target, column + 1] = rows[source, column + 1] + pickup
        rows[target, column + 2] = max(rows[source, column + 2] + delivery, rows[source, column + 1] + max(delivery, pickup))


@kernel(borrow=True)
def _up_to_trip_end(rows, row, release):
    """Return duration, earliest start, latest start and lateness of a whole head whose current trip leaves after `release`."""
    duration, earliest, latest, late = _join_times(
        rows[row, BEFORE], rows[row, BEFORE + 1], rows[row, BEFORE + 2], 0.0, 0.0, release, math.inf
    )
    duration, earliest, latest, added_late = _join_times(
        duration, earliest, latest, 0.0, rows[row, TRIP], rows[row, TRIP + 1], rows[row, TRIP + 2]
    )
    return duration, earliest, latest, late + added_late


@kernel(borrow=True, shared=True)
def joined_time_cost(data, plan, rules, row, successor, travel, slot):
    """Return the cost of the duration of a route made of a head and a tail; inf if the route violates a side constraint.

    Args:
        data: RoutingData.
        plan: Plan.
        rules: ConstraintTables.
        row: The row of the head in `Segments.head`.
        successor: The first node of the tail.
        travel: Travel time from the last node of the head to `successor`.
        slot: The slot whose vehicle drives the route.
    """
    head, tail, kind = plan.segments.head, plan.segments.tail, plan.type[slot]
    if successor < data.clients and rules.locked[successor]:
        return math.inf
    if head[row, OPEN] + tail[successor, OPEN] != 0.0:
        return math.inf
    for q in range(rules.dimensions):
        column = LOADS + 3 * q
        max_load = max(head[row, column + 2] + tail[successor, column], head[row, column + 1] + tail[successor, column + 2])
        if max_load > rules.capacity[kind, q]:
            return math.inf
    if rules.linehaul_first:
        if head[row, COLLECTS] > 0.0 and tail[successor, DELIVERS] > 0.0:
            return math.inf
        deliveries = head[row, DELIVERS] + tail[successor, DELIVERS]
        if deliveries == 0.0 and head[row, COLLECTS] + tail[successor, COLLECTS] > 0.0:
            return math.inf
    if rules.multi_trip and head[row, RELOADS] + tail[successor, RELOADS] > rules.reloads[kind]:
        return math.inf
    if rules.has_schedule:
        return joined_schedule(data, plan, rules, row, successor, travel, slot)
    if not rules.timed:
        return 0.0
    duration, earliest, latest, late = _up_to_trip_end(head, row, max(head[row, RELEASE], tail[successor, RELEASE]))
    duration, earliest, latest, added_late = _join_times(
        duration, earliest, latest, travel, tail[successor, TRIP], tail[successor, TRIP + 1], tail[successor, TRIP + 2]
    )
    late += added_late + head[row, LATE] + tail[successor, LATE]
    if rules.multi_trip:
        duration, earliest, latest, added_late = _join_times(
            duration, earliest, latest, 0.0, tail[successor, AFTER], tail[successor, AFTER + 1], tail[successor, AFTER + 2]
        )
        late += added_late
    if late > _MAX_LATE or duration > rules.max_duration[kind]:
        return math.inf
    return _time_cost(rules, kind, duration)


@kernel(borrow=True, shared=True)
def joined_duration(plan, rules, row, successor, travel):
    """Return the duration of a route made of a head and a tail, as `joined_time_cost` computes it; no limit is checked.

    Args:
        plan: Plan.
        rules: ConstraintTables.
        row: The row of the head in `Segments.head`.
        successor: The first node of the tail.
        travel: Travel time from the last node of the head to `successor`.
    """
    head, tail = plan.segments.head, plan.segments.tail
    duration, earliest, latest, _ = _up_to_trip_end(head, row, max(head[row, RELEASE], tail[successor, RELEASE]))
    duration, earliest, latest, _ = _join_times(
        duration, earliest, latest, travel, tail[successor, TRIP], tail[successor, TRIP + 1], tail[successor, TRIP + 2]
    )
    if rules.multi_trip:
        duration, earliest, latest, _ = _join_times(
            duration, earliest, latest, 0.0, tail[successor, AFTER], tail[successor, AFTER + 1], tail[successor, AFTER + 2]
        )
    return duration


@kernel(inline=True, borrow=True)
def _time_cost(rules, kind, duration):
    """Return the cost of a route's duration."""
    if not rules.has_time_costs:
        return 0.0
    return rules.time_rate[kind] * duration + rules.overtime_rate[kind] * max(0.0, duration - rules.overtime_from[kind])


@kernel(borrow=True)
def _prepend(data, rules, rows, source, target, node, travel):
    """Write `node` followed by the tail of row `source` to row `target` of `rows`, in place: the mirror image of `extend`."""
    late = rows[source, LATE]
    if node >= rules.first_reload:
        duration, earliest, latest, added_late = _join_times(
            0.0, max(rules.earliest[node], rows[source, RELEASE]), rules.latest[node], travel, rows[source, TRIP],
            rows[source, TRIP + 1], rows[source, TRIP + 2],
        )  # fmt: skip
        duration, earliest, latest, reload_late = _join_times(
            duration, earliest, latest, 0.0, rows[source, AFTER], rows[source, AFTER + 1], rows[source, AFTER + 2]
        )
        rows[target, AFTER], rows[target, AFTER + 1], rows[target, AFTER + 2] = duration, earliest, latest
        rows[target, TRIP], rows[target, TRIP + 1], rows[target, TRIP + 2] = 0.0, -math.inf, rules.latest[node]
        rows[target, RELEASE], rows[target, RELOADS] = -math.inf, rows[source, RELOADS] + 1.0
        rows[target, DELIVERS] = rows[target, COLLECTS] = 0.0
        rows[target, OPEN], rows[target, LATE] = rows[source, OPEN], late + added_late + reload_late
        for q in range(LOADS, LOADS + 3 * rules.dimensions):
            rows[target, q] = 0.0
        if rules.has_schedule:
            rows[target, LATE] = prepend_schedule(data, rules, rows, source, target, node, travel)
        return
    if rules.has_schedule:
        late = prepend_schedule(data, rules, rows, source, target, node, travel)
    if rules.timed:
        for k in range(3):
            rows[target, AFTER + k] = rows[source, AFTER + k]
        duration, earliest, latest, added_late = _join_times(
            rules.service[node], rules.earliest[node], rules.latest[node], travel, rows[source, TRIP], rows[source, TRIP + 1],
            rows[source, TRIP + 2],
        )  # fmt: skip
        rows[target, TRIP], rows[target, TRIP + 1], rows[target, TRIP + 2] = duration, earliest, latest
        rows[target, RELEASE] = max(rows[source, RELEASE], rules.release[node])
        late += added_late
    rows[target, LATE], rows[target, RELOADS] = late, rows[source, RELOADS]
    rows[target, DELIVERS], rows[target, COLLECTS] = rows[source, DELIVERS], rows[source, COLLECTS]
    rows[target, OPEN] = rows[source, OPEN]
    if rules.partner[node] >= 0:
        rows[target, OPEN] += 1.0 if rules.is_pickup[node] else -1.0
    for q in range(rules.dimensions):
        column, delivery, pickup = LOADS + 3 * q, rules.delivery[node, q], rules.pickup[node, q]
        if rules.linehaul_first:
            rows[target, DELIVERS] = max(rows[target, DELIVERS], 1.0 if delivery > 0.0 else 0.0)
            rows[target, COLLECTS] = max(rows[target, COLLECTS], 1.0 if pickup > 0.0 else 0.0)
        rows[target, column + 2] = max(max(delivery, pickup) + rows[source, column], pickup + rows[source, column + 2])
        rows[target, column] = rows[source, column] + delivery
        rows[target, column + 1] = rows[source, column + 1] + pickup


@kernel(borrow=True, shared=True)
def refresh(data, plan, rules, slot):
    """Recompute the heads and tails of a slot's route, in place; return the change in the cost of the route's duration."""
    depot, kind, segments = data.clients + slot, plan.type[slot], plan.segments
    _reset_depot(rules, segments.head, segments.tail, depot, kind)
    before, node = depot, plan.next[depot]
    while node < data.clients:
        extend(data, rules, segments.head, before, node, node, travel_time(data, rules, before, node, kind, plan.leg[before]))
        before, node = node, plan.next[node]
    successor, node = depot, plan.prev[depot]
    while node < data.clients:
        _prepend(
            data, rules, segments.tail, successor, node, node, travel_time(data, rules, node, successor, kind, plan.leg[node])
        )
        successor, node = node, plan.prev[node]
    old = segments.time_cost[slot]
    segments.time_cost[slot] = 0.0
    if rules.has_schedule and rules.has_time_costs and plan.size[slot] > 0:
        travel = travel_time(data, rules, depot, successor, kind, plan.leg[depot])
        cost = joined_schedule(data, plan, rules, depot, successor, travel, slot)
        segments.time_cost[slot] = cost if cost < math.inf else 0.0  # an infeasible route is repaired, or refused later
    elif rules.has_time_costs and plan.size[slot] > 0:
        duration, earliest, latest, _ = _up_to_trip_end(
            segments.head, depot, max(segments.head[depot, RELEASE], segments.tail[successor, RELEASE])
        )
        row = segments.tail
        travel = travel_time(data, rules, depot, successor, kind, plan.leg[depot])
        duration, earliest, latest, _ = _join_times(
            duration, earliest, latest, travel, row[successor, TRIP], row[successor, TRIP + 1], row[successor, TRIP + 2]
        )
        duration, earliest, latest, _ = _join_times(
            duration, earliest, latest, 0.0, row[successor, AFTER], row[successor, AFTER + 1], row[successor, AFTER + 2]
        )
        segments.time_cost[slot] = _time_cost(rules, kind, duration)
    return segments.time_cost[slot] - old + _refresh_structure(data, plan, rules, slot)


@kernel(borrow=True, shared=True)
def _refresh_structure(data, plan, rules, slot):
    """Recompute the state of clusters, balance and rosters for a slot's route, in place; return the change in their costs."""
    if rules.structure.has_clusters:
        mark_cuts(data, plan, rules, slot)
    if not rules.structure.is_coupled:
        return 0.0
    if plan.size[slot] == 0:
        return release_route(plan, rules, slot)
    state, kind, depot = plan.segments.structure, plan.type[slot], data.clients + slot
    distance, driving, duration, node = 0.0, 0.0, 0.0, depot
    while True:
        successor, leg = plan.next[node], plan.leg[node]
        distance += leg
        driving += travel_time(data, rules, node, successor, kind, leg)
        node = successor
        if node >= data.clients:
            break
        state.reach[node] = distance
    if rules.structure.measures_duration:
        first = plan.next[depot]
        duration = joined_duration(plan, rules, depot, first, travel_time(data, rules, depot, first, kind, plan.leg[depot]))
    return record_route(plan, rules, slot, distance, driving, duration)


@kernel(borrow=True)
def _reset_depot(rules, head, tail, depot, kind):
    """Set the rows of a slot's depot, in place: the departure in `head`, the return in `tail`."""
    for k in range(LOADS + 3 * rules.dimensions):
        head[depot, k] = tail[depot, k] = 0.0
    head[depot, BEFORE + 1] = tail[depot, AFTER + 1] = -math.inf
    head[depot, BEFORE + 2] = tail[depot, AFTER + 2] = math.inf
    head[depot, TRIP + 1], head[depot, TRIP + 2] = rules.earliest[depot], rules.leave_by[kind]
    tail[depot, TRIP + 1], tail[depot, TRIP + 2] = rules.return_from[kind], rules.latest[depot]
    head[depot, RELEASE] = tail[depot, RELEASE] = -math.inf
    for q in range(rules.dimensions):
        head[depot, LOADS + 3 * q + 1] = head[depot, LOADS + 3 * q + 2] = rules.initial_load[kind, q]
    if rules.has_schedule:
        reset_schedule(rules, head, tail, depot, kind)


@kernel(inline=True, borrow=True)
def refresh_if_rules(data, plan, rules, slot):
    """Call `refresh` if there are side constraints, and return its result; otherwise return 0."""
    if rules is None:
        return 0.0
    return refresh(data, plan, rules, slot)


@kernel
def refresh_all(data, plan, rules):
    """Recompute the heads and tails of all routes, in place."""
    for slot in range(len(plan.size)):
        refresh(data, plan, rules, slot)
