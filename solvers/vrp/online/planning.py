"""Plans for an epoch: `ruin-recreate` through `corl.solve`, within a share of the epoch's seconds."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from corl.errors import SolverError
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.online.epochs import Requests
from corl.problems.vrp.online.hindsight import planning_instance
from corl.problems.vrp.online.situation import Situation

__all__ = ["Route", "plan", "routes_that_must_leave", "search"]

Route = NDArray[np.int64]
"""The indices of a route's requests, in order."""

_OVERHEAD = 0.04  # seconds of a call besides the search: building the instance, starting, and judging
_LEAST = 0.02  # seconds of search that any call gets


def search(instance: VrpInstance, seconds: float, seed: int, iterations: int = 0) -> tuple[list[Route] | None, float]:
    """Return the routes of the best solution found, as indices of clients from 0, and its objective value; None: no solution.

    Args:
        instance: The instance.
        seconds: The time limit.
        seed: The seed.
        iterations: The iterations of ruin-recreate; 0: as many as the time permits.
    """
    from corl.solving import solve

    limit = max(_LEAST, seconds - min(_OVERHEAD, 0.4 * seconds))
    limits = {"iterations": iterations} if iterations else {"time_limit": limit}
    result = solve(instance, problem="vrp", solver="ruin-recreate", seed=seed, **limits)
    if result.limit == "interrupted":
        raise KeyboardInterrupt
    if result.solution is None or result.objective is None:
        return None, np.inf
    return [np.asarray(route.visits, np.int64) - 1 for route in result.solution], result.objective


def plan(
    now: Situation,
    seconds: float,
    seed: int,
    iterations: int = 0,
    prize: NDArray[np.float64] | None = None,
    which: NDArray[np.int64] | None = None,
) -> list[Route]:
    """Return routes that leave now.

    Args:
        now: The situation, with R requests.
        seconds: The time limit.
        seed: The seed.
        iterations: As for `search`.
        prize: float64 [R], the cost of postponing each request, inf for those that must go; None: nothing is postponed.
        which: int64 [W], the requests to be served; None: all. Not together with `prize`.
    """
    chosen = np.arange(len(now.must)) if which is None else which
    if not len(chosen) or (prize is not None and not (prize > 0).any()):
        return []
    if prize is None:
        routes = _plan_with_few(now.customers, now.requests.take(chosen), now.start, seconds, seed, iterations)
        return [chosen[route] for route in routes]
    found, _ = search(planning_instance(now.customers, now.requests, start=now.start, prize=prize), seconds, seed, iterations)
    return _found(found)


def _plan_with_few(
    customers: VrpInstance, requests: Requests, start: float, seconds: float, seed: int, iterations: int
) -> list[Route]:
    """Return routes that serve all requests: half of the time with any number of vehicles, half with one vehicle fewer.

    Where windows are long and routes are few, ruin-recreate often ends with a route too many.
    """
    begin = time.perf_counter()
    routes, cost = search(planning_instance(customers, requests, start=start), 0.5 * seconds, seed, iterations)
    if routes is None or len(routes) < 2:
        return _found(routes)
    instance = planning_instance(customers, requests, start=start, vehicles=len(routes) - 1)
    fewer, lower = search(instance, begin + seconds - time.perf_counter(), seed, iterations)
    return fewer if fewer is not None and lower < cost else routes


def routes_that_must_leave(now: Situation, routes: list[Route]) -> list[Route]:
    """Return the routes with at least one request that must go; the others are postponed."""
    return [route for route in routes if now.must[route].any()]


def _found(routes: list[Route] | None) -> list[Route]:
    """Return the routes. Raises SolverError if there are none."""
    if routes is None:
        raise SolverError("ruin-recreate finds no plan for the epoch in its time; accepted: more seconds per decision")
    return routes
