"""Costs and limits that couple routes: the longest route, the range of routes, and the rosters of vehicles.

The amounts of all routes (distance, travel time, duration) are kept, and the two longest and the two shortest. The change in cost
if one route gets another amount is then known in constant time, and exact; only a change of one of these four routes needs a look
at all routes. A roster is the list of the shifts of one vehicle. A slot is a place for one route (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel

__all__ = ["coupled_change", "coupled_cost", "joined_change", "keeps_rosters", "record_route", "release_route"]

_LONGEST, _SHORTEST = 0, 2  # first of the two entries of `extremes` for the longest and for the shortest routes


@kernel(borrow=True, shared=True)
def coupled_cost(plan, rules):
    """Return the cost of the balance and of the rosters of the current solution."""
    state, cost = plan.segments.structure, 0.0
    for roster in range(len(state.roster_routes)):
        if state.roster_routes[roster] > 0:
            cost += rules.structure.roster_cost[roster]
    return cost + _balance_cost(rules, state.extremes[_LONGEST], state.extremes[_SHORTEST])


@kernel(inline=True, borrow=True)
def _balance_cost(rules, longest, shortest):
    """Return the cost of the balance if the longest and the shortest route have these amounts; infinite ones: no route."""
    if longest == -math.inf:
        return 0.0
    return rules.structure.balance_weight * (longest - shortest if rules.structure.is_range else longest)


@kernel(inline=True, borrow=True)
def _amount(rules, distance, duration):
    """Return the amount of a route that the balance compares."""
    return duration if rules.structure.of_duration else distance


@kernel(borrow=True, shared=True)
def coupled_change(plan, rules, slot, distance, driving, duration):
    """Return the change in cost if the route of a slot gets other amounts; inf if its roster then exceeds a limit.

    Args:
        plan: Plan.
        rules: ConstraintTables.
        slot: The slot; its route may be empty now.
        distance: The distance of the new route.
        driving: Its travel time.
        duration: Its duration, if it is measured.
    """
    structure, state = rules.structure, plan.segments.structure
    change, roster = 0.0, structure.roster[plan.type[slot]]
    if roster >= 0:
        if not _within_roster(plan, rules, roster, slot, driving, duration):
            return math.inf
        if state.roster_routes[roster] == 0:
            change += structure.roster_cost[roster]
    if structure.balance_weight > 0.0:
        change += _balance_change(plan, rules, slot, slot, _amount(rules, distance, duration), True, 0.0, False)
    return change


@kernel(borrow=True)
def _within_roster(plan, rules, roster, slot, driving, duration):
    """Return whether a roster keeps its limits if the route of one of its slots gets this travel time and duration."""
    structure, state = rules.structure, plan.segments.structure
    for k in range(structure.slot_start[roster], structure.slot_start[roster + 1]):
        other = structure.slots[k]
        if other != slot and state.is_used[other]:
            driving += state.driving[other]
            duration += state.duration[other]
    return driving <= structure.max_driving[roster] and (
        not structure.measures_duration or duration <= structure.max_duration[roster]
    )


@kernel(borrow=True, shared=True)
def keeps_rosters(plan, rules, slot):
    """Return whether the roster of a slot keeps its limits."""
    roster, state = rules.structure.roster[plan.type[slot]], plan.segments.structure
    return roster < 0 or _within_roster(plan, rules, roster, slot, state.driving[slot], state.duration[slot])


@kernel(borrow=True, shared=True)
def joined_change(plan, rules, slot, distance, duration, other_slot, other_distance, other_duration, other_used):
    """Return the change in the cost of the balance if two routes, of vehicle types without rosters, get other amounts.

    Args:
        plan: Plan.
        rules: ConstraintTables.
        slot: The slot of one route.
        distance: Its distance.
        duration: Its duration, if it is measured.
        other_slot: The slot of the other route.
        other_distance: Its distance.
        other_duration: Its duration, if it is measured.
        other_used: Whether the other route has clients.
    """
    if rules.structure.balance_weight == 0.0:
        return 0.0
    one, other = _amount(rules, distance, duration), _amount(rules, other_distance, other_duration)
    return _balance_change(plan, rules, slot, other_slot, one, True, other, other_used)


@kernel(borrow=True)
def _balance_change(plan, rules, slot, other_slot, amount, used, other_amount, other_used):
    """Return the change in the cost of the balance if the routes of two slots, or of one, get other amounts.

    Args:
        plan: Plan.
        rules: ConstraintTables.
        slot: The first slot.
        other_slot: The second slot; it may be the first.
        amount: The amount of the first.
        used: Whether the first is used.
        other_amount: The amount of the second.
        other_used: Whether the second is used.
    """
    state = plan.segments.structure
    longest = _without(plan, rules, _LONGEST, slot, other_slot)
    shortest = _without(plan, rules, _SHORTEST, slot, other_slot) if rules.structure.is_range else math.inf
    if used:
        longest, shortest = max(longest, amount), min(shortest, amount)
    if other_used:
        longest, shortest = max(longest, other_amount), min(shortest, other_amount)
    return _balance_cost(rules, longest, shortest) - _balance_cost(rules, state.extremes[_LONGEST], state.extremes[_SHORTEST])


@kernel(borrow=True)
def _without(plan, rules, which, slot, other_slot):
    """Return the amount of the longest (or shortest) used route whose slot is neither of two slots; -inf (inf) without one.

    which: _LONGEST or _SHORTEST.
    """
    state = plan.segments.structure
    for k in range(which, which + 2):
        if state.extreme_slot[k] != slot and state.extreme_slot[k] != other_slot:
            return state.extremes[k]
    found = -math.inf if which == _LONGEST else math.inf
    for other in range(len(state.is_used)):
        if state.is_used[other] and other != slot and other != other_slot:
            amount = _amount(rules, state.distance[other], state.duration[other])
            found = max(found, amount) if which == _LONGEST else min(found, amount)
    return found


# -------------------------------------------------------------------- the current solution
@kernel(borrow=True, shared=True)
def record_route(plan, rules, slot, distance, driving, duration):
    """Set the amounts of a used route, in place; return the change in the cost of the balance and of the rosters."""
    state, roster, before = plan.segments.structure, rules.structure.roster[plan.type[slot]], coupled_cost(plan, rules)
    if roster >= 0 and not state.is_used[slot]:
        state.roster_routes[roster] += 1
    state.is_used[slot] = True
    state.distance[slot], state.driving[slot], state.duration[slot] = distance, driving, duration
    _update_extremes(plan, rules, slot)
    return coupled_cost(plan, rules) - before


@kernel(borrow=True, shared=True)
def release_route(plan, rules, slot):
    """Take account of a route that is now empty, in place; return the change in the cost of the balance and of the rosters."""
    state, roster = plan.segments.structure, rules.structure.roster[plan.type[slot]]
    if not state.is_used[slot]:
        return 0.0
    before = coupled_cost(plan, rules)
    if roster >= 0:
        state.roster_routes[roster] -= 1
    state.is_used[slot] = False
    state.distance[slot] = state.driving[slot] = state.duration[slot] = 0.0
    _update_extremes(plan, rules, slot)
    return coupled_cost(plan, rules) - before


@kernel(borrow=True)
def _update_extremes(plan, rules, slot):
    """Update the longest and the shortest routes after a change of one route, in place."""
    if rules.structure.balance_weight == 0.0:
        return
    state = plan.segments.structure
    was_extreme = False
    for k in range(4):
        was_extreme |= state.extreme_slot[k] == slot
    if not was_extreme:
        if state.is_used[slot]:
            _compare(plan, rules, slot)
        return
    for k in range(4):
        state.extremes[k], state.extreme_slot[k] = -math.inf if k < _SHORTEST else math.inf, -1
    for other in range(len(state.is_used)):
        if state.is_used[other]:
            _compare(plan, rules, other)


@kernel(inline=True, borrow=True)
def _compare(plan, rules, slot):
    """Enter a used route among the two longest and the two shortest if it is one of them, in place."""
    state = plan.segments.structure
    amount = _amount(rules, state.distance[slot], state.duration[slot])
    if amount > state.extremes[1]:
        place = 0 if amount > state.extremes[0] else 1
        if place == 0:
            state.extremes[1], state.extreme_slot[1] = state.extremes[0], state.extreme_slot[0]
        state.extremes[place], state.extreme_slot[place] = amount, slot
    if rules.structure.is_range and amount < state.extremes[3]:
        place = 2 if amount < state.extremes[2] else 3
        if place == 2:
            state.extremes[3], state.extreme_slot[3] = state.extremes[2], state.extreme_slot[2]
        state.extremes[place], state.extreme_slot[place] = amount, slot
