"""Kernels on routes: distances, removal and insertion of a client, and the undoing of logged changes.

The earliest and the latest start of service at each client, by which the time windows of an insertion are checked in constant
time, follow Savelsbergh, The Vehicle Routing Problem with Time Windows: Minimizing Route Duration, ORSA Journal on Computing 4
(1992). A slot holds one route; it is free if this route has no clients (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.routing.metric import EUCLIDEAN, EXPLICIT, ROUNDED, TENTHS
from corl.routing.metric import distance as metric_distance
from corl.solvers.vrp.ruin.clusters import count_cluster
from corl.solvers.vrp.ruin.coupling import release_route
from corl.solvers.vrp.ruin.segments import refresh_if_rules
from corl.solvers.vrp.ruin.state import LOGGED, SERVED, TOUCHED, USED

__all__ = ["distance", "insert", "remove", "retime_backward", "retime_forward", "undo"]


@kernel(inline=True, borrow=True)
def distance(data, i, j):
    """Return the distance from node i to node j, as corl.routing.metric defines it; frequent metrics are computed here."""
    kind = data.kind
    if kind in (ROUNDED, TENTHS, EUCLIDEAN):
        dx, dy = data.points[i, 0] - data.points[j, 0], data.points[i, 1] - data.points[j, 1]
        d = math.sqrt(dx * dx + dy * dy)
        if kind == ROUNDED:
            return math.floor(d + 0.5)
        return d if kind == EUCLIDEAN else math.floor(10.0 * d)
    if kind == EXPLICIT:
        return data.metric.matrix[data.metric_node[i], data.metric_node[j]]
    return _other_distance(data, i, j)


@kernel(borrow=True, shared=True)
def _other_distance(data, i, j):
    """Return the distance if `data.kind` is OTHER.

    A slot's node stands for the depot where its route begins, as `i`, and for the one where it ends, as `j`. The distance between
    these two (an empty route) is 0, and so is that from a client to the end of a route that does not return.
    """
    if j >= data.clients:
        j += (len(data.metric_node) - data.clients) // 2
        if i >= data.clients or data.metric_node[j] < 0:
            return 0.0
    return metric_distance(data.metric, data.metric_node[i], data.metric_node[j])


@kernel(borrow=True, shared=True)
def remove(data, plan, work, client):
    """Remove a client from its route, in place, and log the removal; return the change in cost.

    The earliest and latest starts of service, and the segments, of the route are not updated. The length of a route is its
    distance plus the `added_length` of its clients (their service times, if durations are limited).
    """
    before, successor, slot = plan.prev[client], plan.next[client], plan.route[client]
    _log(plan, work, client, before, slot)
    direct = distance(data, before, successor)
    change = direct - plan.leg[before] - plan.leg[client]
    _unlink(plan, client, direct)
    plan.spare_capacity[slot] += data.demand[client]
    if data.limited:
        plan.length[slot] += change - data.added_length[client]
    if data.mixed:
        change *= data.unit_cost[plan.type[slot]]
    if plan.size[slot] == 0:
        change -= data.fixed_cost[plan.type[slot]]
    if data.prize[client] < math.inf:
        change += data.prize[client]
    return change + _update_after_removal(plan, data.rules, client, slot)


@kernel(borrow=True, shared=True)
def insert(data, plan, work, client, after):
    """Insert an unserved client after the node `after`, in place, and log the insertion; return the change in cost.

    To open a new route, pass as `after` the depot node of the slot at the top of a vehicle type's stack of free slots.
    """
    slot, successor = plan.route[after], plan.next[after]
    _log(plan, work, client, -1, slot)
    to, fro = distance(data, after, client), distance(data, client, successor)
    change = to + fro - plan.leg[after]
    _link(plan, client, after, to, fro)
    plan.spare_capacity[slot] -= data.demand[client]
    if data.limited:
        plan.length[slot] += change + data.added_length[client]
    if data.mixed:
        change *= data.unit_cost[plan.type[slot]]
    if plan.size[slot] == 1:
        change += data.fixed_cost[plan.type[slot]]
    if data.prize[client] < math.inf:
        change -= data.prize[client]
    if data.timed:
        retime_forward(data, plan, client, successor)
        retime_backward(data, plan, client, after)
    _count_group(plan, data.rules, client, 1)
    return change + refresh_if_rules(data, plan, data.rules, slot)


@kernel(borrow=True, shared=True)
def undo(data, plan, work):
    """Undo all logged changes, the last first, in place. The current routes are then bit-identical to the original ones."""
    for k in range(work.counts[LOGGED] - 1, -1, -1):
        client, after, slot = work.client[k], work.after[k], work.slot[k]
        if after < 0:
            before = plan.prev[client]
            _unlink(plan, client, distance(data, before, plan.next[client]))
            _count_group(plan, data.rules, client, -1)
        else:
            _count_group(plan, data.rules, client, 1)
            _link(plan, client, after, distance(data, after, client), distance(data, client, plan.next[after]))
        plan.spare_capacity[slot] = work.spare_capacity[k]
        if data.limited:
            plan.length[slot] = work.length[k]
    if data.timed:
        for k in range(work.counts[TOUCHED]):
            depot = data.clients + work.touched[k]
            retime_forward(data, plan, plan.next[depot], depot)
            retime_backward(data, plan, plan.prev[depot], depot)
    for k in range(work.counts[TOUCHED]):
        refresh_if_rules(data, plan, data.rules, work.touched[k])


@kernel(inline=True, borrow=True)
def _count_group(plan, rules, client, change):
    """Add `change` to the number of served clients of the client's group, and of its cluster."""
    if rules is None:
        return
    count_cluster(plan, rules, client, change)
    if rules.has_groups and rules.group[client] >= 0:
        plan.segments.served[rules.group[client]] += change


@kernel(inline=True, borrow=True)
def _update_after_removal(plan, rules, client, slot):
    """Update the group's count after a removal; return the change in the cost of time if the route is now empty, otherwise 0.

    For a route that is now empty, the change in the costs that couple routes is added.
    """
    _count_group(plan, rules, client, -1)
    if rules is None:
        return 0.0
    if plan.size[slot] > 0:
        return 0.0
    saved = plan.segments.time_cost[slot]
    plan.segments.time_cost[slot] = 0.0
    return (release_route(plan, rules, slot) if rules.structure.is_coupled else 0.0) - saved


@kernel(inline=True, borrow=True)
def _log(plan, work, client, after, slot):
    """Log a change before it is made, and add its slot to `work.touched`.

    after: The client's predecessor, if it is removed; -1 if it is inserted.
    """
    k = work.counts[LOGGED]
    work.client[k], work.after[k], work.slot[k] = client, after, slot
    work.spare_capacity[k], work.length[k] = plan.spare_capacity[slot], plan.length[slot]
    work.counts[LOGGED] = k + 1
    touched = work.counts[TOUCHED]
    if touched == 0 or work.touched[touched - 1] != slot:
        work.touched[touched] = slot
        work.counts[TOUCHED] = touched + 1


@kernel(inline=True, borrow=True)
def _unlink(plan, client, direct):
    """Remove a client from the ring of its route; if the route is then empty, push the slot onto its type's stack.

    direct: The distance from the client's predecessor to its successor.
    """
    before, successor, slot = plan.prev[client], plan.next[client], plan.route[client]
    plan.next[before], plan.prev[successor], plan.leg[before] = successor, before, direct
    plan.route[client], plan.prev[client] = -1, -1
    plan.size[slot] -= 1
    plan.counts[SERVED] -= 1
    if plan.size[slot] == 0:
        plan.counts[USED] -= 1
        kind = plan.type[slot]
        plan.free[plan.stack_start[kind] + plan.free_size[kind]] = slot
        plan.free_size[kind] += 1


@kernel(inline=True, borrow=True)
def _link(plan, client, after, to, fro):
    """Insert a client into a ring after the node `after`; if the route was empty, pop the slot from its type's stack.

    to, fro: The distances from `after` to the client, and from the client to its successor.
    """
    successor, slot = plan.next[after], plan.route[after]
    plan.next[after], plan.prev[client], plan.next[client], plan.prev[successor] = client, after, successor, client
    plan.leg[after], plan.leg[client] = to, fro
    plan.route[client] = slot
    if plan.size[slot] == 0:
        plan.counts[USED] += 1
        plan.free_size[plan.type[slot]] -= 1
    plan.size[slot] += 1
    plan.counts[SERVED] += 1


@kernel(borrow=True)
def retime_forward(data, plan, node, until):
    """Recompute the earliest starts of `node` and the nodes after it, in place.

    Stops at the end of the route or, from the node `until` on, at the first value that does not change.
    """
    passed = False
    while node < data.clients:
        before = plan.prev[node]
        start = max(data.earliest[node], plan.earliest_start[before] + data.service[before] + plan.leg[before])
        passed = passed or node == until
        if start == plan.earliest_start[node] and passed:
            return
        plan.earliest_start[node] = start
        node = plan.next[node]


@kernel(borrow=True)
def retime_backward(data, plan, node, until):
    """Recompute the latest starts of `node` and the nodes before it, in place.

    Stops at the beginning of the route or, from the node `until` on, at the first value that does not change.
    """
    passed = False
    while node < data.clients:
        last = min(data.latest[node], plan.latest_start[plan.next[node]] - plan.leg[node] - data.service[node])
        passed = passed or node == until
        if last == plan.latest_start[node] and passed:
            return
        plan.latest_start[node] = last
        node = plan.prev[node]
