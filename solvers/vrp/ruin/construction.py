"""Whole plans: everybody inserted greedily, given routes, a plan come back to, and what a plan costs from scratch."""

from __future__ import annotations

import math

import numpy as np

from corl.jit import kernel
from corl.solvers.vrp.ruin.recreate import recreate
from corl.solvers.vrp.ruin.routes import distance, insert, remove
from corl.solvers.vrp.ruin.state import LOGGED, REMOVED, TOUCHED

__all__ = ["cost_of", "insert_all", "place_route", "restore"]


@kernel
def insert_all(net, plan, work, most):
    """Insert the clients that have no route; work.counts[MISSED] tells how many must be served and are not."""
    work.counts[REMOVED] = work.counts[LOGGED] = work.counts[TOUCHED] = 0
    for client in range(net.clients):
        if plan.route[client] < 0:
            work.removed[work.counts[REMOVED]] = client
            work.counts[REMOVED] += 1
    return recreate(net, plan, work, most, False, math.inf)


@kernel
def place_route(net, plan, work, visits, kind):
    """Open a route of a type with these clients, int32, in this order."""
    work.counts[LOGGED] = work.counts[TOUCHED] = 0
    after = net.clients + plan.free[plan.first[kind] + plan.free_size[kind] - 1]
    for client in visits:
        insert(net, plan, work, client, after)
        after = client


@kernel
def restore(net, plan, work, before):
    """Make the plan the one in which client i stands behind node before[i], int32 [n] (-1: it has no route).

    Routes may get other slots of their types.
    """
    behind = np.full(len(plan.next), -1, np.int32)
    for client in range(net.clients):
        if before[client] >= 0:
            behind[before[client]] = client
    work.counts[LOGGED] = work.counts[TOUCHED] = 0
    for client in range(net.clients):
        if plan.route[client] >= 0:
            remove(net, plan, work, client)
    for slot in range(len(plan.size)):
        node = behind[net.clients + slot]
        if node >= 0:
            kind = plan.type[slot]
            after = net.clients + plan.free[plan.first[kind] + plan.free_size[kind] - 1]
            while node >= 0:
                insert(net, plan, work, node, after)
                after, node = node, behind[node]


@kernel
def cost_of(net, plan):
    """What the present plan costs, from scratch: distance, fixed costs, missed prizes; inf if one is missing that must not."""
    cost = 0.0
    for slot in range(len(plan.size)):
        if plan.size[slot] > 0:
            kind, node = plan.type[slot], net.clients + slot
            cost += net.fixed[kind]
            while True:
                cost += net.unit[kind] * distance(net, node, plan.next[node])
                node = plan.next[node]
                if node >= net.clients:
                    break
    for client in range(net.clients):
        if plan.route[client] < 0:
            cost += net.prize[client] if net.prize[client] < math.inf else math.inf
    return cost
