"""Kernels on routes: distances, taking a client out, putting one in, and undoing both.

The earliest and latest starts of service, by which a place is checked in constant time, follow Savelsbergh, The Vehicle Routing
Problem with Time Windows: Minimizing Route Duration, ORSA Journal on Computing 4 (1992).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.routing.metric import EUCLIDEAN, EXPLICIT, ROUNDED, TENTHS
from corl.routing.metric import distance as metric_distance
from corl.solvers.vrp.ruin.segments import refreshed
from corl.solvers.vrp.ruin.state import LOGGED, SERVED, TOUCHED, USED

__all__ = ["distance", "insert", "remove", "retime_backward", "retime_forward", "undo"]


@kernel(inline=True, borrow=True)
def distance(data, i, j):
    """float64 distance from node i to node j: corl.routing.metric's, written out for the kinds that are met most."""
    kind = data.kind
    if kind in (ROUNDED, TENTHS, EUCLIDEAN):
        dx, dy = data.points[i, 0] - data.points[j, 0], data.points[i, 1] - data.points[j, 1]
        d = math.sqrt(dx * dx + dy * dy)
        if kind == ROUNDED:
            return math.floor(d + 0.5)
        return d if kind == EUCLIDEAN else math.floor(10.0 * d)
    if kind == EXPLICIT:
        return data.metric.matrix[data.place[i], data.place[j]]
    return _other_distance(data, i, j)


@kernel(borrow=True)
def _other_distance(data, i, j):
    """As `distance`; 0 between the two depots of a slot, wherever they are, and home of a vehicle that stays out."""
    if j >= data.clients:
        j += (len(data.place) - data.clients) // 2
        if i >= data.clients or data.place[j] < 0:
            return 0.0
    return metric_distance(data.metric, data.place[i], data.place[j])


@kernel(inline=True, borrow=True)
def remove(data, plan, work, client):
    """Take a client out of its route and log it; returns the change of cost. The times of the route are left stale."""
    before, behind, slot = plan.prev[client], plan.next[client], plan.route[client]
    _log(plan, work, client, before, slot)
    direct = distance(data, before, behind)
    change = direct - plan.leg[before] - plan.leg[client]
    _unlink(plan, client, direct)
    plan.room[slot] += data.demand[client]
    if data.limited:
        plan.length[slot] += change - data.burden[client]
    if data.mixed:
        change *= data.unit[plan.type[slot]]
    if plan.size[slot] == 0:
        change -= data.fixed[plan.type[slot]]
    if data.prize[client] < math.inf:
        change += data.prize[client]
    return change + _left(plan, data.rules, client, slot)


@kernel(inline=True, borrow=True)
def insert(data, plan, work, client, after):
    """Put a client without a route behind a node (a free slot's depot opens a route) and log it; returns the change of cost."""
    slot, behind = plan.route[after], plan.next[after]
    _log(plan, work, client, -1, slot)
    to, fro = distance(data, after, client), distance(data, client, behind)
    change = to + fro - plan.leg[after]
    _link(plan, client, after, to, fro)
    plan.room[slot] -= data.demand[client]
    if data.limited:
        plan.length[slot] += change + data.burden[client]
    if data.mixed:
        change *= data.unit[plan.type[slot]]
    if plan.size[slot] == 1:
        change += data.fixed[plan.type[slot]]
    if data.prize[client] < math.inf:
        change -= data.prize[client]
    if data.timed:
        retime_forward(data, plan, client, behind)
        retime_backward(data, plan, client, after)
    _counted(plan, data.rules, client, 1)
    return change + refreshed(data, plan, data.rules, slot)


@kernel(borrow=True)
def undo(data, plan, work):
    """Take back all that is logged, last first; the plan is then what it was, to the bit."""
    for k in range(work.counts[LOGGED] - 1, -1, -1):
        client, after, slot = work.client[k], work.after[k], work.slot[k]
        if after < 0:
            before = plan.prev[client]
            _unlink(plan, client, distance(data, before, plan.next[client]))
            _counted(plan, data.rules, client, -1)
        else:
            _counted(plan, data.rules, client, 1)
            _link(plan, client, after, distance(data, after, client), distance(data, client, plan.next[after]))
        plan.room[slot] = work.room[k]
        if data.limited:
            plan.length[slot] = work.length[k]
    if data.timed:
        for k in range(work.counts[TOUCHED]):
            depot = data.clients + work.touched[k]
            retime_forward(data, plan, plan.next[depot], depot)
            retime_backward(data, plan, plan.prev[depot], depot)
    for k in range(work.counts[TOUCHED]):
        refreshed(data, plan, data.rules, work.touched[k])


@kernel(inline=True, borrow=True)
def _counted(plan, terms, client, change):
    """One more of a client's group is served, or one less."""
    if terms is None:
        return
    if terms.grouped and terms.group[client] >= 0:
        plan.segments.served[terms.group[client]] += change


@kernel(inline=True, borrow=True)
def _left(plan, terms, client, slot):
    """What rules know of it when a client has left a route; returns what its time no longer costs, if nobody is left."""
    _counted(plan, terms, client, -1)
    if terms is None:
        return 0.0
    if plan.size[slot] > 0:
        return 0.0
    saved = plan.segments.extra[slot]
    plan.segments.extra[slot] = 0.0
    return -saved


@kernel(inline=True, borrow=True)
def _log(plan, work, client, after, slot):
    k = work.counts[LOGGED]
    work.client[k], work.after[k], work.slot[k] = client, after, slot
    work.room[k], work.length[k] = plan.room[slot], plan.length[slot]
    work.counts[LOGGED] = k + 1
    touched = work.counts[TOUCHED]
    if touched == 0 or work.touched[touched - 1] != slot:
        work.touched[touched] = slot
        work.counts[TOUCHED] = touched + 1


@kernel(inline=True, borrow=True)
def _unlink(plan, client, direct):
    """Close the ring behind a client; a slot that is empty then goes onto its stack."""
    before, behind, slot = plan.prev[client], plan.next[client], plan.route[client]
    plan.next[before], plan.prev[behind], plan.leg[before] = behind, before, direct
    plan.route[client], plan.prev[client] = -1, -1
    plan.size[slot] -= 1
    plan.counts[SERVED] -= 1
    if plan.size[slot] == 0:
        plan.counts[USED] -= 1
        kind = plan.type[slot]
        plan.free[plan.first[kind] + plan.free_size[kind]] = slot
        plan.free_size[kind] += 1


@kernel(inline=True, borrow=True)
def _link(plan, client, after, to, fro):
    """Open the ring behind a node for a client; a slot that was free is then at the top of its stack and leaves it."""
    behind, slot = plan.next[after], plan.route[after]
    plan.next[after], plan.prev[client], plan.next[client], plan.prev[behind] = client, after, behind, client
    plan.leg[after], plan.leg[client] = to, fro
    plan.route[client] = slot
    if plan.size[slot] == 0:
        plan.counts[USED] += 1
        plan.free_size[plan.type[slot]] -= 1
    plan.size[slot] += 1
    plan.counts[SERVED] += 1


@kernel(borrow=True)
def retime_forward(data, plan, node, until):
    """Recompute `begin` from a node on: to `until` in any case, then as long as something changes. A depot ends it."""
    passed = False
    while node < data.clients:
        before = plan.prev[node]
        start = max(data.earliest[node], plan.begin[before] + data.service[before] + plan.leg[before])
        passed = passed or node == until
        if start == plan.begin[node] and passed:
            return
        plan.begin[node] = start
        node = plan.next[node]


@kernel(borrow=True)
def retime_backward(data, plan, node, until):
    """Recompute `last` from a node back: to `until` in any case, then as long as something changes. A depot ends it."""
    passed = False
    while node < data.clients:
        last = min(data.latest[node], plan.last[plan.next[node]] - plan.leg[node] - data.service[node])
        passed = passed or node == until
        if last == plan.last[node] and passed:
            return
        plan.last[node] = last
        node = plan.prev[node]
