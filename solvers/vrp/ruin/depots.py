"""Changes of depot: a vehicle that starts elsewhere takes over a whole route, or two routes exchange their vehicles.

Ruin and recreate moves a few clients at a time, and so cannot move a whole route to another depot. A slot is a place for one
route, with a vehicle of one type (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.ruin.constrained_insertion import real_clients, removable
from corl.solvers.vrp.ruin.recreate import fits
from corl.solvers.vrp.ruin.route_checks import extra_cost
from corl.solvers.vrp.ruin.routes import distance, insert, remove
from corl.solvers.vrp.ruin.state import LOGGED, REMOVED, TOUCHED

__all__ = ["append", "change_depots", "list_clients"]


@kernel(borrow=True, shared=True)
def change_depots(data, plan, work, allowed):
    """Give a random client's route another vehicle, which starts at another depot, in place.

    The vehicle is either a free one, or that of a neighbour's route; in this case the two routes exchange their vehicles. Routes
    with reloads, shipments or a fixed beginning (visits with which the route must begin) keep their vehicles.

    Args:
        data: RoutingData.
        plan: Plan, changed in place.
        work: Work; the changes are logged, and both slots are in `work.touched`.
        allowed: Upper limit of the change in cost.

    Returns:
        The change in cost. It is inf if the change is not less than `allowed` or violates a limit; the caller then has to undo
        the logged changes.
    """
    work.counts[LOGGED] = work.counts[TOUCHED] = work.counts[REMOVED] = 0
    client = below(work.random, real_clients(data, data.rules))
    slot = plan.route[client]
    if slot < 0 or data.near_count == 0:
        return math.inf
    if below(work.random, 2) == 0:
        kind = below(work.random, len(plan.free_size))
        if plan.free_size[kind] == 0:
            return math.inf
        other_slot = plan.free[plan.stack_start[kind] + plan.free_size[kind] - 1]
    else:
        other_slot = plan.route[data.near[client, below(work.random, data.near_count)]]
        if other_slot < 0:
            return math.inf
    if data.metric_node[data.clients + other_slot] == data.metric_node[data.clients + slot]:
        return math.inf
    if not _is_promising(data, plan, data.rules, slot, other_slot, allowed) or not list_clients(data, plan, work, slot):
        return math.inf
    size = work.counts[REMOVED]
    if not list_clients(data, plan, work, other_slot):
        return math.inf
    change = _remove_listed(data, plan, work)
    for k in range(work.counts[REMOVED]):
        cost = append(data, plan, work, work.removed[k], other_slot if k < size else slot)
        if cost == math.inf:
            return math.inf
        change += cost
    return change if change < allowed else math.inf


@kernel(borrow=True)
def _is_promising(data, plan, rules, slot, other_slot, allowed):
    """Return whether the cost of distance and the fixed costs change by less than `allowed`.

    With costs of time, and with costs that couple routes, it is always True.
    """
    change = _relocation_change(data, plan, slot, other_slot)
    if plan.size[other_slot] > 0:
        change += _relocation_change(data, plan, other_slot, slot)
    else:
        change += data.fixed_cost[plan.type[other_slot]]
    if plan.size[other_slot] == 0:
        change -= data.fixed_cost[plan.type[slot]]
    return change < allowed or _has_time_costs(rules)


@kernel(inline=True, borrow=True)
def _has_time_costs(rules):
    """Return whether the duration of a route, or what couples it with other routes, costs something."""
    if rules is None:
        return False
    return rules.has_time_costs or rules.structure.is_coupled


@kernel(borrow=True)
def _relocation_change(data, plan, slot, other_slot):
    """Return the change in the cost of distance if the route of `slot` gets the depot and vehicle of `other_slot`.

    It is inf if the load of the route exceeds the capacity of the other vehicle.
    """
    depot, other_depot = data.clients + slot, data.clients + other_slot
    kind, other_kind = plan.type[slot], plan.type[other_slot]
    first, last, inner, load = plan.next[depot], plan.prev[depot], 0.0, 0.0
    node = first
    while node < data.clients:
        load += data.demand[node]
        if node != last:
            inner += plan.leg[node]
        node = plan.next[node]
    node, capacity = plan.next[other_depot], plan.spare_capacity[other_slot]
    while node < data.clients:
        capacity += data.demand[node]
        node = plan.next[node]
    if load > capacity:
        return math.inf
    old_cost = data.unit_cost[kind] * (plan.leg[depot] + inner + plan.leg[last])
    new_length = distance(data, other_depot, first) + inner + distance(data, last, other_depot)
    return data.unit_cost[other_kind] * new_length - old_cost


@kernel(borrow=True)
def list_clients(data, plan, work, slot):
    """Append the clients of a route to `work.removed`, in order; return False at a node that must stay in its route."""
    node = plan.next[data.clients + slot]
    while node < data.clients:
        if not removable(data.rules, node):
            return False
        work.removed[work.counts[REMOVED]] = node
        work.counts[REMOVED] += 1
        node = plan.next[node]
    return True


@kernel(borrow=True)
def _remove_listed(data, plan, work):
    """Remove the clients in `work.removed`, which are whole routes; return the change in cost."""
    change = 0.0
    for k in range(work.counts[REMOVED]):
        change += remove(data, plan, work, work.removed[k])
    return change


@kernel(borrow=True)
def append(data, plan, work, client, slot):
    """Append a client to a route, in place; return the change in cost, or inf if a limit forbids it."""
    depot = data.clients + slot
    node = plan.prev[depot]
    to, fro = distance(data, node, client), distance(data, client, depot)
    if data.demand[client] > plan.spare_capacity[slot] or not fits(data, plan, client, node, depot, to, fro, slot):
        return math.inf
    if extra_cost(data, plan, data.rules, client, node, depot, to, fro, slot) == math.inf:
        return math.inf
    return insert(data, plan, work, client, node)
