"""Enumeration for tiny instances: all possible routes, and the cheapest set of routes that is a solution."""

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

__all__ = ["NO_SOLUTION", "can_enumerate", "enumerate_if_unsolved", "cheapest_solution"]

NO_SOLUTION = "no combination of the possible routes of {} clients is a feasible solution"

_MAX_ROUTES = 6000  # greatest number of possible routes; checking one takes a tenth of a millisecond

_Plans = dict[int, tuple[float, list[Route]]]  # bit mask of served clients -> least cost of serving them, and the routes


def can_enumerate(instance: VrpInstance) -> bool:
    """Return whether there are few enough possible routes to enumerate them, and no limit of several routes together."""
    count, n, rules = 0, instance.clients, instance.rules
    if rules is not None and (rules.roster_duration is not None or rules.roster_driving is not None):
        return False
    for kind in np.flatnonzero(instance.vehicles.count).tolist():
        reload_depots, max_reloads = len(_reload_depots(instance, kind)), _reloads(instance, kind)
        orders = 1
        for size in range(1, n + 1):
            orders *= n - size + 1
            count += orders * (1 if max_reloads == 0 else (1 + reload_depots) ** (size - 1))
            if count > _MAX_ROUTES:
                return False
    return True


def cheapest_solution(instance: VrpInstance, stop: Callable[[], bool]) -> list[Route] | None:
    """Return the cheapest solution; None if no solution is feasible, or if `stop` returned True before the end.

    The costs of a balance and of rosters are not counted: with them, it is a feasible solution.
    """
    plans: _Plans = {0: (0.0, [])}
    beginnings = () if instance.rules is None or instance.rules.begun is None else instance.rules.begun
    for kind in np.flatnonzero(instance.vehicles.count).tolist():
        routes = _routes(instance, kind, stop)
        if stop():
            return None
        count, extended = int(instance.vehicles.count[kind]), plans
        plans = {} if len(beginnings) and len(beginnings[kind]) else dict(plans)
        for _ in range(instance.clients if count < 0 else min(count, instance.clients)):
            extended = _combined(instance, extended, routes)
            _update_cheapest(plans, extended)
    costs = [(cost + _unserved_cost(instance, mask), mask) for mask, (cost, _) in plans.items()]
    least_cost, mask = min(costs, default=(np.inf, 0))
    return plans[mask][1] if least_cost < np.inf else None


def enumerate_if_unsolved(instance: VrpInstance, run: Run) -> None:
    """If the run found no solution, and there are few possible routes, report the cheapest solution, or that none is feasible."""
    if run.solution is not None or run.infeasible or not can_enumerate(instance):
        return

    def stop() -> bool:
        return run.limit not in (None, "iterations")

    solution = cheapest_solution(instance, stop)
    if solution is not None:
        run.report(solution)
    elif not stop():
        run.report_infeasible(NO_SOLUTION.format(instance.clients))


def _routes(instance: VrpInstance, kind: int, stop: Callable[[], bool]) -> _Plans:
    """Return the cheapest feasible route of a vehicle type for each set of clients; sets without one are missing."""
    best: _Plans = {}
    for size in range(1, instance.clients + 1):
        for clients in combinations(range(instance.depots, instance.n), size):
            if stop():
                return best
            mask = sum(1 << (node - instance.depots) for node in clients)
            for order in permutations(clients):
                for visits in _trips(instance, kind, order):
                    route = Route(kind, np.array(visits, np.int32))
                    try:
                        cost = check_route(instance, route)
                    except Infeasible:
                        continue
                    _update_cheapest(best, {mask: (cost, [route])})
    return best


def _trips(instance: VrpInstance, kind: int, order: tuple[int, ...]) -> Iterator[list[int]]:
    """Yield the visits of a route that serves clients in the given order, for every way to insert reloads between them."""
    reload_depots, max_reloads = _reload_depots(instance, kind), _reloads(instance, kind)
    between = [[None, *reload_depots] if max_reloads else [None]] * (len(order) - 1)
    for reloads in product(*between):
        if sum(each is not None for each in reloads) <= max_reloads:
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


def _combined(instance: VrpInstance, plans: _Plans, routes: _Plans) -> _Plans:
    """Return each plan extended by one more route, of other clients and clusters; for each set of clients, the cheapest plan."""
    found: _Plans = {}
    clusters = _clusters(instance)
    reserved = {mask: mask | sum(each for each in clusters if each & mask) for mask in routes}
    for mask, (cost, plan_routes) in plans.items():
        for route_mask, (route_cost, new_routes) in routes.items():
            if not mask & reserved[route_mask]:
                _update_cheapest(found, {mask | route_mask: (cost + route_cost, plan_routes + new_routes)})
    return found


def _clusters(instance: VrpInstance) -> list[int]:
    """Return the bit mask of the clients of each cluster; one route serves a cluster."""
    rules = instance.rules
    if rules is None or rules.clusters is None or rules.cluster_in_a_row is None:
        return []
    clusters = rules.clusters[instance.depots :]
    return [sum(1 << bit for bit in np.flatnonzero(clusters == c).tolist()) for c in range(len(rules.cluster_in_a_row))]


def _update_cheapest(best: _Plans, found: _Plans) -> None:
    """Copy the entries of `found` that are cheaper than those of `best`, or missing there, to `best`, in place."""
    for mask, (cost, routes) in found.items():
        if mask not in best or cost < best[mask][0]:
            best[mask] = (cost, routes)


def _unserved_cost(instance: VrpInstance, mask: int) -> float:
    """Return the prizes of the clients that are not in `mask`; inf if one of these clients must be served."""
    served = np.array([mask >> bit & 1 for bit in range(instance.clients)], bool)
    unserved, rules = ~np.concatenate([np.ones(instance.depots, bool), served]), instance.rules
    if (instance.required & unserved).any():
        return np.inf
    if rules is not None and rules.groups is not None and rules.group_required is not None:
        groups = rules.groups[instance.depots :][served]
        counts = np.bincount(groups[groups >= 0], minlength=len(rules.group_required))
        if (counts > 1).any() or (rules.group_required & (counts == 0)).any():
            return np.inf
    return float(instance.prize[unserved].sum())
