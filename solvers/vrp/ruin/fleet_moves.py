"""Changes of vehicle within an iteration: after the ruin, a route gets a vehicle of another type, or two routes exchange theirs.

A route that lost some clients may fit into a smaller vehicle; a larger one has room for more. As the recreate step follows, both
are judged together with the insertions. A slot is a place for one route, with a vehicle of one type (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.rng import below
from corl.solvers.vrp.ruin.depots import append, list_clients
from corl.solvers.vrp.ruin.routes import remove
from corl.solvers.vrp.ruin.state import REMOVED, TOUCHED

__all__ = ["change_vehicle", "types_share_depots"]


@kernel(borrow=True)
def types_share_depots(data, plan):
    """Return whether vehicles of two types start at the same depot; slots are sorted by type."""
    for slot in range(1, len(plan.size)):
        if plan.type[slot] != plan.type[slot - 1]:
            for other in range(slot):
                if data.metric_node[data.clients + other] == data.metric_node[data.clients + slot]:
                    return True
    return False


@kernel(borrow=True, shared=True)
def change_vehicle(data, plan, work):
    """Give a random route that the ruin changed a vehicle of another type at the same depot, in place; return the change in cost.

    The vehicle is a free one of a random type or, if there is none, that of another route that the ruin changed; these two routes
    exchange their vehicles. If the ruin emptied the other route, its vehicle is one of the free ones of its type. Nothing is
    changed if a vehicle is too small or starts at another depot (see `change_depots`), or if a node must stay in its route.

    Args:
        data: RoutingData.
        plan: Plan, changed in place.
        work: Work; the changes are logged, and new slots are in `work.touched`.

    Returns:
        The change in cost; inf if a limit is violated. The caller then has to undo the logged changes.
    """
    touched = work.counts[TOUCHED]
    if touched == 0:
        return 0.0
    slot, kind = work.touched[below(work.random, touched)], below(work.random, len(plan.free_size))
    if plan.size[slot] == 0:
        return 0.0
    other_slot = -1
    if plan.free_size[kind] == 0:
        other_slot = work.touched[below(work.random, touched)]
        kind = plan.type[other_slot]
    if other_slot < 0 or plan.size[other_slot] == 0:  # only the slot at the top of a stack of free slots can be filled
        other_slot = plan.free[plan.stack_start[kind] + plan.free_size[kind] - 1]
    depot, other_depot = data.metric_node[data.clients + slot], data.metric_node[data.clients + other_slot]
    if plan.type[other_slot] == plan.type[slot] or depot != other_depot:
        return 0.0
    since = work.counts[REMOVED]  # the clients of both routes are listed after the removed ones
    movable = list_clients(data, plan, work, slot)
    size = work.counts[REMOVED] - since
    movable = movable and list_clients(data, plan, work, other_slot)
    until = work.counts[REMOVED]
    work.counts[REMOVED] = since
    load, other_load = _load(data, work, since, since + size), _load(data, work, since + size, until)
    fits = load <= plan.spare_capacity[other_slot] + other_load and other_load <= plan.spare_capacity[slot] + load
    if not movable or not fits:
        return 0.0
    change = 0.0
    for k in range(since, until):
        change += remove(data, plan, work, work.removed[k])
    for k in range(since, until):
        cost = append(data, plan, work, work.removed[k], other_slot if k < since + size else slot)
        if cost == math.inf:
            return math.inf
        change += cost
    return change


@kernel(borrow=True)
def _load(data, work, first, last):
    """Return the demand of the clients work.removed[first:last]."""
    load = 0.0
    for k in range(first, last):
        load += data.demand[work.removed[k]]
    return load
