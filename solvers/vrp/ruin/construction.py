"""Initial solutions: greedy insertion, given routes, or a restored solution; and the cost of a solution, computed from scratch.

Greedy insertion is the recreate step of Christiaens & Vanden Berghe (2020), section 5.3, applied to an empty solution.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

import numpy as np

from corl.jit import kernel
from corl.solvers.vrp.ruin.constrained_insertion import awaits_insertion, must_serve
from corl.solvers.vrp.ruin.coupling import coupled_cost
from corl.solvers.vrp.ruin.recreate import PRIZE_FACTOR, recreate, remove_unprofitable
from corl.solvers.vrp.ruin.route_checks import count_infeasible
from corl.solvers.vrp.ruin.routes import distance, insert, remove, undo
from corl.solvers.vrp.ruin.state import LOGGED, REMOVED, TOUCHED, UNSERVED
from corl.solvers.vrp.ruin.time_costs import time_cost

__all__ = ["cost_of", "insert_all", "place_route", "restore"]


@kernel
def insert_all(data, plan, work, max_routes):
    """Insert the unserved clients, in place; return the change in cost.

    Optional clients are all inserted, as far as vehicles suffice; then unprofitable ones are removed. Inserting only clients that
    pay for themselves would miss profitable routes, as the first client of a route rarely does.

    max_routes: No route is opened beyond this number.

    Afterwards, work.counts[UNSERVED] is the number of mandatory clients without a feasible position.
    """
    work.counts[LOGGED] = work.counts[TOUCHED] = 0
    _list_unserved(data, plan, work, False)
    change = recreate(data, plan, work, max_routes, False, math.inf, 1.0, False)
    if data.has_optional:
        mandatory_unserved, infeasible_before = work.counts[UNSERVED], count_infeasible(data, plan)
        work.counts[LOGGED] = work.counts[TOUCHED] = 0
        _list_unserved(data, plan, work, True)
        optional_change = recreate(data, plan, work, max_routes, False, math.inf, PRIZE_FACTOR, False)
        optional_change += remove_unprofitable(data, plan, work)
        work.counts[UNSERVED] = mandatory_unserved
        if count_infeasible(data, plan) > infeasible_before:  # a removal made a route infeasible
            undo(data, plan, work)
        else:
            change += optional_change
    return change


@kernel
def _list_unserved(data, plan, work, optional):
    """Write the unserved clients to `work.removed`: the optional ones if `optional`, otherwise the mandatory ones."""
    work.counts[REMOVED] = 0
    for client in range(data.clients):
        if awaits_insertion(data, plan, data.rules, client) and must_serve(data, plan, data.rules, client) != optional:
            work.removed[work.counts[REMOVED]] = client
            work.counts[REMOVED] += 1


@kernel
def place_route(data, plan, work, visits, kind):
    """Open a route of vehicle type `kind` that visits the nodes `visits`, int32 [k], in this order, in place."""
    work.counts[LOGGED] = work.counts[TOUCHED] = 0
    after = data.clients + plan.free[plan.stack_start[kind] + plan.free_size[kind] - 1]
    for client in visits:
        insert(data, plan, work, client, after)
        after = client


@kernel
def restore(data, plan, work, before):
    """Make a solution the current one, in place. Its routes may get other slots of the same vehicle types.

    before: int32 [n], the predecessor of each client, -1 for an unserved client, as in `Plan.best`.
    """
    successor = np.full(len(plan.next), -1, np.int32)
    for client in range(data.clients):
        if before[client] >= 0:
            successor[before[client]] = client
    work.counts[LOGGED] = work.counts[TOUCHED] = 0
    for client in range(data.clients):
        if plan.route[client] >= 0:
            remove(data, plan, work, client)
    for slot in range(len(plan.size)):
        node = successor[data.clients + slot]
        if node >= 0:
            kind = plan.type[slot]
            after = data.clients + plan.free[plan.stack_start[kind] + plan.free_size[kind] - 1]
            while node >= 0:
                insert(data, plan, work, node, after)
                after, node = node, successor[node]


@kernel
def cost_of(data, plan):
    """Compute the cost of the current solution from scratch: distances, time, fixed costs, prizes of unserved clients.

    The costs that couple routes are added.

    The cost is inf if a mandatory client is unserved.
    """
    cost = 0.0
    for slot in range(len(plan.size)):
        if plan.size[slot] > 0:
            kind, node = plan.type[slot], data.clients + slot
            cost += data.fixed_cost[kind] + time_cost(plan, data.rules, slot)
            while True:
                cost += data.unit_cost[kind] * distance(data, node, plan.next[node])
                node = plan.next[node]
                if node >= data.clients:
                    break
    for client in range(data.clients):
        if plan.route[client] < 0:
            cost += math.inf if must_serve(data, plan, data.rules, client) else data.prize[client]
    return cost + _coupled_cost(plan, data.rules)


@kernel(inline=True, borrow=True)
def _coupled_cost(plan, rules):
    """Return the costs that couple routes."""
    if rules is None:
        return 0.0
    return coupled_cost(plan, rules) if rules.structure.is_coupled else 0.0
