"""Searches for solutions with fewer routes: for the fewest (`fleet` is "fewest"), and for a better one with one route fewer.

If routes are few and windows long, annealing rarely empties a route: the other routes cannot take all its clients at once. Here
clients may be unserved for a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corl.solvers.vrp.ruin.annealing import save_best
from corl.solvers.vrp.ruin.construction import cost_of
from corl.solvers.vrp.ruin.state import BEST, CURRENT, USED
from corl.solvers.vrp.ruin.unserved_clients import drop_route

if TYPE_CHECKING:
    from corl.solvers.vrp.ruin.search import Search

__all__ = ["drop_one", "drop_routes", "may_drop_route"]

_FEW_ROUTES = 15  # greatest number of routes for a search with one route fewer
_INSERTION_SHARE = 0.5  # share of this search after which it is given up if clients are still unserved


def drop_routes(search: Search, share: float, heat: float) -> None:
    """Search for solutions with fewer routes until the given share of the run is over; then make the best one current.

    Args:
        search: The search, changed in place.
        share: The share of the run at which the search ends.
        heat: The temperature of the search, in units of `search.unit`.
    """
    data, plan, clients = search.data, search.plan, search.data.clients
    unserved_counts = np.zeros(clients, np.int64)
    while plan.counts[USED] > 1 and not search.run.should_stop:
        unserved, used = np.zeros(clients + 1, np.int32), search.routes
        max_routes = drop_route(data, plan, search.work, unserved, unserved_counts)
        if search.routes == used:  # every route has a fixed beginning
            break
        if not search.insert_unserved(int(max_routes), heat, share, unserved, unserved_counts):
            break
        if (value := cost_of(data, plan)) >= plan.cost[BEST]:  # prizes outweigh the cost of a route
            break
        save_best(plan, value)
        search.report()
    search.return_to_best()


def may_drop_route(search: Search) -> bool:
    """Return whether a search with one route fewer may pay: time windows, few routes, and capacity for all mandatory clients.

    The vehicles are of one type, and there are no reloads, groups of clients or fixed beginnings of routes.
    """
    data, rules, used = search.data, search.data.rules, search.routes
    if not data.windows or len(search.plan.free_size) != 1 or not 1 < used <= _FEW_ROUTES:
        return False
    if rules is not None and (rules.multi_trip or rules.has_groups or bool(rules.locked.any())):
        return False
    mandatory = np.isinf(data.prize)
    capacity = float(search.instance.vehicles.capacity[0])
    return bool(mandatory.any() and data.demand[mandatory].sum() <= (used - 1) * capacity)


def drop_one(search: Search, heat: float, cold: float, share: float) -> None:
    """Search for a better solution with one route fewer than the best one, until the given share of the run is over.

    Afterwards the best solution is the current one. If a route may not be dropped, or if its clients fit nowhere, the time is
    used for a cooling.

    Args:
        search: The search, changed in place.
        heat: First temperature of the annealing, in units of `search.unit`.
        cold: Last temperature, in the same units.
        share: The share of the run at which the search ends.
    """
    plan = search.plan
    search.return_to_best()
    if not may_drop_route(search) or not _empty_route(search, heat, share):
        search.return_to_best()
        search.cool(heat, cold, share)
    else:
        if (value := cost_of(search.data, plan)) < plan.cost[BEST]:
            save_best(plan, value)
        plan.cost[CURRENT] = value
        hidden = plan.free_size.copy()  # without free slots, no route is opened
        plan.stack_start[:] += hidden
        plan.free_size[:] -= hidden
        search.cool(heat, cold, share)
        plan.stack_start[:] -= hidden
        plan.free_size[:] += hidden
    search.return_to_best()


def _empty_route(search: Search, heat: float, share: float) -> bool:
    """Empty the shortest route and search for positions for its mandatory clients; return whether all are served.

    share: The share of the run at which the search with one route fewer ends; a part of it is used here.
    """
    clients, run = search.data.clients, search.run
    unserved, counts = np.zeros(clients + 1, np.int32), np.ones(clients, np.int64)
    max_routes = int(drop_route(search.data, search.plan, search.work, unserved, counts))  # the shortest: all counts are 1
    over = run.fraction if run.iterations is None else search.done / run.iterations
    return search.insert_unserved(max_routes, heat, over + _INSERTION_SHARE * (share - over), unserved, counts)
