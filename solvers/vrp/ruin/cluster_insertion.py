"""Insertion of a client whose cluster is served in part: beside the other clients of the cluster, or on their route.

A slot is a place for one route (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.ruin.clusters import cluster_slot
from corl.solvers.vrp.ruin.route_checks import extra_cost
from corl.solvers.vrp.ruin.routes import distance

__all__ = ["best_in_cluster"]

_BLINK_PERIOD = 100  # one in so many positions is skipped at random


@kernel(borrow=True, shared=True)
def best_in_cluster(data, plan, work, rules, client, allowed):
    """Find the cheapest position of a client on the route that serves its cluster.

    If the cluster is served in a row, only the positions beside its other clients are considered.

    Args:
        data: RoutingData.
        plan: Plan.
        work: Work; the last entry of `work.key` receives the cost, in place.
        rules: ConstraintTables.
        client: The client.
        allowed: Upper limit of the cost.

    Returns:
        The node after which to insert the client; -1 if no position costs less than `allowed`.
    """
    structure, cluster = rules.structure, rules.structure.cluster[client]
    best, found = allowed, -1
    if structure.in_a_row[cluster]:
        for k in range(structure.member_start[cluster], structure.member_start[cluster + 1]):
            member = structure.members[k]
            if plan.route[member] < 0:
                continue
            before = plan.prev[member]
            cost = _cost_after(data, plan, work, rules, client, member, best)
            if cost < best:
                best, found = cost, member
            if before >= data.clients or structure.cluster[before] != cluster:
                cost = _cost_after(data, plan, work, rules, client, before, best)
                if cost < best:
                    best, found = cost, before
    else:
        node = data.clients + cluster_slot(plan, rules, cluster)
        while True:
            cost = _cost_after(data, plan, work, rules, client, node, best)
            if cost < best:
                best, found = cost, node
            node = plan.next[node]
            if node >= data.clients:
                break
    work.key[len(work.key) - 1] = best
    return found


@kernel(borrow=True)
def _cost_after(data, plan, work, rules, client, node, best):
    """Return the change in cost if a client is inserted after a node; inf if it is infeasible or not less than `best`."""
    if below(work.random, _BLINK_PERIOD) == 0:
        return math.inf
    slot, successor = plan.route[node], plan.next[node]
    to, fro = distance(data, node, client), distance(data, client, successor)
    detour = to + fro - plan.leg[node]
    if data.limited and plan.length[slot] + detour + data.added_length[client] > data.max_length[plan.type[slot]]:
        return math.inf
    cost = data.unit_cost[plan.type[slot]] * detour
    if cost - data.unit_cost[plan.type[slot]] * data.slack >= best:
        return math.inf
    cost += extra_cost(data, plan, rules, client, node, successor, to, fro, slot)
    return cost if cost < best else math.inf
