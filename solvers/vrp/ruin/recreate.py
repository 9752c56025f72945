"""Recreate: the removed clients are inserted one by one, each at its cheapest position.

Christiaens & Vanden Berghe (2020), section 5.3. A few positions are skipped at random ("blinks"), so that insertions vary. Only
positions next to a client's nearest neighbours are considered, and in some iterations next to clients farther away, too: the time
of an iteration does not depend on the size of the instance.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

import numpy as np

from corl.jit import kernel
from corl.rng import below, uniform
from corl.solvers.vrp.ruin.cluster_insertion import best_in_cluster
from corl.solvers.vrp.ruin.clusters import joins_cluster, keep_together
from corl.solvers.vrp.ruin.constrained_insertion import (
    avoided_penalty,
    insert_shipment,
    insert_trip,
    must_serve,
    real_clients,
)
from corl.solvers.vrp.ruin.repair import repair_route
from corl.solvers.vrp.ruin.route_checks import extra_cost
from corl.solvers.vrp.ruin.routes import distance, insert, remove, retime_backward, retime_forward
from corl.solvers.vrp.ruin.state import BLINK, REMOVED, TOUCHED, UNSERVED, USED
from corl.solvers.vrp.ruin.time_costs import refresh_time_cost, removal_saving, time_cost

__all__ = ["PRIZE_FACTOR", "best_position", "fits", "recreate", "remove_unprofitable", "sort_removed"]

PRIZE_FACTOR = 1e12
"""Factor of prizes that lets any optional client open a route: later insertions may make the route profitable."""

_BLINK_RATE = 0.01  # the paper's gamma: the share of positions that are skipped
_SORTED_LAST = 1e12  # added to the sort key of clients that come last; greater than all keys
_MEMBER_PERIOD = 4  # in one of so many insertions of a group, only one random client of the group is considered
_FARTHER_PERIOD = 4  # in one of so many iterations, the farther neighbours are considered too


@kernel(borrow=True, shared=True)
def recreate(data, plan, work, max_routes, strict, allowed, prize_factor, opens):
    """Insert the clients in `work.removed`, sorted by a randomly chosen criterion; return the change in cost.

    Args:
        data: RoutingData.
        plan: Plan, changed in place.
        work: Work; insertions are logged, and work.counts[UNSERVED] counts mandatory clients without a feasible position.
        max_routes: No route is opened beyond this number.
        strict: Whether to stop at the first mandatory client without a feasible position.
        allowed: Upper limit of the change in cost: a position that exceeds it is not taken. inf: no limit.
        prize_factor: The insertion of an optional client may cost up to its prize times this factor. If the factor exceeds 1,
            call `remove_unprofitable` afterwards.
        opens: Whether the first client is inserted into a new route, of the first vehicle type; without side constraints only.
    """
    if len(plan.size) > 0:  # without vehicles, there is no depot to sort by
        sort_removed(data, work)
        _keep_clusters_together(work, data.rules)
    work.counts[UNSERVED] = 0
    reach = data.near.shape[1] if below(work.random, _FARTHER_PERIOD) == 0 else data.near_count
    change = 0.0
    for k in range(work.counts[REMOVED]):
        client = work.removed[k]
        if opens and k == 0:
            cost = _open_route(data, plan, work, client, max_routes, allowed)
        else:
            cost = _insert_best(data, plan, work, data.rules, client, reach, max_routes, prize_factor, allowed - change)
        if cost < math.inf:
            change += cost
        elif must_serve(data, plan, data.rules, client):
            work.counts[UNSERVED] += 1
            if strict:
                break
    return change


@kernel(borrow=True)
def _open_route(data, plan, work, client, max_routes, allowed):
    """Insert a client into a new route of the first vehicle type, without side constraints.

    Returns:
        The change in cost; inf if it is not below `allowed`, or if the route would not be feasible.
    """
    if plan.free_size[0] == 0 or plan.counts[USED] >= max_routes:
        return math.inf
    slot = plan.free[plan.stack_start[0] + plan.free_size[0] - 1]
    node = data.clients + slot
    to, fro = distance(data, node, client), distance(data, client, node)
    possible = data.unit_cost[0] * (to + fro) + data.fixed_cost[0] < allowed and data.demand[client] <= plan.spare_capacity[slot]
    if possible and fits(data, plan, client, node, node, to, fro, slot):
        return insert(data, plan, work, client, node)
    return math.inf


@kernel(inline=True, borrow=True)
def _insert_best(data, plan, work, rules, client, reach, max_routes, prize_factor, allowed):
    """Insert a client at its cheapest position; return the change in cost, or inf if no position costs less than `allowed`."""
    if rules is None:
        after = best_position(data, plan, work, client, reach, max_routes, min(prize_factor * data.prize[client], allowed))
        return insert(data, plan, work, client, after) if after >= 0 else math.inf
    return _insert_by_rules(data, plan, work, rules, client, reach, max_routes, prize_factor, allowed)


@kernel(borrow=True, shared=True)
def _insert_by_rules(data, plan, work, rules, client, reach, max_routes, prize_factor, allowed):
    """Insert a client as `_insert_best` does, in an instance with side constraints.

    Of a shipment, both nodes are inserted; of a group of clients, the one whose insertion is cheapest. If vehicles may reload, a
    new trip is considered too.
    """
    if plan.route[client] >= 0:
        return 0.0
    if rules.has_shipments and rules.partner[client] >= 0:
        return insert_shipment(data, plan, work, rules, client, reach, max_routes, allowed)
    first, last, group = np.int64(0), np.int64(1), -1
    if rules.has_groups and rules.group[client] >= 0:
        group = rules.group[client]
        if plan.segments.served[group] > 0:
            return 0.0
        first, last = rules.member_start[group], rules.member_start[group + 1]
        if below(work.random, _MEMBER_PERIOD) == 0:  # the client that is cheapest now need not be so after later insertions
            first += below(work.random, last - first)
            last = first + 1
    after, chosen, least = -1, client, allowed
    for k in range(first, last):
        member = client if group < 0 else rules.members[k]
        prize = prize_factor * avoided_penalty(data, rules, member)
        if joins_cluster(plan, rules, member):
            found = best_in_cluster(data, plan, work, rules, member, min(prize, least))
        else:
            found = best_position(data, plan, work, member, reach, max_routes, min(prize, least))
        if found >= 0:
            after, chosen, least = found, member, work.key[len(work.key) - 1]
    if rules.multi_trip:
        for k in range(first, last):
            member = client if group < 0 else rules.members[k]
            if (after >= 0 and member != chosen) or joins_cluster(plan, rules, member):
                continue
            bound = min(prize_factor * avoided_penalty(data, rules, member), allowed) if after < 0 else least
            cost = insert_trip(data, plan, work, rules, member, bound)
            if cost < math.inf:
                return cost
    return insert(data, plan, work, chosen, after) if after >= 0 else math.inf


@kernel(borrow=True, shared=True)
def remove_unprofitable(data, plan, work):
    """Remove, from the changed routes, what costs more than the prizes that it earns, in place; return the change in cost.

    An unprofitable route is removed as a whole; from a profitable route, single clients are removed.
    """
    change = 0.0
    for k in range(work.counts[TOUCHED]):
        slot = work.touched[k]
        pays = _is_profitable(data, plan, slot)
        node = plan.next[data.clients + slot]
        while node < data.clients:
            before, successor = plan.prev[node], plan.next[node]
            direct = distance(data, before, successor)
            saved = data.unit_cost[plan.type[slot]] * (plan.leg[before] + plan.leg[node] - direct)
            saved += removal_saving(data, plan, data.rules, before, successor, direct, slot)
            is_client = node < real_clients(data, data.rules)  # otherwise a reload node
            unprofitable = is_client and saved > avoided_penalty(data, data.rules, node)
            if not pays or unprofitable:
                change += remove(data, plan, work, node) + refresh_time_cost(data, plan, data.rules, slot)
                if data.timed and plan.size[slot] > 0:
                    retime_forward(data, plan, successor, successor)
                    retime_backward(data, plan, before, before)
            node = successor
        change += repair_route(data, plan, work, data.rules, slot, work.counts[REMOVED])
    return change


@kernel(borrow=True)
def _is_profitable(data, plan, slot):
    """Return whether a route costs no more than the prizes of its clients, or serves a mandatory client."""
    node, length, prizes = data.clients + slot, plan.leg[data.clients + slot], 0.0
    while plan.next[node] < data.clients:
        node = plan.next[node]
        length += plan.leg[node]
        prizes += avoided_penalty(data, data.rules, node)
    time = time_cost(plan, data.rules, slot)
    return data.fixed_cost[plan.type[slot]] + data.unit_cost[plan.type[slot]] * length + time <= prizes


@kernel(inline=True, borrow=True)
def sort_removed(data, work):
    """Sort `work.removed`, in place, by a randomly chosen criterion.

    The criteria are: random order, largest demand first, farthest from the depot first, closest first (weights 4 : 4 : 2 : 1);
    with time windows also narrowest window first, earliest start first, latest start first (weight 2 each). If trips must deliver
    before they collect, clients without a delivery come last.
    """
    random, count = work.random, work.counts[REMOVED]
    kind = below(random, 17 if data.windows else 11)
    depot = data.clients
    for k in range(count):
        client = work.removed[k]
        if kind < 4:
            key = uniform(random)
        elif kind < 8:
            key = -data.demand[client]
        elif kind < 10:
            key = -distance(data, depot, client)
        elif kind == 10:
            key = distance(data, depot, client)
        elif kind < 13:
            key = data.latest[client] - data.earliest[client]
        elif kind < 15:
            key = data.earliest[client]
        else:
            key = -data.latest[client]
        key += _after_deliveries(data.rules, client)
        place = k
        while place > 0 and work.key[place - 1] > key:
            work.key[place], work.removed[place] = work.key[place - 1], work.removed[place - 1]
            place -= 1
        work.key[place], work.removed[place] = key, client


@kernel(inline=True, borrow=True)
def _keep_clusters_together(work, rules):
    """Sort the removed clients, in place, so that those of a cluster follow the first of them."""
    if rules is None:
        return
    if rules.structure.has_clusters:
        keep_together(work, rules)


@kernel(inline=True, borrow=True)
def _after_deliveries(rules, client):
    """Return what is added to a client's sort key, so that clients without a delivery come last if trips deliver first."""
    if rules is None:
        return 0.0
    return _SORTED_LAST if rules.linehaul_first and rules.pickup_only[client] else 0.0


@kernel(borrow=True, shared=True)
def best_position(data, plan, work, client, reach, max_routes, allowed):
    """Find the cheapest position of a client, next to its neighbours or in a new route.

    Args:
        data: RoutingData.
        plan: Plan.
        work: Work; with side constraints the last entry of `work.key` receives the cost, in place.
        client: The client.
        reach: The number of neighbours that are considered.
        max_routes: No route is opened beyond this number.
        allowed: Upper limit of the cost.

    Returns:
        The node after which to insert the client; -1 if no position costs less than `allowed`.
    """
    best, found = allowed, -1
    demand, blink, rate = data.demand[client], work.counts[BLINK], 1.0
    for a in range(reach):
        other = data.near[client, a]
        slot = plan.route[other]
        if slot < 0 or plan.spare_capacity[slot] < demand:
            continue
        blink -= 2
        if blink < 0:  # skip the positions before and after this neighbour
            blink = _next_blink(work)
            continue
        if data.mixed:
            rate = data.unit_cost[plan.type[slot]]
        near_distance, leg = data.near_distance[client, a], plan.leg[other]
        if rate * (2.0 * (near_distance - leg) - data.slack) < best:  # lower bound of the cost after the neighbour
            successor = plan.next[other]
            to = near_distance if data.symmetric else distance(data, other, client)
            if _in_time(data, plan, client, other, successor, to):
                fro = distance(data, client, successor)
                cost = rate * (to + fro - leg)
                if cost < best and fits(data, plan, client, other, successor, to, fro, slot):
                    cost += extra_cost(data, plan, data.rules, client, other, successor, to, fro, slot)
                    if cost < best:
                        best, found = cost, other
        before = plan.prev[other]
        leg = plan.leg[before]
        if rate * (2.0 * (near_distance - leg) - data.slack) < best:  # lower bound of the cost before the neighbour
            to = distance(data, before, client)
            cost = rate * (to + near_distance - leg)
            if cost < best and fits(data, plan, client, before, other, to, near_distance, slot):
                cost += extra_cost(data, plan, data.rules, client, before, other, to, near_distance, slot)
                if cost < best:
                    best, found = cost, before
    if plan.counts[USED] < max_routes:
        types = len(plan.free_size)
        # Half of the time, only one random type is considered: the cheapest type for one client need not be so for the route.
        only_type = below(work.random, 2 * types) if types > 1 else types
        for kind in range(types):
            if plan.free_size[kind] > 0 and (only_type >= types or only_type == kind):
                slot = plan.free[plan.stack_start[kind] + plan.free_size[kind] - 1]
                node = data.clients + slot
                to, fro = distance(data, node, client), distance(data, client, node)
                cost = data.unit_cost[kind] * (to + fro) + data.fixed_cost[kind]
                if cost < best and demand <= plan.spare_capacity[slot] and fits(data, plan, client, node, node, to, fro, slot):
                    cost += extra_cost(data, plan, data.rules, client, node, node, to, fro, slot)
                    if cost < best:
                        best, found = cost, node
    work.counts[BLINK] = blink
    if data.rules is not None:
        work.key[len(work.key) - 1] = best
    return found


@kernel(inline=True, borrow=True)
def _in_time(data, plan, client, node, successor, to):
    """Return False if time windows forbid the client between `node` and `successor`, even if its leg to `successor` took no time.

    to: The distance from `node` to the client.
    """
    if not data.timed:
        return True
    start = max(data.earliest[client], plan.earliest_start[node] + data.service[node] + to)
    return start <= data.latest[client] and start + data.service[client] <= plan.latest_start[successor]


@kernel(inline=True, borrow=True)
def fits(data, plan, client, node, successor, to, fro, slot):
    """Return whether time windows and the maximum length allow a client between two nodes, in constant time.

    to, fro: The distances from `node` to the client, and from the client to `successor`.
    """
    if data.limited:
        longest = data.max_length[plan.type[slot]]
        if plan.length[slot] + to + fro - plan.leg[node] + data.added_length[client] > longest:
            return False
    if not data.timed:
        return True
    start = max(data.earliest[client], plan.earliest_start[node] + data.service[node] + to)
    return start <= data.latest[client] and start + data.service[client] + fro <= plan.latest_start[successor]


@kernel(borrow=True)
def _next_blink(work):
    """Return how many positions to consider before the next one is skipped: a random number with a geometric distribution."""
    return int(math.log(1.0 - uniform(work.random)) / math.log(1.0 - _BLINK_RATE))
