"""Plans for an epoch: `ruin-recreate` through `corl.solve`, within a share of the epoch's seconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.errors import SolverError
from corl.problems.vrp.instance import VrpInstance
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

    Raises SolverError if there are none.

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
    requests = now.requests.take(chosen)
    found, _ = search(planning_instance(now.customers, requests, start=now.start, prize=prize), seconds, seed, iterations)
    if found is None:
        raise SolverError("ruin-recreate finds no plan for the epoch in its time; accepted: more seconds per decision")
    return [chosen[route] for route in found]


def routes_that_must_leave(now: Situation, routes: list[Route]) -> list[Route]:
    """Return the routes with at least one request that must go; the others are postponed."""
    return [route for route in routes if now.must[route].any()]
