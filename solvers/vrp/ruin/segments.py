"""Segments of routes: what rules need to know of a stretch of a route, joined to the next one in constant time.

A duration with the earliest and latest start that allow it is joined as in Vidal, Crainic, Gendreau & Prins, A Unified Solution
Framework for Multi-Attribute Vehicle Routing Problems, EJOR 234 (2014), section 3.2; loads in the same way: what is delivered,
what is collected, and the most that is aboard. A trip leaves when all it brings is there; head and tail hold the present trip
apart from those before or after it. Time windows that are missed are counted (LATE) instead of refused.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.solvers.vrp.ruin.terms import (
    AFTER,
    BEFORE,
    BRINGS,
    COLLECTS,
    LATE,
    LOADS,
    OPEN,
    RELEASE,
    RELOADS,
    TRIP,
)  # fmt: skip

__all__ = ["close", "extend", "may_serve", "refresh", "refresh_all", "refreshed", "travel"]

_BROKEN = 1e6  # shipments that nobody brings: a delivery behind what was collected
_LATE = 1e-7  # relative to the times themselves: more than rounding


@kernel(inline=True, borrow=True)
def travel(data, terms, i, j, kind, leg):
    """How long the way from node i to node j takes, `leg` being its length."""
    if not terms.travelled:
        return leg
    if j >= data.clients:
        if i >= data.clients or data.place[j + (len(data.place) - data.clients) // 2] < 0:
            return 0.0
        j += (len(data.place) - data.clients) // 2
    return terms.durations[terms.profile[kind], data.place[i], data.place[j]]


@kernel(inline=True, borrow=True)
def may_serve(terms, kind, client):
    """Whether vehicles of this type may serve a client, or reload there."""
    return not terms.owned or terms.allowed[kind, client]


@kernel(inline=True, borrow=True)
def _joined(duration, earliest, latest, way, its_duration, its_earliest, its_latest):
    """Two stretches of time in a row, and by how much the second is late."""
    after = duration + way
    wait = max(its_earliest - after - latest, 0.0)
    late = max(earliest + after - its_latest, 0.0)
    return (
        after + its_duration + wait,
        max(its_earliest - after, earliest) - wait,
        min(its_latest - after, latest) + late,
        late,
    )


@kernel(borrow=True)
def extend(data, terms, rows, source, target, node, way):
    """Row `target` of heads becomes row `source` and then a node, a client or a reload, `way` of time farther."""
    late = rows[source, LATE]
    if node >= terms.real:
        d, e, late_start, more = _with_trip(rows, source, rows[source, RELEASE])
        d, e, late_start, again = _joined(d, e, late_start, way, 0.0, -math.inf, terms.latest[node])
        rows[target, BEFORE], rows[target, BEFORE + 1], rows[target, BEFORE + 2] = d, e, late_start
        rows[target, TRIP], rows[target, TRIP + 1] = 0.0, terms.earliest[node]
        rows[target, TRIP + 2] = terms.latest[node]
        rows[target, RELEASE], rows[target, RELOADS] = -math.inf, rows[source, RELOADS] + 1.0
        rows[target, BRINGS] = rows[target, COLLECTS] = 0.0
        rows[target, OPEN], rows[target, LATE] = rows[source, OPEN], late + more + again
        for q in range(LOADS, LOADS + 3 * terms.dimensions):
            rows[target, q] = 0.0
        return
    if terms.clocked:
        rows[target, BEFORE], rows[target, BEFORE + 1] = rows[source, BEFORE], rows[source, BEFORE + 1]
        rows[target, BEFORE + 2] = rows[source, BEFORE + 2]
        d, e, late_start, more = _joined(
            rows[source, TRIP], rows[source, TRIP + 1], rows[source, TRIP + 2], way, terms.service[node], terms.earliest[node],
            terms.latest[node],
        )  # fmt: skip
        rows[target, TRIP], rows[target, TRIP + 1], rows[target, TRIP + 2] = d, e, late_start
        rows[target, RELEASE] = max(rows[source, RELEASE], terms.release[node])
        late += more
    rows[target, LATE], rows[target, RELOADS] = late, rows[source, RELOADS]
    rows[target, BRINGS], rows[target, COLLECTS] = rows[source, BRINGS], rows[source, COLLECTS]
    rows[target, OPEN] = rows[source, OPEN]
    if terms.partner[node] >= 0:
        rows[target, OPEN] += 1.0 if terms.first[node] else -1.0
    for q in range(terms.dimensions):
        place, d, p = LOADS + 3 * q, terms.delivery[node, q], terms.pickup[node, q]
        if terms.ordered:
            if d > 0.0 and rows[source, COLLECTS] > 0.0:
                rows[target, OPEN] += _BROKEN
            rows[target, BRINGS] = max(rows[target, BRINGS], 1.0 if d > 0.0 else 0.0)
            rows[target, COLLECTS] = max(rows[target, COLLECTS], 1.0 if p > 0.0 else 0.0)
        rows[target, place] = rows[source, place] + d
        rows[target, place + 1] = rows[source, place + 1] + p
        rows[target, place + 2] = max(rows[source, place + 2] + d, rows[source, place + 1] + max(d, p))


@kernel(borrow=True)
def _with_trip(rows, row, release):
    """Duration, earliest and latest start of all up to the end of a head's row; its trip leaves after `release`. And how late."""
    d, e, late_start, late = _joined(rows[row, BEFORE], rows[row, BEFORE + 1], rows[row, BEFORE + 2], 0.0, 0.0, release, math.inf)
    d, e, late_start, more = _joined(d, e, late_start, 0.0, rows[row, TRIP], rows[row, TRIP + 1], rows[row, TRIP + 2])
    return d, e, late_start, late + more


@kernel(borrow=True)
def close(data, plan, terms, row, behind, way, slot):
    """What the time of a route costs that is a head's row and then the tail from `behind`; inf where that breaks a rule."""
    head, tail, kind = plan.segments.head, plan.segments.tail, plan.type[slot]
    if behind < data.clients and terms.locked[behind]:
        return math.inf
    if head[row, OPEN] + tail[behind, OPEN] != 0.0:
        return math.inf
    for q in range(terms.dimensions):
        place = LOADS + 3 * q
        most = max(head[row, place + 2] + tail[behind, place], head[row, place + 1] + tail[behind, place + 2])
        if most > terms.capacity[kind, q]:
            return math.inf
    if terms.ordered:
        if head[row, COLLECTS] > 0.0 and tail[behind, BRINGS] > 0.0:
            return math.inf
        brings = head[row, BRINGS] + tail[behind, BRINGS]
        if brings == 0.0 and head[row, COLLECTS] + tail[behind, COLLECTS] > 0.0:
            return math.inf
    if terms.trips and head[row, RELOADS] + tail[behind, RELOADS] > terms.reloads[kind]:
        return math.inf
    if not terms.clocked:
        return 0.0
    d, e, late_start, late = _with_trip(head, row, max(head[row, RELEASE], tail[behind, RELEASE]))
    d, e, late_start, more = _joined(d, e, late_start, way, tail[behind, TRIP], tail[behind, TRIP + 1], tail[behind, TRIP + 2])
    late += more + head[row, LATE] + tail[behind, LATE]
    if terms.trips:
        d, e, late_start, more = _joined(
            d, e, late_start, 0.0, tail[behind, AFTER], tail[behind, AFTER + 1], tail[behind, AFTER + 2]
        )
        late += more
    if late > _LATE or d > terms.longest[kind]:
        return math.inf
    return _time_cost(terms, kind, d)


@kernel(inline=True, borrow=True)
def _time_cost(terms, kind, duration):
    if not terms.lasting:
        return 0.0
    return terms.rate[kind] * duration + terms.over_rate[kind] * max(0.0, duration - terms.over[kind])


@kernel(borrow=True)
def _prepend(data, terms, rows, source, target, node, way):
    """Row `target` of tails becomes a node, a client or a reload, and then row `source`, `way` of time farther."""
    late = rows[source, LATE]
    if node >= terms.real:
        d, e, late_start, more = _joined(
            0.0, max(terms.earliest[node], rows[source, RELEASE]), terms.latest[node], way, rows[source, TRIP],
            rows[source, TRIP + 1], rows[source, TRIP + 2],
        )  # fmt: skip
        d, e, late_start, again = _joined(
            d, e, late_start, 0.0, rows[source, AFTER], rows[source, AFTER + 1], rows[source, AFTER + 2]
        )
        rows[target, AFTER], rows[target, AFTER + 1], rows[target, AFTER + 2] = d, e, late_start
        rows[target, TRIP], rows[target, TRIP + 1], rows[target, TRIP + 2] = 0.0, -math.inf, terms.latest[node]
        rows[target, RELEASE], rows[target, RELOADS] = -math.inf, rows[source, RELOADS] + 1.0
        rows[target, BRINGS] = rows[target, COLLECTS] = 0.0
        rows[target, OPEN], rows[target, LATE] = rows[source, OPEN], late + more + again
        for q in range(LOADS, LOADS + 3 * terms.dimensions):
            rows[target, q] = 0.0
        return
    if terms.clocked:
        for k in range(3):
            rows[target, AFTER + k] = rows[source, AFTER + k]
        d, e, late_start, more = _joined(
            terms.service[node], terms.earliest[node], terms.latest[node], way, rows[source, TRIP], rows[source, TRIP + 1],
            rows[source, TRIP + 2],
        )  # fmt: skip
        rows[target, TRIP], rows[target, TRIP + 1], rows[target, TRIP + 2] = d, e, late_start
        rows[target, RELEASE] = max(rows[source, RELEASE], terms.release[node])
        late += more
    rows[target, LATE], rows[target, RELOADS] = late, rows[source, RELOADS]
    rows[target, BRINGS], rows[target, COLLECTS] = rows[source, BRINGS], rows[source, COLLECTS]
    rows[target, OPEN] = rows[source, OPEN]
    if terms.partner[node] >= 0:
        rows[target, OPEN] += 1.0 if terms.first[node] else -1.0
    for q in range(terms.dimensions):
        place, d, p = LOADS + 3 * q, terms.delivery[node, q], terms.pickup[node, q]
        if terms.ordered:
            rows[target, BRINGS] = max(rows[target, BRINGS], 1.0 if d > 0.0 else 0.0)
            rows[target, COLLECTS] = max(rows[target, COLLECTS], 1.0 if p > 0.0 else 0.0)
        rows[target, place + 2] = max(max(d, p) + rows[source, place], p + rows[source, place + 2])
        rows[target, place] = rows[source, place] + d
        rows[target, place + 1] = rows[source, place + 1] + p


@kernel(borrow=True)
def refresh(data, plan, terms, slot):
    """Bring the segments of a route up to date; returns the change of what its time costs."""
    depot, kind, segments = data.clients + slot, plan.type[slot], plan.segments
    _start(terms, segments.head, segments.tail, depot, kind)
    before, node = depot, plan.next[depot]
    while node < data.clients:
        extend(data, terms, segments.head, before, node, node, travel(data, terms, before, node, kind, plan.leg[before]))
        before, node = node, plan.next[node]
    behind, node = depot, plan.prev[depot]
    while node < data.clients:
        _prepend(data, terms, segments.tail, behind, node, node, travel(data, terms, node, behind, kind, plan.leg[node]))
        behind, node = node, plan.prev[node]
    old = segments.extra[slot]
    segments.extra[slot] = 0.0
    if terms.lasting and plan.size[slot] > 0:
        d, e, late_start, _ = _with_trip(segments.head, depot, max(segments.head[depot, RELEASE], segments.tail[behind, RELEASE]))
        row = segments.tail
        way = travel(data, terms, depot, behind, kind, plan.leg[depot])
        d, e, late_start, _ = _joined(d, e, late_start, way, row[behind, TRIP], row[behind, TRIP + 1], row[behind, TRIP + 2])
        d, e, late_start, _ = _joined(d, e, late_start, 0.0, row[behind, AFTER], row[behind, AFTER + 1], row[behind, AFTER + 2])
        segments.extra[slot] = _time_cost(terms, kind, d)
    return segments.extra[slot] - old


@kernel(borrow=True)
def _start(terms, head, tail, depot, kind):
    """The rows of a slot's depot: leaving it, and being back."""
    for k in range(LOADS + 3 * terms.dimensions):
        head[depot, k] = tail[depot, k] = 0.0
    head[depot, BEFORE + 1] = tail[depot, AFTER + 1] = -math.inf
    head[depot, BEFORE + 2] = tail[depot, AFTER + 2] = math.inf
    head[depot, TRIP + 1], head[depot, TRIP + 2] = terms.earliest[depot], terms.leave_by[kind]
    tail[depot, TRIP + 1], tail[depot, TRIP + 2] = terms.back_from[kind], terms.latest[depot]
    head[depot, RELEASE] = tail[depot, RELEASE] = -math.inf
    for q in range(terms.dimensions):
        head[depot, LOADS + 3 * q + 1] = head[depot, LOADS + 3 * q + 2] = terms.aboard[kind, q]


@kernel(inline=True, borrow=True)
def refreshed(data, plan, terms, slot):
    """`refresh` where there are rules."""
    if terms is None:
        return 0.0
    return refresh(data, plan, terms, slot)


@kernel
def refresh_all(data, plan, terms):
    """`refresh` of every slot."""
    for slot in range(len(plan.size)):
        refresh(data, plan, terms, slot)
