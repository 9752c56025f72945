"""Simulated annealing over ruin and recreate: Christiaens & Vanden Berghe (2020), section 5.

Additions to the paper: exchanges of tails, changes of depots and vehicles, exchanges within groups of clients, and routes that
are opened at a loss.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.rng import below, uniform
from corl.solvers.vrp.ruin import LONG_ROUTE
from corl.solvers.vrp.ruin.depots import change_depots
from corl.solvers.vrp.ruin.fleet_moves import change_vehicle, types_share_depots
from corl.solvers.vrp.ruin.group_exchanges import exchange_members
from corl.solvers.vrp.ruin.pool import store_touched
from corl.solvers.vrp.ruin.recreate import PRIZE_FACTOR, recreate, remove_unprofitable
from corl.solvers.vrp.ruin.route_checks import touched_feasible
from corl.solvers.vrp.ruin.routes import undo
from corl.solvers.vrp.ruin.state import BEST, CURRENT, DONE, IMPROVED, SERVED, TOUCHED, UNSERVED, USED
from corl.solvers.vrp.ruin.strings import ruin
from corl.solvers.vrp.ruin.two_opt_star import exchange_tails

__all__ = ["anneal", "save_best"]

_NO_ROUTE_LIMIT = 1 << 40  # a number of routes that is never reached
_MIN_GAIN = 1e-10  # smallest relative improvement of the best cost that counts; smaller ones are rounding
_STORED_UP_TO = 1.005  # the routes of solutions that cost up to this multiple of the best cost are stored
_TAIL_MOVES = 2  # exchanges of tails per iteration
_OPENING_PERIOD = 4  # with optional clients: one in so many iterations opens routes at a loss; then it removes unprofitable ones
_NEW_ROUTE_PERIOD = 8  # with time windows and long routes: in one of so many iterations, a removed client gets its own route
_TEMPERATURE_PERIOD = 16  # iterations between two updates of the temperature


@kernel
def save_best(plan, value):
    """Make the current solution, whose cost is `value`, the best one, in place."""
    plan.cost[CURRENT] = plan.cost[BEST] = value
    copy(plan.prev, plan.best, len(plan.best))
    plan.counts[IMPROVED] += 1


@kernel
def anneal(data, plan, work, pool, cooling, units):
    """Make `units` iterations.

    An iteration is one ruin and recreate. With time windows and long routes, some of them give a removed client a new route: that
    alone hardly ever pays, but it may with the clients that are inserted after it; otherwise annealing ends with too few routes.
    Before an iteration, two routes may exchange their tails and, if there are several vehicle types, a route may change its
    depot; between ruin and recreate, a route may then change its vehicle.

    The acceptance threshold is drawn before the candidate is made. An insertion never lowers the cost (except for prizes, and for
    rounding within `slack`), so that insertion can stop as soon as the cost exceeds the threshold. This saves a tenth to a third
    of the time.

    Args:
        data: RoutingData.
        plan: The current and the best solution, changed in place.
        work: Work.
        pool: Receives the routes of good solutions, in place.
        cooling: float64 [4]: first temperature, last temperature, the iteration at which the cooling begins, and its number of
            iterations. Temperatures are in units of cost.
        units: The number of iterations.
    """
    opens_routes = data.windows and data.rules is None
    temperature, slack, changes_vehicles = 0.0, data.slack * max(1.0, data.unit_cost.max()), types_share_depots(data, plan)
    for unit in range(units):
        if unit == 0 or plan.counts[DONE] % _TEMPERATURE_PERIOD == 0:
            progress = (plan.counts[DONE] // _TEMPERATURE_PERIOD * _TEMPERATURE_PERIOD - cooling[2]) / cooling[3]
            temperature = cooling[0] * (cooling[1] / cooling[0]) ** min(1.0, max(0.0, progress))
        for _ in range(_TAIL_MOVES):
            change = exchange_tails(data, plan, work, -temperature * math.log(1.0 - uniform(work.random)))
            if change < math.inf:
                _accept_early(data, plan, work, pool, change)
        if len(plan.free_size) > 1:
            change = change_depots(data, plan, work, -temperature * math.log(1.0 - uniform(work.random)))
            if change < math.inf:
                _accept_early(data, plan, work, pool, change)
            else:
                undo(data, plan, work)
        allowed = -temperature * math.log(1.0 - uniform(work.random))
        long_routes = plan.counts[SERVED] >= LONG_ROUTE * plan.counts[USED]
        opens = opens_routes and long_routes and below(work.random, _NEW_ROUTE_PERIOD) == 0
        change = ruin(data, plan, work)
        if changes_vehicles:
            change += change_vehicle(data, plan, work)
        if change < math.inf:
            change += _reinsert(data, plan, work, allowed - change + slack, opens)
        plan.counts[DONE] += 1
        if work.counts[UNSERVED] > 0 or change >= allowed or not touched_feasible(data, plan, work):
            undo(data, plan, work)
        else:
            change += exchange_members(data, plan, work, data.rules)
            _accept(data, plan, work, pool, change)


@kernel(inline=True, borrow=True)
def _reinsert(data, plan, work, allowed, opens):
    """Insert the removed clients, and optional ones near them, in place; return the change in cost.

    allowed: Upper limit of the change in cost if all clients must be served.
    """
    if not data.has_optional:
        return recreate(data, plan, work, _NO_ROUTE_LIMIT, True, allowed, 1.0, opens)
    opening = below(work.random, _OPENING_PERIOD) == 0
    change = recreate(data, plan, work, _NO_ROUTE_LIMIT, True, math.inf, PRIZE_FACTOR if opening else 1.0, opens)
    if opening:
        change += remove_unprofitable(data, plan, work)
    return change


@kernel
def _accept_early(data, plan, work, pool, change):
    """Accept a change that was made before this iteration's ruin.

    The iteration number is then still that of the previous candidate, whose routes may have been stored for the same slots. The
    stamps of the slots are therefore reset, so that the new routes are stored, too.
    """
    for k in range(work.counts[TOUCHED]):
        pool.stamp[work.touched[k]] = -1
    _accept(data, plan, work, pool, change)


@kernel
def _accept(data, plan, work, pool, change):
    """Accept the candidate as the current solution; store its changed routes if it is nearly as good as the best solution."""
    plan.cost[CURRENT] += change
    if change != 0.0 and len(pool.tag) > 0 and plan.cost[CURRENT] <= _STORED_UP_TO * plan.cost[BEST]:
        store_touched(data, plan, work, pool)
    if plan.cost[CURRENT] < plan.cost[BEST] - _MIN_GAIN * abs(plan.cost[BEST]):
        save_best(plan, plan.cost[CURRENT])
