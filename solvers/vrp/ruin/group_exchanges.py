"""Exchanges within groups: another client of a group takes the place of the one that is served, if this is cheaper.

Insertion chooses the client of a group that is cheapest at that time; later changes before and after it may make another client
cheaper. A slot is a place for one route (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.solvers.vrp.ruin.constrained_insertion import removable
from corl.solvers.vrp.ruin.recreate import fits
from corl.solvers.vrp.ruin.route_checks import extra_cost
from corl.solvers.vrp.ruin.routes import distance, insert, remove
from corl.solvers.vrp.ruin.segments import refresh
from corl.solvers.vrp.ruin.state import LOGGED, TOUCHED

__all__ = ["exchange_members"]

_MAX_SWEEPS = 3  # greatest number of passes over a route
_MIN_GAIN = 1e-9  # smallest improvement, relative to the legs that change; smaller ones are rounding


@kernel(inline=True, borrow=True)
def exchange_members(data, plan, work, rules):
    """Make the profitable exchanges within groups in the routes `work.touched`, in place; return the change in cost."""
    if rules is None:
        return 0.0
    return _exchange_members(data, plan, work, rules) if rules.has_groups else 0.0


@kernel(borrow=True, shared=True)
def _exchange_members(data, plan, work, rules):
    """Implement `exchange_members` for an instance with groups. Afterwards the log of changes is empty."""
    change, routes = 0.0, work.counts[TOUCHED]
    for k in range(routes):
        for _ in range(_MAX_SWEEPS):
            gain = _sweep(data, plan, work, rules, work.touched[k])
            work.counts[TOUCHED] = routes
            change += gain
            if gain == 0.0:
                break
    return change


@kernel(borrow=True)
def _sweep(data, plan, work, rules, slot):
    """Make, in one pass over a route, the profitable exchanges; return the change in cost."""
    change, node = 0.0, plan.next[data.clients + slot]
    while node < data.clients:
        successor = plan.next[node]
        if node < rules.first_reload and rules.group[node] >= 0 and removable(rules, node):
            change += _exchange(data, plan, work, rules, slot, node)
        node = successor
    return change


@kernel(borrow=True)
def _exchange(data, plan, work, rules, slot, client):
    """Put the best other client of its group in the place of a client; return the change in cost, 0 if none is cheaper."""
    before, successor, group = plan.prev[client], plan.next[client], rules.group[client]
    old_length = plan.leg[before] + plan.leg[client]
    best, found = old_length * (1.0 - _MIN_GAIN), -1
    for k in range(rules.member_start[group], rules.member_start[group + 1]):
        member = rules.members[k]
        if member != client:
            length = distance(data, before, member) + distance(data, member, successor)
            if length < best:
                best, found = length, member
    if found < 0:
        return 0.0
    work.counts[LOGGED] = 0  # the log has little space, and what was accepted is not undone
    change = remove(data, plan, work, client)
    change += refresh(data, plan, rules, slot) if plan.size[slot] > 0 else 0.0
    to, fro = distance(data, before, found), distance(data, found, successor)
    fit = data.demand[found] <= plan.spare_capacity[slot] and fits(data, plan, found, before, successor, to, fro, slot)
    if fit and extra_cost(data, plan, rules, found, before, successor, to, fro, slot) < math.inf:
        new_change = change + insert(data, plan, work, found, before)
        if new_change < 0.0:
            return new_change
        change = new_change + remove(data, plan, work, found)
        change += refresh(data, plan, rules, slot) if plan.size[slot] > 0 else 0.0
    return change + insert(data, plan, work, client, before)
