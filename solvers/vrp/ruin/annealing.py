"""Simulated annealing over ruin and recreate: Christiaens & Vanden Berghe (2020), section 5.

Exchanges of tails, changes of depots and routes opened at a loss are additions to the paper.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.rng import below, uniform
from corl.solvers.vrp.ruin.depots import change_depots
from corl.solvers.vrp.ruin.pool import store_touched
from corl.solvers.vrp.ruin.recreate import PRIZE_FACTOR, recreate, remove_unprofitable
from corl.solvers.vrp.ruin.route_checks import touched_feasible
from corl.solvers.vrp.ruin.routes import undo
from corl.solvers.vrp.ruin.state import BEST, CURRENT, DONE, IMPROVED, TOUCHED, UNSERVED
from corl.solvers.vrp.ruin.strings import ruin
from corl.solvers.vrp.ruin.two_opt_star import exchange_tails

__all__ = ["anneal", "save_best"]

_ANY = 1 << 40  # unlimited number of routes
_LEAST = 1e-10  # smallest relative gain that counts; below it is rounding
_NEAR = 1.005  # solutions up to this multiple of the best cost have their routes stored
_EXCHANGES = 2  # exchanges of tails per iteration
_OPENING = (
    4  # with optional clients, one in this many iterations may open routes at a loss, and drops unprofitable ones at its end
)
_EVERY = 16  # iterations between two updates of the temperature


@kernel
def save_best(plan, value):
    """Copy the current solution, whose cost is `value`, to the best one."""
    plan.cost[CURRENT] = plan.cost[BEST] = value
    copy(plan.prev, plan.best, len(plan.best))
    plan.counts[IMPROVED] += 1


@kernel
def anneal(data, plan, work, pool, cooling, units):
    """Make `units` iterations.

    Before each ruin two routes may exchange their tails and, if there are several vehicle types, a route may change its depot.
    The threshold of acceptance is drawn before the candidate is made: as no insertion lowers the cost (except for prizes, and for
    rounding within `slack`), most candidates that would be rejected need not be completed, which saves a tenth to a third of the
    time.

    Args:
        data: RoutingData.
        plan: The current and the best solution, changed in place.
        work: Work.
        pool: Receives routes of good solutions.
        cooling: float64 [4]: first and last temperature, the iteration at which the cooling begins, its number of iterations.
        units: The number of iterations.
    """
    temperature, slack = 0.0, data.slack * max(1.0, data.unit_cost.max())
    for unit in range(units):
        if unit == 0 or plan.counts[DONE] % _EVERY == 0:
            age = (plan.counts[DONE] // _EVERY * _EVERY - cooling[2]) / cooling[3]
            temperature = cooling[0] * (cooling[1] / cooling[0]) ** min(1.0, max(0.0, age))
        for _ in range(_EXCHANGES):
            change = exchange_tails(data, plan, work, -temperature * math.log(1.0 - uniform(work.random)))
            if change < math.inf:
                _accept_before(data, plan, work, pool, change)
        if len(plan.free_size) > 1:
            change = change_depots(data, plan, work, -temperature * math.log(1.0 - uniform(work.random)))
            if change < math.inf:
                _accept_before(data, plan, work, pool, change)
            else:
                undo(data, plan, work)
        allowed = -temperature * math.log(1.0 - uniform(work.random))
        change = ruin(data, plan, work)
        if data.has_optional:
            opening = below(work.random, _OPENING) == 0
            change += recreate(data, plan, work, _ANY, True, math.inf, PRIZE_FACTOR if opening else 1.0)
            if opening:
                change += remove_unprofitable(data, plan, work)
        else:
            change += recreate(data, plan, work, _ANY, True, allowed - change + slack, 1.0)
        plan.counts[DONE] += 1
        if work.counts[UNSERVED] > 0 or change >= allowed or not touched_feasible(data, plan, work):
            undo(data, plan, work)
        else:
            _accept(data, plan, work, pool, change)


@kernel
def _accept_before(data, plan, work, pool, change):
    """Accept a change that was made before this iteration's ruin, which may touch the same routes."""
    for k in range(work.counts[TOUCHED]):
        pool.stamp[work.touched[k]] = -1
    _accept(data, plan, work, pool, change)


@kernel
def _accept(data, plan, work, pool, change):
    """Accept the candidate as the current solution; store its routes if it is nearly as good as the best one."""
    plan.cost[CURRENT] += change
    if change != 0.0 and len(pool.tag) > 0 and plan.cost[CURRENT] <= _NEAR * plan.cost[BEST]:
        store_touched(data, plan, work, pool)
    if plan.cost[CURRENT] < plan.cost[BEST] - _LEAST * abs(plan.cost[BEST]):
        save_best(plan, plan.cost[CURRENT])
