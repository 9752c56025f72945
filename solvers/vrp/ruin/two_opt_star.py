"""2-opt*: the exchange of tails between two routes, and the split of a route. A tail is the part of a route after a client.

Potvin & Rousseau, An Exchange Heuristic for Routing Problems with Time Windows, JORS 46 (1995). Ruin and recreate, which moves a
few clients at a time, cannot make these moves in long routes. Time windows are checked in constant time, by the earliest and the
latest starts of service; loads are summed up only for moves whose cost is acceptable. A slot is a place for one route; the route
of a free slot is empty (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.ruin.clusters import cuts_cluster
from corl.solvers.vrp.ruin.constrained_insertion import real_clients
from corl.solvers.vrp.ruin.route_amounts import exchange_change, split_change
from corl.solvers.vrp.ruin.route_checks import join_cost
from corl.solvers.vrp.ruin.routes import distance, retime_backward, retime_forward
from corl.solvers.vrp.ruin.segments import refresh_if_rules
from corl.solvers.vrp.ruin.state import TOUCHED, USED

__all__ = ["exchange_tails"]


@kernel(borrow=True, shared=True)
def exchange_tails(data, plan, work, allowed):
    """Make the best move of a random client's tail, in place; return the change in cost.

    The client's tail is the part of its route after it. A move exchanges this tail with a tail that begins at one of the client's
    nearest neighbours, in another route of the same vehicle type; or it splits the route, so that the tail becomes a new route.

    Args:
        data: RoutingData.
        plan: Plan, changed in place.
        work: Work; `work.touched` receives both slots.
        allowed: Upper limit of the change in cost.

    Returns:
        The change in cost; inf if no move changes the cost by less than `allowed`, and then nothing is changed.
    """
    work.counts[TOUCHED] = 0
    client = below(work.random, real_clients(data, data.rules))
    slot = plan.route[client]
    if slot < 0:
        return math.inf
    kind, successor, rate = plan.type[slot], plan.next[client], data.unit_cost[plan.type[slot]]
    count, load, length = -1, 0.0, 0.0
    best, found = allowed, -1
    for a in range(data.near_count):
        other = data.near[client, a]
        other_slot = plan.route[other]
        if other_slot < 0 or other_slot == slot or plan.type[other_slot] != kind:
            continue
        before = plan.prev[other]
        merges = before >= data.clients and successor >= data.clients  # the two routes become one
        gain = rate * (plan.leg[client] + plan.leg[before]) + (data.fixed_cost[kind] if merges else 0.0)
        if rate * data.near_distance[client, a] - gain >= best:
            continue
        to = data.near_distance[client, a] if data.symmetric else distance(data, client, other)
        fro = 0.0 if merges else distance(data, before, successor)
        if rate * (to + fro) - gain >= best or not _in_time(data, plan, client, other, to):
            continue
        if not _in_time(data, plan, before, successor, fro):
            continue
        if count < 0:
            count, load, length = _measure_tail(data, plan, successor)
        if _fits(data, plan, client, other, to, fro, load, length):
            change = rate * (to + fro) - gain + _exchange_time_change(data, plan, data.rules, client, other, to, fro)
            if change < best:
                best, found = change, other
    if successor < data.clients and plan.free_size[kind] > 0:
        free_slot = plan.free[plan.stack_start[kind] + plan.free_size[kind] - 1]
        change = _split_change(data, plan, client, free_slot)
        if change < best:
            work.touched[0], work.touched[1], work.counts[TOUCHED] = slot, free_slot, 2
            _split(data, plan, client, free_slot)
            return change
    if found < 0:
        return math.inf
    work.touched[0], work.touched[1], work.counts[TOUCHED] = slot, plan.route[found], 2
    _exchange(data, plan, client, found)
    return best


@kernel(inline=True, borrow=True)
def _exchange_time_change(data, plan, rules, client, other, to, fro):
    """Return the change in the costs of both routes' durations if the tail from `other` follows `client`.

    It is inf if a route would violate a side constraint.

    to, fro: The lengths of the new legs: from `client` to `other`, and from the predecessor of `other` to the tail of `client`.
    """
    if rules is None:
        return 0.0
    slot, other_slot = plan.route[client], plan.route[other]
    successor, before = plan.next[client], plan.prev[other]
    if cuts_cluster(plan, rules, client) or cuts_cluster(plan, rules, before):
        return math.inf
    cost = join_cost(data, plan, rules, client, other, to, slot)
    if rules.structure.is_coupled:
        cost += exchange_change(data, plan, rules, client, other, to, fro)
    if before >= data.clients and successor >= data.clients:
        return cost - plan.segments.time_cost[other_slot]
    if before >= rules.first_reload and successor >= rules.first_reload:  # an empty trip
        return math.inf
    return cost + join_cost(data, plan, rules, before, successor, fro, other_slot)


@kernel(inline=True, borrow=True)
def _split_time_change(data, plan, rules, client, free_slot, to, fro):
    """Return the change in the costs of the durations if a free slot takes the tail of `client`; inf if that is infeasible.

    to, fro: The lengths of the new legs: from `client` to its depot, and from the new route's depot to the tail.
    """
    if rules is None:
        return 0.0
    slot, successor, home, other_depot = (
        plan.route[client],
        plan.next[client],
        data.clients + plan.route[client],
        data.clients + free_slot,
    )
    if successor >= rules.first_reload or cuts_cluster(plan, rules, client):
        return math.inf
    cost = join_cost(data, plan, rules, client, home, to, slot)
    if rules.structure.is_coupled:
        cost += split_change(data, plan, rules, client, free_slot, to, fro)
    return cost + join_cost(data, plan, rules, other_depot, successor, fro, free_slot)


@kernel(inline=True, borrow=True)
def _in_time(data, plan, before, successor, leg):
    """Return whether time windows let `successor` and its tail directly follow `before` and its predecessors."""
    return not data.timed or plan.earliest_start[before] + data.service[before] + leg <= plan.latest_start[successor]


@kernel(borrow=True)
def _measure_tail(data, plan, node):
    """Return count, load and length of a tail: its number of clients, their demand, and its length up to the depot.

    node: The first client of the tail, or the depot if the tail is empty. The length is 0 if lengths are not limited.
    """
    count, load, length = 0, 0.0, 0.0
    while node < data.clients:
        count += 1
        load += data.demand[node]
        if data.limited:
            length += plan.leg[node] + data.added_length[node]
        node = plan.next[node]
    return count, load, length


@kernel(borrow=True)
def _fits(data, plan, client, other, to, fro, load, length):
    """Return whether both routes satisfy capacity and maximum length if the tail from `other` follows `client`.

    Args:
        data: RoutingData.
        plan: Plan.
        client: The last client of the head that the tail from `other` will follow.
        other: The first client of the other route's tail.
        to: The length of the new leg from `client` to `other`.
        fro: The length of the new leg from the predecessor of `other` to the tail of `client`.
        load: The load of the tail of `client`.
        length: The length of the tail of `client`.
    """
    slot, other_slot, before = plan.route[client], plan.route[other], plan.prev[other]
    _, other_load, other_length = _measure_tail(data, plan, other)
    if plan.spare_capacity[slot] + load < other_load or plan.spare_capacity[other_slot] + other_load < load:
        return False
    if not data.limited:
        return True
    longest = data.max_length[plan.type[slot]]
    new_length = plan.length[slot] - plan.leg[client] - length + to + other_length
    return new_length <= longest and plan.length[other_slot] - plan.leg[before] - other_length + fro + length <= longest


@kernel(borrow=True)
def _split_change(data, plan, client, free_slot):
    """Return the change in cost if a free slot takes the tail of `client`; inf if the split is infeasible."""
    slot, successor = plan.route[client], plan.next[client]
    kind, home, other_depot = plan.type[slot], data.clients + slot, data.clients + free_slot
    to, fro = distance(data, client, home), distance(data, other_depot, successor)
    if not _in_time(data, plan, client, home, to) or not _in_time(data, plan, other_depot, successor, fro):
        return math.inf
    if data.limited:
        _, _, length = _measure_tail(data, plan, successor)
        remaining = plan.length[slot] - plan.leg[client] - length + to
        if remaining > data.max_length[kind] or fro + length > data.max_length[kind]:
            return math.inf
    change = data.unit_cost[kind] * (to + fro - plan.leg[client]) + data.fixed_cost[kind]
    return change + _split_time_change(data, plan, data.rules, client, free_slot, to, fro)


@kernel(borrow=True)
def _split(data, plan, client, free_slot):
    """Make the split, in place: the tail of `client` becomes the route of the free slot."""
    slot, successor = plan.route[client], plan.next[client]
    home, other_depot = data.clients + slot, data.clients + free_slot
    end = plan.prev[home]
    tail_count, load, length = _measure_tail(data, plan, successor)
    if data.limited:
        plan.length[slot] -= plan.leg[client] + length
    plan.next[client], plan.prev[home], plan.leg[client] = home, client, distance(data, client, home)
    plan.next[other_depot], plan.prev[successor], plan.leg[other_depot] = (
        successor,
        other_depot,
        distance(data, other_depot, successor),
    )
    plan.next[end], plan.prev[other_depot] = other_depot, end
    _assign_route(data, plan, successor, free_slot)
    plan.size[slot] -= tail_count
    plan.size[free_slot] = tail_count
    plan.spare_capacity[slot] += load
    plan.spare_capacity[free_slot] -= load
    if data.limited:
        plan.length[slot] += plan.leg[client]
        plan.length[free_slot] += plan.leg[other_depot] + length
    plan.counts[USED] += 1
    plan.free_size[plan.type[slot]] -= 1
    if data.timed:
        _retime(data, plan, client, slot)
        _retime(data, plan, other_depot, free_slot)
    refresh_if_rules(data, plan, data.rules, slot)
    refresh_if_rules(data, plan, data.rules, free_slot)


@kernel(borrow=True)
def _exchange(data, plan, client, other):
    """Exchange the tail after `client` with the tail from `other` on, in place."""
    slot, other_slot = plan.route[client], plan.route[other]
    successor, before = plan.next[client], plan.prev[other]
    depot, other_depot = data.clients + slot, data.clients + other_slot
    end, other_end = plan.prev[depot], plan.prev[other_depot]
    tail_count, load, length = _measure_tail(data, plan, successor)
    other_count, other_load, other_length = _measure_tail(data, plan, other)
    if data.limited:
        plan.length[slot] -= plan.leg[client] + length
        plan.length[other_slot] -= plan.leg[before] + other_length
    plan.next[client], plan.prev[other], plan.leg[client] = other, client, distance(data, client, other)
    plan.next[other_end], plan.prev[depot] = depot, other_end
    if tail_count > 0:
        plan.next[before], plan.prev[successor], plan.leg[before] = successor, before, distance(data, before, successor)
        plan.next[end], plan.prev[other_depot] = other_depot, end
    else:
        plan.next[before], plan.prev[other_depot] = other_depot, before
        plan.leg[before] = 0.0 if before == other_depot else distance(data, before, other_depot)
    _assign_route(data, plan, other, slot)
    _assign_route(data, plan, plan.next[before], other_slot)
    plan.size[slot] += other_count - tail_count
    plan.size[other_slot] += tail_count - other_count
    plan.spare_capacity[slot] += load - other_load
    plan.spare_capacity[other_slot] += other_load - load
    if data.limited:
        plan.length[slot] += plan.leg[client] + other_length
        plan.length[other_slot] += plan.leg[before] + length
    if plan.size[other_slot] == 0:
        _release_slot(plan, other_slot)
    if data.timed:
        _retime(data, plan, client, slot)
        _retime(data, plan, before, other_slot)
    refresh_if_rules(data, plan, data.rules, slot)
    refresh_if_rules(data, plan, data.rules, other_slot)


@kernel(borrow=True)
def _retime(data, plan, node, slot):
    """Recompute the earliest and latest starts in a route whose part after `node` is new, in place."""
    retime_forward(data, plan, plan.next[node], data.clients + slot)
    retime_backward(data, plan, node, data.clients + slot)


@kernel(borrow=True)
def _assign_route(data, plan, node, slot):
    """Write `slot` to `plan.route` for all clients from `node` to the end of its route."""
    while node < data.clients:
        plan.route[node] = slot
        node = plan.next[node]


@kernel(inline=True, borrow=True)
def _release_slot(plan, slot):
    """Push a slot whose route has become empty onto the stack of free slots of its type."""
    kind = plan.type[slot]
    plan.counts[USED] -= 1
    plan.free[plan.stack_start[kind] + plan.free_size[kind]] = slot
    plan.free_size[kind] += 1
