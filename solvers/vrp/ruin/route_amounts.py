"""The amounts of a route (distance, travel time, duration) after a change, for the costs that couple routes (coupling.py).

A head is the part of a route up to a node, a tail the part from a node on (segments.py). A slot is a place for one route
(state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from corl.jit import kernel
from corl.solvers.vrp.ruin.coupling import coupled_change, joined_change
from corl.solvers.vrp.ruin.segments import joined_duration, travel_time

__all__ = ["exchange_change", "insertion_change", "pair_change", "split_change"]


@kernel(borrow=True, shared=True)
def insertion_change(data, plan, rules, client, node, successor, to, fro, slot):
    """Return the change in the costs that couple routes if a client is inserted between two nodes; inf if a limit forbids it.

    The first scratch row of `Segments.head` holds the head that ends with the client.

    to, fro: The distances from `node` to the client, and from the client to `successor`.
    """
    state, kind, row = plan.segments.structure, plan.type[slot], data.clients + len(plan.size)
    last_leg = travel_time(data, rules, client, successor, kind, fro)
    driving = state.driving[slot] + travel_time(data, rules, node, client, kind, to) + last_leg
    if state.is_used[slot]:
        driving -= travel_time(data, rules, node, successor, kind, plan.leg[node])
    duration = joined_duration(plan, rules, row, successor, last_leg) if rules.structure.measures_duration else 0.0
    return coupled_change(plan, rules, slot, state.distance[slot] + to + fro - plan.leg[node], driving, duration)


@kernel(borrow=True, shared=True)
def pair_change(plan, rules, row, successor, travel, added, driving_added, slot):
    """Return the change in the costs that couple routes if two nodes are inserted into a route; inf if a limit forbids it.

    Args:
        plan: Plan.
        rules: ConstraintTables.
        row: The row of `Segments.head` with the head that ends with the second node.
        successor: The node after it.
        travel: Travel time from the second node to `successor`.
        added: What the distance of the route increases by.
        driving_added: What its travel time increases by.
        slot: The slot of the route.
    """
    state = plan.segments.structure
    duration = joined_duration(plan, rules, row, successor, travel) if rules.structure.measures_duration else 0.0
    return coupled_change(plan, rules, slot, state.distance[slot] + added, state.driving[slot] + driving_added, duration)


@kernel(borrow=True)
def _tail_distance(data, plan, node, slot):
    """Return the distance of the tail of a slot's route that begins at a node; 0 for its depot, an empty tail."""
    state = plan.segments.structure
    return state.distance[slot] - state.reach[node] if node < data.clients else 0.0


@kernel(borrow=True)
def _duration(data, plan, rules, node, successor, leg, kind):
    """Return the duration of the head up to `node` joined with the tail from `successor`, if it is measured, otherwise 0."""
    if not rules.structure.measures_duration:
        return 0.0
    return joined_duration(plan, rules, node, successor, travel_time(data, rules, node, successor, kind, leg))


@kernel(borrow=True, shared=True)
def exchange_change(data, plan, rules, client, other, to, fro):
    """Return the change in the cost of the balance if the tail from `other` and the tail after `client` change places.

    to, fro: The distances from `client` to `other`, and from the predecessor of `other` to the tail of `client`.
    """
    slot, other_slot = plan.route[client], plan.route[other]
    successor, before, kind, state = plan.next[client], plan.prev[other], plan.type[plan.route[client]], plan.segments.structure
    distance = state.reach[client] + to + _tail_distance(data, plan, other, other_slot)
    duration = _duration(data, plan, rules, client, other, to, kind)
    if before >= data.clients and successor >= data.clients:
        return joined_change(plan, rules, slot, distance, duration, other_slot, 0.0, 0.0, False)
    other_distance = state.reach[before] + fro + _tail_distance(data, plan, successor, slot)
    other_duration = _duration(data, plan, rules, before, successor, fro, kind)
    return joined_change(plan, rules, slot, distance, duration, other_slot, other_distance, other_duration, True)


@kernel(borrow=True, shared=True)
def split_change(data, plan, rules, client, free_slot, to, fro):
    """Return the change in the cost of the balance if a free slot takes the tail of `client`.

    to, fro: The distances from `client` to its depot, and from the new route's depot to the tail.
    """
    slot, successor, state = plan.route[client], plan.next[client], plan.segments.structure
    kind = plan.type[slot]
    duration = _duration(data, plan, rules, client, data.clients + slot, to, kind)
    tail_duration = _duration(data, plan, rules, data.clients + free_slot, successor, fro, kind)
    tail = fro + _tail_distance(data, plan, successor, slot)
    return joined_change(plan, rules, slot, state.reach[client] + to, duration, free_slot, tail, tail_duration, True)
