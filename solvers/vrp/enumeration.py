"""Enumeration for tiny instances: all possible routes, and the cheapest set of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING

import numpy as np

from corl.errors import Infeasible
from corl.problems.vrp.evaluation import check_route
from corl.problems.vrp.routes import Route

if TYPE_CHECKING:
    from collections.abc import Callable

    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run

__all__ = ["NO_PLAN", "countable", "enumerate_if_unsolved", "least_plan"]

NO_PLAN = "no combination of the possible routes of {} clients is a feasible solution"

_MOST = 6000  # greatest number of routes, a tenth of a millisecond each

_Best = dict[int, tuple[float, list[Route]]]  # bit mask of the clients served -> least cost, and its routes


def countable(instance: VrpInstance) -> bool:
    """Return whether there are few enough possible routes to enumerate them."""
    count, n = 0, instance.clients
    for kind in np.flatnonzero(instance.vehicles.count).tolist():
        depots, most = len(_reload_depots(instance, kind)), _reloads(instance, kind)
        orders = 1
        for size in range(1, n + 1):
            orders *= n - size + 1
            count += orders * (1 if most == 0 else (1 + depots) ** (size - 1))
            if count > _MOST:
                return False
    return True


def least_plan(instance: VrpInstance, stop: Callable[[], bool]) -> list[Route] | None:
    """Return the cheapest solution; None if there is none, or `stop` returns True."""
    plans: _Best = {0: (0.0, [])}
    begun = () if instance.rules is None or instance.rules.begun is None else instance.rules.begun
    for kind in np.flatnonzero(instance.vehicles.count).tolist():
        routes = _routes(instance, kind, stop)
        if stop():
            return None
        count, newest = int(instance.vehicles.count[kind]), plans
        plans = {} if len(begun) and len(begun[kind]) else dict(plans)
        for _ in range(instance.clients if count < 0 else min(count, instance.clients)):
            newest = _combined(newest, routes)
            _keep_cheaper(plans, newest)
    costs = [(cost + _unserved_cost(instance, mask), mask) for mask, (cost, _) in plans.items()]
    least, mask = min(costs, default=(np.inf, 0))
    return plans[mask][1] if least < np.inf else None


def enumerate_if_unsolved(instance: VrpInstance, run: Run) -> None:
    """If nothing was found and there are few possible routes, report the cheapest solution, or that there is none."""
    if run.solution is not None or run.infeasible or not countable(instance):
        return

    def stop() -> bool:
        return run.limit not in (None, "iterations")

    plan = least_plan(instance, stop)
    if plan is not None:
        run.report(plan)
    elif not stop():
        run.report_infeasible(NO_PLAN.format(instance.clients))


def _routes(instance: VrpInstance, kind: int, stop: Callable[[], bool]) -> _Best:
    """Return the cheapest feasible route of a vehicle type for each set of clients."""
    best: _Best = {}
    for size in range(1, instance.clients + 1):
        for chosen in combinations(range(instance.depots, instance.n), size):
            if stop():
                return best
            mask = sum(1 << (node - instance.depots) for node in chosen)
            for order in permutations(chosen):
                for visits in _trips(instance, kind, order):
                    route = Route(kind, np.array(visits, np.int32))
                    try:
                        cost = check_route(instance, route)
                    except Infeasible:
                        continue
                    _keep_cheaper(best, {mask: (cost, [route])})
    return best


def _trips(instance: VrpInstance, kind: int, order: tuple[int, ...]) -> Iterator[list[int]]:
    """Return the visits in this order, with reloads in every possible way."""
    depots, most = _reload_depots(instance, kind), _reloads(instance, kind)
    between = [[None, *depots] if most else [None]] * (len(order) - 1)
    for reloads in product(*between):
        if sum(each is not None for each in reloads) <= most:
            visits = [order[0]]
            for depot, node in zip(reloads, order[1:]):
                visits += [node] if depot is None else [depot, node]
            yield visits


def _reloads(instance: VrpInstance, kind: int) -> int:
    return 0 if instance.rules is None or instance.rules.reloads is None else int(instance.rules.reloads[kind])


def _reload_depots(instance: VrpInstance, kind: int) -> list[int]:
    if instance.rules is None or instance.rules.reload_depots is None:
        return [int(instance.vehicles.start[kind])]
    return np.flatnonzero(instance.rules.reload_depots[kind]).tolist()


def _combined(plans: _Best, routes: _Best) -> _Best:
    """Return solutions with one more route."""
    found: _Best = {}
    for one, (cost, taken) in plans.items():
        for two, (its, route) in routes.items():
            if not one & two:
                _keep_cheaper(found, {one | two: (cost + its, taken + route)})
    return found


def _keep_cheaper(best: _Best, found: _Best) -> None:
    """Update `best` with cheaper entries of `found`, in place."""
    for mask, (cost, routes) in found.items():
        if mask not in best or cost < best[mask][0]:
            best[mask] = (cost, routes)


def _unserved_cost(instance: VrpInstance, mask: int) -> float:
    """Return the prizes of the clients that are not in `mask`; inf if one of them must be served."""
    served = np.array([mask >> bit & 1 for bit in range(instance.clients)], bool)
    out, rules = ~np.concatenate([np.ones(instance.depots, bool), served]), instance.rules
    if (instance.required & out).any():
        return np.inf
    if rules is not None and rules.groups is not None and rules.group_required is not None:
        groups = rules.groups[instance.depots :][served]
        counts = np.bincount(groups[groups >= 0], minlength=len(rules.group_required))
        if (counts > 1).any() or (rules.group_required & (counts == 0)).any():
            return np.inf
    return float(instance.prize[out].sum())
