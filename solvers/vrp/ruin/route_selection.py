"""Selection of routes: the cheapest set of stored routes that serves every client, by integer programming (HiGHS).

Set partitioning over the routes of a heuristic goes back to Rochat & Taillard (1995); Subramanian, Uchoa & Ochi (2013) have it
inside iterated local search. The linear relaxation is solved first: a route whose reduced cost exceeds the gap between the
relaxation and the best solution is in no better one. That leaves a few hundred routes.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corl.solvers.vrp.ruin.pool import Pool
    from corl.solvers.vrp.ruin.state import RoutingData

__all__ = ["select_routes"]

_LEAST = 1e-9  # smallest relative gain that counts; below it is rounding
_RELAXED = 0.6  # greatest share of the time for the linear relaxation
_PIVOTS = 30  # without a time limit: simplex iterations per client,
_NODES = 20  # and nodes of branch and bound
_INTEGER = 1000  # greatest number of columns in branch and bound; with 3,000 it exceeded its time limit by a second
_COLUMN = 4e-4  # seconds per column before branch and bound checks its time: with less time, it is given fewer columns,
_FEWEST = 100  # and below this number it is not started
_RELAXED_COLUMN = 1e-5  # the same for the relaxation


def select_routes(
    data: RoutingData, pool: Pool, counts: NDArray[np.int64], best: float, most: int, seconds: float
) -> NDArray[np.int64] | None:
    """Return int64 [k]: indices in the pool of routes that together cost less than `best`; None if none were found.

    Args:
        data: RoutingData.
        pool: The stored routes.
        counts: int64 [types], the number of vehicles of each type, -1 for unlimited.
        best: The cost of the best solution.
        most: Only this many routes, those made last, are considered.
        seconds: Time limit; inf for limits on steps instead, which give the same selection on every machine.
    """
    from scipy.optimize import linprog

    began, timed = perf_counter(), seconds < np.inf
    most = min(most, int(seconds / _RELAXED_COLUMN)) if timed else most
    held = np.flatnonzero(pool.tag)
    if len(held) > most:
        held = held[np.argsort(-pool.last_iteration[held], kind="stable")[:most]]
    out = np.flatnonzero(np.isfinite(data.prize))  # optional clients: one column each, for not serving them
    cost = np.concatenate([pool.cost[held], data.prize[out]])
    serve, share = _rows(data, pool, held, out), _shares(pool, held, counts, len(cost))
    limits = counts[counts >= 0].astype(np.float64)
    options = {"time_limit": _RELAXED * seconds} if timed else {"maxiter": _PIVOTS * data.clients}
    upper = {"A_ub": share, "b_ub": limits} if len(limits) else {}
    relaxed = linprog(cost, A_eq=serve, b_eq=np.ones(data.clients), **upper, method="highs-ds", options=options)
    if relaxed.status != 0 or relaxed.fun >= best * (1.0 - _LEAST):
        return None
    reduced = cost - serve.T @ relaxed.eqlin.marginals
    if len(limits):
        reduced -= share.T @ relaxed.ineqlin.marginals
    kept = np.flatnonzero(reduced <= best - relaxed.fun)
    left = seconds - (perf_counter() - began) if timed else np.inf
    columns = int(min(_INTEGER, left / _COLUMN))
    if columns < min(_FEWEST, len(kept)):
        return None
    kept = kept[np.argsort(reduced[kept], kind="stable")[:columns]]
    options = {"time_limit": left} if timed else {"node_limit": _NODES}
    taken = _branch(cost[kept], serve[:, kept], share[:, kept], limits, options)
    if taken is None or cost[kept[taken]].sum() >= best * (1.0 - _LEAST):
        return None
    places = kept[taken]
    return np.asarray(held[places[places < len(held)]], np.int64)


def _rows(data: RoutingData, pool: Pool, held: NDArray[np.int64], out: NDArray[np.int64]) -> Any:
    """Return a sparse matrix [n, columns]: which column serves, or skips, which client."""
    from scipy.sparse import csc_array

    lengths = pool.length[held]
    visits = pool.visits[held]
    inside = np.arange(visits.shape[1]) < lengths[:, None]
    clients = np.concatenate([visits[inside], out])
    ends = np.concatenate([[0], np.cumsum(np.concatenate([lengths, np.ones(len(out), np.int64)]))])
    return csc_array((np.ones(len(clients)), clients, ends), shape=(data.clients, len(ends) - 1))


def _shares(pool: Pool, held: NDArray[np.int64], counts: NDArray[np.int64], columns: int) -> Any:
    """Return a sparse matrix [limited types, columns]: which route uses which vehicle type."""
    from scipy.sparse import csc_array

    limited = np.flatnonzero(counts >= 0)
    taken = np.zeros((len(limited), columns))
    taken[:, : len(held)] = pool.kind[held] == limited[:, None]
    return csc_array(taken)


def _branch(cost: Any, serve: Any, share: Any, limits: Any, options: dict[str, Any]) -> NDArray[np.int64] | None:
    """Return int64: the columns of the best integer solution; None if none was found."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    constraints = [LinearConstraint(serve, 1.0, 1.0)]
    if len(limits):
        constraints.append(LinearConstraint(share, -np.inf, limits))
    found = milp(cost, integrality=np.ones(len(cost)), bounds=Bounds(0.0, 1.0), constraints=constraints, options=options)
    return None if found.x is None else np.flatnonzero(found.x > 0.5)
