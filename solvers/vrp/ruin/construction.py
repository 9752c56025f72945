"""Whole plans: everybody inserted greedily, given routes, a plan come back to, and what a plan costs from scratch.

Inserting greedily is the recreate of Christiaens & Vanden Berghe (2020), section 5.3, with nobody served before.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

import numpy as np

from corl.jit import kernel
from corl.solvers.vrp.ruin.joining import breaking
from corl.solvers.vrp.ruin.lasting import time_cost
from corl.solvers.vrp.ruin.placing import must_serve, waits
from corl.solvers.vrp.ruin.recreate import GENEROUS, drop_unworthy, recreate
from corl.solvers.vrp.ruin.routes import distance, insert, remove, undo
from corl.solvers.vrp.ruin.state import LOGGED, MISSED, REMOVED, TOUCHED

__all__ = ["cost_of", "insert_all", "place_route", "restore"]


@kernel
def insert_all(data, plan, work, most):
    """Insert the clients that have no route; work.counts[MISSED] tells how many must be served and are not.

    Optional clients are inserted too, as far as vehicles go, and those that are not worth it then taken out: a route that pays
    does not pay for its first client.
    """
    work.counts[LOGGED] = work.counts[TOUCHED] = 0
    _without_route(data, plan, work, False)
    change = recreate(data, plan, work, most, False, math.inf, 1.0)
    if data.prizes:
        missed, broken = work.counts[MISSED], breaking(data, plan)
        work.counts[LOGGED] = work.counts[TOUCHED] = 0
        _without_route(data, plan, work, True)
        more = recreate(data, plan, work, most, False, math.inf, GENEROUS)
        more += drop_unworthy(data, plan, work)
        work.counts[MISSED] = missed
        if breaking(data, plan) > broken:  # for somebody who was taken out again
            undo(data, plan, work)
        else:
            change += more
    return change


@kernel
def _without_route(data, plan, work, optional):
    """Put the clients without a route that are optional, or those that must be served, into work.removed."""
    work.counts[REMOVED] = 0
    for client in range(data.clients):
        if waits(data, plan, data.rules, client) and must_serve(data, plan, data.rules, client) != optional:
            work.removed[work.counts[REMOVED]] = client
            work.counts[REMOVED] += 1


@kernel
def place_route(data, plan, work, visits, kind):
    """Open a route of a type with these clients, int32, in this order."""
    work.counts[LOGGED] = work.counts[TOUCHED] = 0
    after = data.clients + plan.free[plan.first[kind] + plan.free_size[kind] - 1]
    for client in visits:
        insert(data, plan, work, client, after)
        after = client


@kernel
def restore(data, plan, work, before):
    """Make the plan the one in which client i stands behind node before[i], int32 [n] (-1: it has no route).

    Routes may get other slots of their types.
    """
    behind = np.full(len(plan.next), -1, np.int32)
    for client in range(data.clients):
        if before[client] >= 0:
            behind[before[client]] = client
    work.counts[LOGGED] = work.counts[TOUCHED] = 0
    for client in range(data.clients):
        if plan.route[client] >= 0:
            remove(data, plan, work, client)
    for slot in range(len(plan.size)):
        node = behind[data.clients + slot]
        if node >= 0:
            kind = plan.type[slot]
            after = data.clients + plan.free[plan.first[kind] + plan.free_size[kind] - 1]
            while node >= 0:
                insert(data, plan, work, node, after)
                after, node = node, behind[node]


@kernel
def cost_of(data, plan):
    """What the present plan costs, from scratch: distance, fixed costs, missed prizes; inf if one is missing that must not."""
    cost = 0.0
    for slot in range(len(plan.size)):
        if plan.size[slot] > 0:
            kind, node = plan.type[slot], data.clients + slot
            cost += data.fixed[kind] + time_cost(plan, data.rules, slot)
            while True:
                cost += data.unit[kind] * distance(data, node, plan.next[node])
                node = plan.next[node]
                if node >= data.clients:
                    break
    for client in range(data.clients):
        if plan.route[client] < 0:
            cost += math.inf if must_serve(data, plan, data.rules, client) else data.prize[client]
    return cost
