"""The cost of a route's duration, and its change if a client is removed; 0 if time costs nothing.

A slot is a place for one route (state.py).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.solvers.vrp.ruin.route_checks import join_cost
from corl.solvers.vrp.ruin.segments import refresh

__all__ = ["refresh_time_cost", "removal_saving", "time_cost"]


@kernel(inline=True, borrow=True)
def time_cost(plan, rules, slot):
    """Return the cost of the duration of a slot's route."""
    if rules is None:
        return 0.0
    return plan.segments.time_cost[slot]


@kernel(inline=True, borrow=True)
def removal_saving(data, plan, rules, before, successor, leg, slot):
    """Return by how much the cost of the duration falls if the node between `before` and `successor` is removed.

    It is 0 if the route without the node violates a side constraint.

    leg: The distance from `before` to `successor`.
    """
    if rules is None:
        return 0.0
    if not rules.has_time_costs:
        return 0.0
    if plan.size[slot] == 1:
        return plan.segments.time_cost[slot]
    change = join_cost(data, plan, rules, before, successor, leg, slot)
    return -change if change < math.inf else 0.0


@kernel(inline=True, borrow=True)
def refresh_time_cost(data, plan, rules, slot):
    """Recompute the segments of a route after a removal, in place; return the change in the cost of the route's duration."""
    if rules is None:
        return 0.0
    if not rules.has_time_costs or plan.size[slot] == 0:
        return 0.0
    return refresh(data, plan, rules, slot)
