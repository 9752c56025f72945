"""Routes change depots: one goes, as it is, to a free vehicle that starts elsewhere, or two exchange their vehicles.

Ruin and recreate moves a few clients at a time; on the way to another depot all of them must go. Between vehicles of one depot
that differ in size and cost the same move brought nothing (X270-FSMD -0.1 %, X513-HVRP +0.3).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.ruin.joining import extra_cost
from corl.solvers.vrp.ruin.placing import movable, real_clients
from corl.solvers.vrp.ruin.recreate import fits
from corl.solvers.vrp.ruin.routes import distance, insert, remove
from corl.solvers.vrp.ruin.state import LOGGED, REMOVED, TOUCHED

__all__ = ["change_depots"]


@kernel(borrow=True)
def change_depots(data, plan, work, allowed):
    """Give a random client's route a vehicle that starts elsewhere: a free one, or in exchange that of a route near by.

    Returns the change of cost, with the slots in work.touched; or inf where it would not be less than `allowed`, or break a
    limit: what is logged is then to be undone. Routes with reloads, shipments or a fixed beginning keep their vehicles.
    """
    work.counts[LOGGED] = work.counts[TOUCHED] = work.counts[REMOVED] = 0
    client = below(work.random, real_clients(data, data.rules))
    slot = plan.route[client]
    if slot < 0 or data.close == 0:
        return math.inf
    if below(work.random, 2) == 0:
        to = below(work.random, len(plan.free_size))
        if plan.free_size[to] == 0:
            return math.inf
        another = plan.free[plan.first[to] + plan.free_size[to] - 1]
    else:
        another = plan.route[data.near[client, below(work.random, data.close)]]
        if another < 0:
            return math.inf
    if data.place[data.clients + another] == data.place[data.clients + slot]:
        return math.inf
    if not _worth_trying(data, plan, data.rules, slot, another, allowed) or not _taken(data, plan, work, slot):
        return math.inf
    size = work.counts[REMOVED]
    if not _taken(data, plan, work, another):
        return math.inf
    change = _emptied(data, plan, work)
    for k in range(work.counts[REMOVED]):
        cost = _appended(data, plan, work, work.removed[k], another if k < size else slot)
        if cost == math.inf:
            return math.inf
        change += cost
    return change if change < allowed else math.inf


@kernel(borrow=True)
def _worth_trying(data, plan, terms, slot, another, allowed):
    """Whether the new distances and vehicles alone cost less than `allowed`; always, where rules have time cost something."""
    change = _moved(data, plan, slot, another)
    if plan.size[another] > 0:
        change += _moved(data, plan, another, slot)
    else:
        change += data.fixed[plan.type[another]]
    if plan.size[another] == 0:
        change -= data.fixed[plan.type[slot]]
    return change < allowed or _time_costs(terms)


@kernel(inline=True, borrow=True)
def _time_costs(terms):
    if terms is None:
        return False
    return terms.lasting


@kernel(borrow=True)
def _moved(data, plan, slot, another):
    """What the distance of a route costs more from the depot of another slot, with its vehicle; inf for too much load."""
    depot, elsewhere, kind, to = data.clients + slot, data.clients + another, plan.type[slot], plan.type[another]
    first, last, inner, load = plan.next[depot], plan.prev[depot], 0.0, 0.0
    node = first
    while node < data.clients:
        load += data.demand[node]
        if node != last:
            inner += plan.leg[node]
        node = plan.next[node]
    node, capacity = plan.next[elsewhere], plan.room[another]
    while node < data.clients:
        capacity += data.demand[node]
        node = plan.next[node]
    if load > capacity:
        return math.inf
    now = data.unit[kind] * (plan.leg[depot] + inner + plan.leg[last])
    return data.unit[to] * (distance(data, elsewhere, first) + inner + distance(data, last, elsewhere)) - now


@kernel(borrow=True)
def _taken(data, plan, work, slot):
    """Put the clients of a route into work.removed, in their order; False where one must stay."""
    node = plan.next[data.clients + slot]
    while node < data.clients:
        if not movable(data.rules, node):
            return False
        work.removed[work.counts[REMOVED]] = node
        work.counts[REMOVED] += 1
        node = plan.next[node]
    return True


@kernel(borrow=True)
def _emptied(data, plan, work):
    """Take out the clients in work.removed, which are whole routes; returns the change of cost."""
    change = 0.0
    for k in range(work.counts[REMOVED]):
        change += remove(data, plan, work, work.removed[k])
    return change


@kernel(borrow=True)
def _appended(data, plan, work, client, slot):
    """Put a client at the end of a route; returns the change of cost, or inf where a limit forbids it."""
    depot = data.clients + slot
    node = plan.prev[depot]
    to, fro = distance(data, node, client), distance(data, client, depot)
    if data.demand[client] > plan.room[slot] or not fits(data, plan, client, node, depot, to, fro, slot):
        return math.inf
    if extra_cost(data, plan, data.rules, client, node, depot, to, fro, slot) == math.inf:
        return math.inf
    return insert(data, plan, work, client, node)
