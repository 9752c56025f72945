"""What the time of a route costs, where it costs anything: with a node less, and anew when nodes have left it."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.solvers.vrp.ruin.joining import join_cost
from corl.solvers.vrp.ruin.segments import refresh

__all__ = ["spared", "time_cost", "timed_anew"]


@kernel(inline=True, borrow=True)
def time_cost(plan, terms, slot):
    """What the time of a route costs."""
    if terms is None:
        return 0.0
    return plan.segments.extra[slot]


@kernel(inline=True, borrow=True)
def spared(data, plan, terms, before, behind, leg, slot):
    """What the time of a route costs less when the node between two others has left it; 0 where that breaks a rule."""
    if terms is None:
        return 0.0
    if not terms.lasting:
        return 0.0
    if plan.size[slot] == 1:
        return plan.segments.extra[slot]
    change = join_cost(data, plan, terms, before, behind, leg, slot)
    return -change if change < math.inf else 0.0


@kernel(inline=True, borrow=True)
def timed_anew(data, plan, terms, slot):
    """The change of what the time of a route costs that a node has left, for the next one to be looked at."""
    if terms is None:
        return 0.0
    if not terms.lasting or plan.size[slot] == 0:
        return 0.0
    return refresh(data, plan, terms, slot)
