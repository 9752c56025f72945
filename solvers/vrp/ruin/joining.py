"""What rules make of a route that is put together anew: what its time costs more, inf where that breaks a rule; and whether
routes keep to their limits as they are.

To take a client out may break them: a distance need not obey the triangle inequality, and where breaks are to be taken somebody
must be visited. What a ruin leaves is therefore looked at before it is accepted.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

import numpy as np

from corl.jit import kernel
from corl.solvers.vrp.ruin.pauses import keeps_pauses
from corl.solvers.vrp.ruin.routes import distance
from corl.solvers.vrp.ruin.segments import close, extend, may_serve, travel
from corl.solvers.vrp.ruin.state import TOUCHED
from corl.solvers.vrp.ruin.terms import OPEN

__all__ = ["breaking", "extra_cost", "join_cost", "touched_keep", "walked"]

_ROUNDING = 1e-10  # relative, of sums that are made in another order: a tenth of what the judge grants


@kernel(inline=True, borrow=True)
def extra_cost(data, plan, terms, client, node, behind, to, fro, slot):
    """What a client between two nodes of a route changes in what its time costs; inf where that breaks a rule."""
    if terms is None:
        return 0.0
    return _extra(data, plan, terms, client, node, behind, to, fro, slot)


@kernel(borrow=True)
def _extra(data, plan, terms, client, node, behind, to, fro, slot):
    kind, try_row = plan.type[slot], data.clients + len(plan.size)
    if not may_serve(terms, kind, client):
        return math.inf
    way = travel(data, terms, node, client, kind, to)
    extend(data, terms, plan.segments.head, node, try_row, client, way)
    cost = close(data, plan, terms, try_row, behind, travel(data, terms, client, behind, kind, fro), slot)
    if cost < math.inf and terms.paused and not walked(data, plan, terms, slot, node, client, -1, -1):
        return math.inf
    return cost - plan.segments.extra[slot]


@kernel(borrow=True)
def join_cost(data, plan, terms, node, behind, leg, slot):
    """As `extra_cost`, for the head up to a node and the tail from another, maybe of another route."""
    kind = plan.type[slot]
    if plan.segments.head[node, OPEN] != 0.0:  # what is aboard would not meet those it is for
        return math.inf
    cost = close(data, plan, terms, node, behind, travel(data, terms, node, behind, kind, leg), slot)
    if cost < math.inf and terms.paused and not _joined_walk(data, plan, terms, slot, node, behind):
        return math.inf
    return cost - plan.segments.extra[slot]


@kernel(borrow=True)
def walked(data, plan, terms, slot, node, client, other_node, other):
    """Whether a route keeps its pauses with a client behind a node, and another (or -1) behind another node, client or not."""
    count, here = 0, data.clients + slot
    sequence = plan.segments.sequence
    while True:
        if here < data.clients:
            sequence[count] = here
            count += 1
        if here == node:
            sequence[count] = client
            count += 1
            if other >= 0 and other_node == client:
                sequence[count] = other
                count += 1
        if other >= 0 and here == other_node:
            sequence[count] = other
            count += 1
        here = plan.next[here]
        if here >= data.clients:
            break
    return _keeps(data, plan, terms, slot, count)


@kernel(borrow=True)
def _joined_walk(data, plan, terms, slot, node, behind):
    """Whether a vehicle can visit the head up to a node and then the tail from another."""
    sequence, count, here = plan.segments.sequence, 0, node
    while here < data.clients:
        count += 1
        here = plan.prev[here]
    here = node
    for k in range(count):
        sequence[count - 1 - k] = here
        here = plan.prev[here]
    while behind < data.clients:
        sequence[count] = behind
        count += 1
        behind = plan.next[behind]
    return _keeps(data, plan, terms, slot, count)


@kernel(borrow=True)
def _keeps(data, plan, terms, slot, count):
    depot, kind = data.clients + slot, plan.type[slot]
    before, ways = depot, plan.segments.ways
    for k in range(count + 1):
        node = plan.segments.sequence[k] if k < count else depot
        ways[k] = travel(data, terms, before, node, kind, distance(data, before, node))
        before = node
    return keeps_pauses(data, plan, terms, slot, count, ways)


# -------------------------------------------------------------------- routes as they are
@kernel(borrow=True)
def touched_keep(data, plan, work):
    """Whether the routes in work.touched keep to every limit of their own."""
    k = 0
    while k < work.counts[TOUCHED] and _keeps_limits(data, plan, np.int64(work.touched[k])):  # as `breaking` calls it
        k += 1
    return k == work.counts[TOUCHED]


@kernel
def breaking(data, plan):
    """How many routes break a limit."""
    count = 0
    for slot in range(len(plan.size)):
        if not _keeps_limits(data, plan, slot):
            count += 1
    return count


@kernel(borrow=True)
def _keeps_limits(data, plan, slot):
    depot, kind = data.clients + slot, plan.type[slot]
    first = plan.next[depot]
    if plan.size[slot] == 0:
        return True
    if data.limited and plan.length[slot] > data.longest[kind] * (1.0 + _ROUNDING):
        return False
    if data.timed and plan.begin[first] > plan.last[first] + _ROUNDING * abs(plan.last[first]):
        return False
    return _keeps_rules(data, plan, data.rules, slot)


@kernel(inline=True, borrow=True)
def _keeps_rules(data, plan, terms, slot):
    if terms is None:
        return True
    last = plan.prev[data.clients + slot]
    return join_cost(data, plan, terms, last, data.clients + slot, plan.leg[last], slot) < math.inf
