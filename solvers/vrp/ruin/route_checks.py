"""Checks of side constraints: of a route with an insertion, of two joined segments, and of the current routes.

A head is the part of a route up to a node, a tail the part from a node on (segments.py). The removal of a client may make a route
infeasible, because distances need not satisfy the triangle inequality, and because a break is taken at a client. The routes that
an iteration changed are therefore checked before the candidate is accepted. A slot is a place for one route (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

import numpy as np

from corl.jit import kernel
from corl.solvers.vrp.ruin.breaks import breaks_feasible
from corl.solvers.vrp.ruin.clusters import keeps_clusters
from corl.solvers.vrp.ruin.constraint_tables import OPEN
from corl.solvers.vrp.ruin.coupling import keeps_rosters
from corl.solvers.vrp.ruin.route_amounts import insertion_change
from corl.solvers.vrp.ruin.routes import distance
from corl.solvers.vrp.ruin.segments import extend, joined_time_cost, may_serve, travel_time
from corl.solvers.vrp.ruin.state import TOUCHED

__all__ = ["count_infeasible", "extra_cost", "insertion_keeps_breaks", "join_cost", "touched_feasible"]

_ROUNDING = 1e-10  # relative tolerance, a tenth of the judge's, for sums that were computed in another order


@kernel(inline=True, borrow=True)
def extra_cost(data, plan, rules, client, node, successor, to, fro, slot):
    """Return the change in the cost of a route's duration if `client` is inserted between `node` and `successor`.

    It is inf if the insertion is infeasible, and 0 without side constraints.

    to, fro: The distances from `node` to the client, and from the client to `successor`.
    """
    if rules is None:
        return 0.0
    return _extra(data, plan, rules, client, node, successor, to, fro, slot)


@kernel(borrow=True, shared=True)
def _extra(data, plan, rules, client, node, successor, to, fro, slot):
    """Return the result of `extra_cost` for an instance with side constraints."""
    kind, row = plan.type[slot], data.clients + len(plan.size)
    if not may_serve(rules, kind, client) or not keeps_clusters(data, plan, rules, client, node, successor, slot):
        return math.inf
    travel = travel_time(data, rules, node, client, kind, to)
    extend(data, rules, plan.segments.head, node, row, client, travel)
    cost = joined_time_cost(data, plan, rules, row, successor, travel_time(data, rules, client, successor, kind, fro), slot)
    if cost < math.inf and rules.has_breaks and not insertion_keeps_breaks(data, plan, rules, slot, node, client, -1, -1):
        return math.inf
    if cost < math.inf and rules.structure.is_coupled:
        cost += insertion_change(data, plan, rules, client, node, successor, to, fro, slot)
    return cost - plan.segments.time_cost[slot]


@kernel(borrow=True, shared=True)
def join_cost(data, plan, rules, node, successor, leg, slot):
    """Return the change in the cost of a route's duration if it becomes a head, up to `node`, and a tail, from `successor`.

    The change is inf if the new route is infeasible. The tail may belong to another route.

    Args:
        data: RoutingData.
        plan: Plan.
        rules: ConstraintTables.
        node: The last node of the head.
        successor: The first node of the tail.
        leg: The distance from `node` to `successor`.
        slot: The slot of the route that changes; its vehicle drives the new route.
    """
    kind = plan.type[slot]
    if plan.segments.head[node, OPEN] != 0.0:  # a shipment is on board whose delivery is not in the tail
        return math.inf
    cost = joined_time_cost(data, plan, rules, node, successor, travel_time(data, rules, node, successor, kind, leg), slot)
    if cost < math.inf and rules.has_breaks and not _join_keeps_breaks(data, plan, rules, slot, node, successor):
        return math.inf
    return cost - plan.segments.time_cost[slot]


@kernel(borrow=True, shared=True)
def insertion_keeps_breaks(data, plan, rules, slot, node, client, other_node, other):
    """Return whether a route remains feasible, with its breaks, after one or two insertions.

    Args:
        data: RoutingData.
        plan: Plan.
        rules: ConstraintTables.
        slot: The slot of the route.
        node: The node after which `client` is inserted; -1 if `client` is not inserted.
        client: The first node that is inserted.
        other_node: The node after which `other` is inserted, possibly `client`.
        other: The second node that is inserted, -1 if there is none.
    """
    count, current = 0, data.clients + slot
    sequence = plan.segments.sequence
    while True:
        if current < data.clients:
            sequence[count] = current
            count += 1
        if current == node:
            sequence[count] = client
            count += 1
            if other >= 0 and other_node == client:
                sequence[count] = other
                count += 1
        if other >= 0 and current == other_node:
            sequence[count] = other
            count += 1
        current = plan.next[current]
        if current >= data.clients:
            break
    return _sequence_feasible(data, plan, rules, slot, count)


@kernel(borrow=True)
def _join_keeps_breaks(data, plan, rules, slot, node, successor):
    """Return whether the slot's vehicle can drive the head up to `node` and then the tail from `successor`, with its breaks."""
    sequence, count, current = plan.segments.sequence, 0, node
    while current < data.clients:
        count += 1
        current = plan.prev[current]
    current = node
    for k in range(count):
        sequence[count - 1 - k] = current
        current = plan.prev[current]
    while successor < data.clients:
        sequence[count] = successor
        count += 1
        successor = plan.next[successor]
    return _sequence_feasible(data, plan, rules, slot, count)


@kernel(borrow=True)
def _sequence_feasible(data, plan, rules, slot, count):
    """Return whether the slot's vehicle can visit the first `count` nodes of `segments.sequence`."""
    depot, kind = data.clients + slot, plan.type[slot]
    before, travel_times = depot, plan.segments.travel_times
    for k in range(count + 1):
        node = plan.segments.sequence[k] if k < count else depot
        travel_times[k] = travel_time(data, rules, before, node, kind, distance(data, before, node))
        before = node
    return breaks_feasible(data, plan, rules, slot, count, travel_times)


# -------------------------------------------------------------------- current routes
@kernel(borrow=True, shared=True)
def touched_feasible(data, plan, work):
    """Return whether every route in `work.touched` is feasible."""
    k = 0
    # As int64, the type that `count_infeasible` passes: `_within_limits` is then compiled only once.
    while k < work.counts[TOUCHED] and _within_limits(data, plan, np.int64(work.touched[k])):
        k += 1
    return k == work.counts[TOUCHED]


@kernel
def count_infeasible(data, plan):
    """Return the number of infeasible routes."""
    count = 0
    for slot in range(len(plan.size)):
        if not _within_limits(data, plan, slot):
            count += 1
    return count


@kernel(borrow=True, shared=True)
def _within_limits(data, plan, slot):
    """Return whether a route satisfies its maximum length, its time windows and its side constraints."""
    depot, kind = data.clients + slot, plan.type[slot]
    first = plan.next[depot]
    if plan.size[slot] == 0:
        return True
    if data.limited and plan.length[slot] > data.max_length[kind] * (1.0 + _ROUNDING):
        return False
    if data.timed and plan.earliest_start[first] > plan.latest_start[first] + _ROUNDING * abs(plan.latest_start[first]):
        return False
    return _within_rules(data, plan, data.rules, slot)


@kernel(inline=True, borrow=True)
def _within_rules(data, plan, rules, slot):
    """Return whether a route satisfies its side constraints; True if there are none."""
    if rules is None:
        return True
    if rules.structure.is_coupled and not keeps_rosters(plan, rules, slot):
        return False
    last = plan.prev[data.clients + slot]
    return join_cost(data, plan, rules, last, data.clients + slot, plan.leg[last], slot) < math.inf
