"""Simulated annealing over ruin and recreate: Christiaens & Vanden Berghe (2020), section 5; exchanges of tails
and changes of depot are ours."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.rng import below, uniform
from corl.solvers.vrp.ruin.depots import change_depots
from corl.solvers.vrp.ruin.joining import touched_keep
from corl.solvers.vrp.ruin.pool import gather
from corl.solvers.vrp.ruin.recreate import GENEROUS, drop_unworthy, recreate
from corl.solvers.vrp.ruin.routes import undo
from corl.solvers.vrp.ruin.state import BEST, CURRENT, DONE, FOUND, MISSED, TOUCHED
from corl.solvers.vrp.ruin.strings import ruin
from corl.solvers.vrp.ruin.tails import exchange_tails

__all__ = ["anneal", "begin"]

_ANY = 1 << 40  # routes: no limit
_LEAST = 1e-10  # relative gain that is more than rounding
_NEAR = 1.005  # times the best cost: plans whose routes are kept
_EXCHANGES = 2  # of tails, tried in an iteration
_OPENING = 4  # one of so many iterations, where clients are optional, opens routes at a loss and looks what they come to
_EVERY = 16  # iterations between two looks at the temperature


@kernel
def begin(plan, value):
    """Make the present plan, worth `value`, the best one."""
    plan.value[CURRENT] = plan.value[BEST] = value
    copy(plan.prev, plan.best, len(plan.best))
    plan.counts[FOUND] += 1


@kernel
def anneal(data, plan, work, pool, cooling, units):
    """So many iterations. cooling: float64 [4]: first temperature, last one, iteration at which it begins, iterations.

    Before each ruin two routes may exchange their tails, and where there are several depots a route may change its own. How
    much worse a plan may become is drawn before it is made: as no insertion makes a plan cheaper (but for prizes, and for
    rounding within `slack`), most of those that would be rejected need not be finished, a tenth to a third of the time.
    """
    temperature, slack = 0.0, data.slack * max(1.0, data.unit.max())
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
        if data.prizes:
            opening = below(work.random, _OPENING) == 0
            change += recreate(data, plan, work, _ANY, True, math.inf, GENEROUS if opening else 1.0)
            if opening:
                change += drop_unworthy(data, plan, work)
        else:
            change += recreate(data, plan, work, _ANY, True, allowed - change + slack, 1.0)
        plan.counts[DONE] += 1
        if work.counts[MISSED] > 0 or change >= allowed or not touched_keep(data, plan, work):
            undo(data, plan, work)
        else:
            _accept(data, plan, work, pool, change)


@kernel
def _accept_before(data, plan, work, pool, change):
    """As `_accept`, of a change before this iteration's ruin, which may touch the same routes."""
    for k in range(work.counts[TOUCHED]):
        pool.stamp[work.touched[k]] = -1
    _accept(data, plan, work, pool, change)


@kernel
def _accept(data, plan, work, pool, change):
    """Go on from the changed plan. Routes of plans nearly as good as the best one go into the pool, where it has room."""
    plan.value[CURRENT] += change
    if change != 0.0 and len(pool.tag) > 0 and plan.value[CURRENT] <= _NEAR * plan.value[BEST]:
        gather(data, plan, work, pool)
    if plan.value[CURRENT] < plan.value[BEST] - _LEAST * abs(plan.value[BEST]):
        begin(plan, plan.value[CURRENT])
