"""Insertion with side constraints: groups of clients, shipments, trips after a reload, fixed beginnings of routes.

A reload is a visit to a depot at which the vehicle loads again; it ends one trip and begins the next. Segments (heads and tails
of routes) are explained in segments.py. If there are no side constraints, `rules` is None; that is known at compile time, so that
instances without side constraints lose no time here. The fixed beginning of a route is the visits with which it must begin. A
slot is a place for one route (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.ruin.constraint_tables import LATE, LOADS
from corl.solvers.vrp.ruin.route_amounts import pair_change
from corl.solvers.vrp.ruin.route_checks import insertion_keeps_breaks
from corl.solvers.vrp.ruin.routes import distance, insert
from corl.solvers.vrp.ruin.segments import extend, joined_time_cost, may_serve, travel_time
from corl.solvers.vrp.ruin.state import USED

__all__ = [
    "avoided_penalty", "awaits_insertion", "insert_shipment", "insert_trip", "must_serve", "real_clients", "removable",
]  # fmt: skip

_MAX_TRIP_ROUTES = 16  # greatest number of routes that are considered for an additional trip


@kernel(inline=True, borrow=True)
def real_clients(data, rules):
    """Return the number of clients, reload nodes excluded."""
    if rules is None:
        return data.clients
    return rules.first_reload


@kernel(inline=True, borrow=True)
def removable(rules, node):
    """Return whether ruin may remove a node: whether it is neither a reload node nor on the fixed beginning of a route."""
    if rules is None:
        return True
    return node < rules.first_reload and not rules.locked[node]


@kernel(inline=True, borrow=True)
def must_serve(data, plan, rules, client):
    """Return whether the solution is infeasible as long as this client is unserved.

    A client of a required group need not be served if another client of the group is.
    """
    if rules is None:
        return data.prize[client] == math.inf
    if rules.has_groups and rules.group[client] >= 0:
        group = rules.group[client]
        return rules.group_required[group] and plan.segments.served[group] == 0
    return data.prize[client] == math.inf


@kernel(inline=True, borrow=True)
def avoided_penalty(data, rules, client):
    """Return the penalty that serving a client avoids: its prize, or inf if the client or its group must be served."""
    if rules is None:
        return data.prize[client]
    if rules.has_groups and rules.group[client] >= 0 and rules.group_required[rules.group[client]]:
        return math.inf
    return data.prize[client]


@kernel(inline=True, borrow=True)
def awaits_insertion(data, plan, rules, client):
    """Return whether a client is to be inserted: it is unserved and, if it belongs to a group, stands for an unserved group.

    The first client of a group stands for it.
    """
    if plan.route[client] >= 0:
        return False
    if rules is None:
        return True
    if client >= rules.first_reload:
        return False
    if rules.has_groups and rules.group[client] >= 0:
        group = rules.group[client]
        return plan.segments.served[group] == 0 and rules.members[rules.member_start[group]] == client
    return True


# -------------------------------------------------------------------- shipments
@kernel(borrow=True, shared=True)
def insert_shipment(data, plan, work, rules, client, reach, max_routes, allowed):
    """Insert a shipment at its cheapest position; return the change in cost, or inf if no position costs less than `allowed`.

    The routes of both nodes' neighbours are considered (1 % of them are skipped at random), and also a new route of each vehicle
    type.

    Args:
        data: RoutingData.
        plan: Plan, changed in place.
        work: Work; the insertions are logged.
        rules: ConstraintTables.
        client: One of the two nodes of the shipment.
        reach: The number of neighbours of each node that are considered.
        max_routes: No route is opened beyond this number.
        allowed: Upper limit of the change in cost.
    """
    start = client if rules.is_pickup[client] else rules.partner[client]
    end, segments = rules.partner[start], plan.segments
    segments.mark[len(plan.size)] += 1
    search, best = segments.mark[len(plan.size)], allowed
    segments.found[0] = -1
    if plan.route[start] >= 0:  # picked up on the fixed beginning of a route
        best = _best_shipment(data, plan, rules, start, end, plan.route[start], best)
    else:
        for side in range(2):
            node = start if side == 0 else end
            for a in range(reach):
                slot = plan.route[data.near[node, a]]
                if slot >= 0 and segments.mark[slot] != search:
                    segments.mark[slot] = search
                    if below(work.random, 100) > 0:
                        best = _best_shipment(data, plan, rules, start, end, slot, best)
        if plan.counts[USED] < max_routes:
            for kind in range(len(plan.free_size)):
                if plan.free_size[kind] > 0:
                    slot = plan.free[plan.stack_start[kind] + plan.free_size[kind] - 1]
                    best = _best_shipment(data, plan, rules, start, end, slot, best)
    if segments.found[0] < 0:
        return math.inf
    change, before_start, before_end = 0.0, segments.found[0], segments.found[1]
    if plan.route[start] < 0:
        change += insert(data, plan, work, start, before_start)
    return change + insert(data, plan, work, end, before_end)


@kernel(borrow=True)
def _best_shipment(data, plan, rules, start, end, slot, best):
    """Return the least cost of inserting a shipment into a route if it is below `best`, otherwise `best`.

    A position that costs less than `best` is written to `segments.found`, in place.
    """
    kind, depot = plan.type[slot], data.clients + slot
    if not may_serve(rules, kind, start) or not may_serve(rules, kind, end):
        return best
    rate, fixed = data.unit_cost[kind], data.fixed_cost[kind] if plan.size[slot] == 0 else 0.0
    if plan.route[start] == slot:
        return _best_delivery(data, plan, rules, start, end, slot, start, plan.next[start], 0.0, best)
    node = depot
    while True:
        successor = plan.next[node]
        if not (successor < data.clients and rules.locked[successor]):
            to, leg = distance(data, node, start), plan.leg[node]
            detour = to + distance(data, start, successor) - leg
            if fixed + rate * (detour - data.slack) < best:
                row = data.clients + len(plan.size)
                extend(data, rules, plan.segments.head, node, row, start, travel_time(data, rules, node, start, kind, to))
                if plan.segments.head[row, LATE] == 0.0:
                    best = _best_delivery(data, plan, rules, start, end, slot, node, successor, fixed, best)
                elif data.slack < math.inf:  # the pickup is too late here, and so it is at all later positions
                    break
        node = successor
        if node >= data.clients:
            return best
    return best


@kernel(borrow=True)
def _best_delivery(data, plan, rules, start, end, slot, node, successor, fixed, best):
    """Find the best position for the delivery of a shipment that is picked up after `node`.

    Args:
        data: RoutingData.
        plan: Plan; `segments.found` receives the two predecessors, in place.
        rules: ConstraintTables.
        start: The node of the pickup. If it is in the route already, `node` is `start`; otherwise the first scratch row of
            `segments.head` holds the head from the depot over `node` to `start`.
        end: The node of the delivery.
        slot: The slot of the route that is considered.
        node: The predecessor of `start`.
        successor: The node that follows `start`.
        fixed: Cost of opening the route; 0 if it is open.
        best: The least cost so far.

    Returns:
        The least cost of a position if it is below `best`, otherwise `best`.
    """
    kind, row, segments = plan.type[slot], data.clients + len(plan.size), plan.segments
    picked_up = node == start
    rate, before, at = data.unit_cost[kind], start, node if picked_up else row
    detour = 0.0 if picked_up else distance(data, node, start) - plan.leg[node]
    driving = 0.0 if picked_up or not rules.structure.is_coupled else _pickup_driving(data, plan, rules, start, slot, node)
    longest = data.max_length[kind] - plan.length[slot] if data.limited else math.inf
    while True:
        # Invariant: the route is ... node - start - ... - before - successor ...; at first `before` is `start`.
        to, fro = distance(data, before, end), distance(data, end, successor)
        added = detour + to + fro
        if picked_up or before != start:
            added -= plan.leg[before]
        cost = fixed + rate * added
        if cost < best and added <= longest:
            extend(data, rules, segments.head, at, row + 1, end, travel_time(data, rules, before, end, kind, to))
            travel = travel_time(data, rules, end, successor, kind, fro)
            cost += joined_time_cost(data, plan, rules, row + 1, successor, travel, slot) - segments.time_cost[slot]
            if cost < best and rules.structure.is_coupled:
                driving_added = driving + travel_time(data, rules, before, end, kind, to) + travel
                if picked_up or before != start:
                    driving_added -= travel_time(data, rules, before, successor, kind, plan.leg[before])
                cost += pair_change(plan, rules, row + 1, successor, travel, added, driving_added, slot)
            checked = cost < best and rules.has_breaks
            if checked and not insertion_keeps_breaks(data, plan, rules, slot, -1 if picked_up else node, start, before, end):
                cost = math.inf
            if cost < best:
                best = cost
                segments.found[0], segments.found[1] = node, before
        if successor >= data.clients or (rules.locked[successor] and not picked_up):
            return best
        leg = distance(data, before, successor)
        if not picked_up and before == start:
            detour += leg
            driving += travel_time(data, rules, before, successor, kind, leg)
        extend(data, rules, segments.head, at, row + 2, successor, travel_time(data, rules, before, successor, kind, leg))
        if segments.head[row + 2, LATE] > 0.0:
            return best
        for q in range(rules.dimensions):
            if segments.head[row + 2, LOADS + 3 * q + 2] > rules.capacity[kind, q]:
                return best
        for column in range(segments.head.shape[1]):
            segments.head[row, column] = segments.head[row + 2, column]
        at, before, successor = row, successor, plan.next[successor]


@kernel(inline=True, borrow=True)
def _pickup_driving(data, plan, rules, start, slot, node):
    """Return the travel time from `node` to the pickup `start` less that of the leg after `node`, which an empty route lacks."""
    kind, driving = plan.type[slot], travel_time(data, rules, node, start, plan.type[slot], distance(data, node, start))
    if plan.segments.structure.is_used[slot]:
        driving -= travel_time(data, rules, node, plan.next[node], kind, plan.leg[node])
    return driving


# -------------------------------------------------------------------- trips
@kernel(borrow=True, shared=True)
def insert_trip(data, plan, work, rules, client, allowed):
    """Insert a client as a trip of its own, before or after another trip of a route.

    At most `_MAX_TRIP_ROUTES` routes whose vehicles may reload are considered, beginning at a random slot.

    Args:
        data: RoutingData.
        plan: Plan, changed in place.
        work: Work; the insertions are logged.
        rules: ConstraintTables.
        client: The client.
        allowed: Upper limit of the change in cost.

    Returns:
        The change in cost, or inf if no position costs less than `allowed`.
    """
    best, after, reload_first, node_of_reload = allowed, -1, False, -1
    slots = len(plan.size)
    first_slot = below(work.random, slots)
    checked = 0
    for k in range(slots):
        slot = (first_slot + k) % slots
        kind = plan.type[slot]
        if plan.size[slot] == 0 or rules.reloads[kind] == 0 or not may_serve(rules, kind, client):
            continue
        checked += 1
        if checked > _MAX_TRIP_ROUTES:
            break
        reload = _free_reload(data, plan, work, rules, kind)
        if reload < 0:
            continue
        node = data.clients + slot
        while True:
            successor = plan.next[node]
            if node >= rules.first_reload:  # a trip begins here: insert the new one before it
                cost = _trip_cost(data, plan, rules, slot, node, successor, client, reload)
                if cost < best:
                    best, after, reload_first, node_of_reload = cost, node, False, reload
            if successor >= rules.first_reload:  # a trip ends here: insert the new one after it
                cost = _trip_cost(data, plan, rules, slot, node, successor, reload, client)
                if cost < best:
                    best, after, reload_first, node_of_reload = cost, node, True, reload
            node = successor
            if node >= data.clients:
                break
    if after < 0:
        return math.inf
    if reload_first:
        change = insert(data, plan, work, node_of_reload, after)
        return change + insert(data, plan, work, client, node_of_reload)
    change = insert(data, plan, work, client, after)
    return change + insert(data, plan, work, node_of_reload, client)


@kernel(borrow=True)
def _free_reload(data, plan, work, rules, kind):
    """Return an unused reload node that the vehicle type may visit, searched from a random one on; -1 if there is none."""
    count = data.clients - rules.first_reload
    offset = below(work.random, count)
    for k in range(count):
        node = rules.first_reload + (offset + k) % count
        if plan.route[node] < 0 and rules.allowed[kind, node]:
            return node
    return -1


@kernel(borrow=True)
def _trip_cost(data, plan, rules, slot, node, successor, first, second):
    """Return the change in cost when `first` and `second` are inserted between `node` and `successor`; inf if infeasible."""
    kind, row, head = plan.type[slot], data.clients + len(plan.size), plan.segments.head
    to, between, fro = distance(data, node, first), distance(data, first, second), distance(data, second, successor)
    cost = data.unit_cost[kind] * (to + between + fro - plan.leg[node])
    if data.limited and plan.length[slot] + to + between + fro - plan.leg[node] > data.max_length[kind]:
        return math.inf
    extend(data, rules, head, node, row, first, travel_time(data, rules, node, first, kind, to))
    for q in range(rules.dimensions):  # a reload ends this trip, and `joined_time_cost` checks the load of the next one only
        if head[row, LOADS + 3 * q + 2] > rules.capacity[kind, q]:
            return math.inf
    extend(data, rules, head, row, row + 1, second, travel_time(data, rules, first, second, kind, between))
    travel = travel_time(data, rules, second, successor, kind, fro)
    cost += joined_time_cost(data, plan, rules, row + 1, successor, travel, slot)
    if cost < math.inf and rules.structure.is_coupled:
        driving = (
            travel_time(data, rules, node, first, kind, to) + travel_time(data, rules, first, second, kind, between) + travel
        )
        driving -= travel_time(data, rules, node, successor, kind, plan.leg[node])
        added = to + between + fro - plan.leg[node]
        cost += pair_change(plan, rules, row + 1, successor, travel, added, driving, slot)
    if cost < math.inf and rules.has_breaks and not insertion_keeps_breaks(data, plan, rules, slot, node, first, first, second):
        return math.inf
    return cost - plan.segments.time_cost[slot]
