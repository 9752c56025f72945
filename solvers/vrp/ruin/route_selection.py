"""Selection of routes: the cheapest set of stored routes that serves every client, by integer programming (HiGHS).

Set partitioning over the routes of a heuristic goes back to Rochat & Taillard (1995); Subramanian, Uchoa & Ochi (2013) use it
inside iterated local search. The linear relaxation is solved first. A route whose reduced cost exceeds the difference between the
cost of the best solution and that of the relaxation is in no better solution, and is dropped: a few hundred routes remain.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corl.solvers.vrp.ruin.pool import Pool
    from corl.solvers.vrp.ruin.state import RoutingData

__all__ = ["select_routes"]

_MIN_GAIN = 1e-9  # smallest relative improvement that counts; smaller ones are rounding
_RELAXATION_SHARE = 0.6  # greatest share of the time for the linear relaxation
_PIVOTS_PER_CLIENT = 30  # without a time limit: limit of simplex iterations, per client
_MAX_NODES = 20  # without a time limit: limit of branch-and-bound nodes
_MAX_COLUMNS = 1000  # greatest number of columns (routes) in branch and bound; with 3,000 it exceeded its time limit by a second
_SECONDS_PER_COLUMN = 4e-4  # seconds before branch and bound first checks its time, per column; less time allows fewer columns
_MIN_COLUMNS = 100  # if the time allows fewer columns than this, branch and bound is not started
_RELAXATION_SECONDS_PER_COLUMN = 1e-5  # seconds before the relaxation first checks its time, per column
_OUTPUT = threading.Lock()  # held while the standard output leads elsewhere


def select_routes(
    data: RoutingData, pool: Pool, counts: NDArray[np.int64], best: float, max_routes: int, seconds: float
) -> NDArray[np.int64] | None:
    """Return int64 [k]: the pool indices of routes that serve every client and cost less than `best`; None if none were found.

    Args:
        data: RoutingData.
        pool: The stored routes.
        counts: int64 [types], the number of vehicles of each type, -1 for no limit.
        best: The cost of the best solution.
        max_routes: Only so many routes, those that were made last, are considered.
        seconds: Time limit. inf: iterations and nodes are limited instead, so that every machine makes the same selection.
    """
    from scipy.optimize import linprog

    began, timed = perf_counter(), seconds < np.inf
    max_routes = min(max_routes, int(seconds / _RELAXATION_SECONDS_PER_COLUMN)) if timed else max_routes
    stored = np.flatnonzero(pool.tag)
    if len(stored) > max_routes:
        stored = stored[np.argsort(-pool.last_iteration[stored], kind="stable")[:max_routes]]
    if not len(stored):
        return None
    optional = np.flatnonzero(np.isfinite(data.prize) & (groups_of(data) < 0))  # a column each for not serving it
    cost = np.concatenate([pool.cost[stored], data.prize[optional]])
    row, rows = _rows(data)
    covers, uses_type = _coverage(pool, stored, optional, row, rows), _type_usage(pool, stored, counts, len(cost))
    limits = counts[counts >= 0].astype(np.float64)
    options = {"time_limit": _RELAXATION_SHARE * seconds} if timed else {"maxiter": _PIVOTS_PER_CLIENT * data.clients}
    upper = {"A_ub": uses_type, "b_ub": limits} if len(limits) else {}
    relaxed = linprog(cost, A_eq=covers, b_eq=np.ones(rows), **upper, method="highs-ds", options=options)
    if relaxed.status != 0 or relaxed.fun >= best * (1.0 - _MIN_GAIN):
        return None
    reduced = cost - covers.T @ relaxed.eqlin.marginals
    if len(limits):
        reduced -= uses_type.T @ relaxed.ineqlin.marginals
    chosen = np.flatnonzero(reduced <= best - relaxed.fun)
    seconds_left = seconds - (perf_counter() - began) if timed else np.inf
    columns = int(min(_MAX_COLUMNS, seconds_left / _SECONDS_PER_COLUMN))
    if columns < min(_MIN_COLUMNS, len(chosen)):
        return None
    chosen = chosen[np.argsort(reduced[chosen], kind="stable")[:columns]]
    options = {"time_limit": seconds_left} if timed else {"node_limit": _MAX_NODES}
    taken = _solve_integer(cost[chosen], covers[:, chosen], uses_type[:, chosen], limits, options)
    if taken is None or cost[chosen[taken]].sum() >= best * (1.0 - _MIN_GAIN):
        return None
    places = chosen[taken]
    return np.asarray(stored[places[places < len(stored)]], np.int64)


def groups_of(data: RoutingData) -> NDArray[np.int32]:
    """Return int32 [n]: the group of each client, -1 for none."""
    rules = data.rules
    return rules.group if rules is not None and rules.has_groups else np.full(data.clients, -1, np.int32)


def _rows(data: RoutingData) -> tuple[NDArray[np.int64], int]:
    """Return int64 [n], the row of each client of the partitioning, and the number of rows. A group has one row."""
    group = groups_of(data)
    single = group < 0
    alone = int(single.sum())
    row = np.where(single, np.cumsum(single) - 1, alone + group).astype(np.int64)
    return row, alone + int(group.max(initial=-1)) + 1


def _coverage(
    pool: Pool, stored: NDArray[np.int64], optional: NDArray[np.int64], row: NDArray[np.int64], rows: int
) -> Any:  # fmt: skip
    """Return a sparse 0-1 matrix, float64 [rows, columns]: which client or group each column serves or, if optional, does not.

    The columns are the routes `stored`, then the clients `optional`.
    """
    from scipy.sparse import csc_array

    lengths = pool.length[stored]
    visits = pool.visits[stored]
    inside = np.arange(visits.shape[1]) < lengths[:, None]
    clients = np.concatenate([visits[inside], optional])
    ends = np.concatenate([[0], np.cumsum(np.concatenate([lengths, np.ones(len(optional), np.int64)]))])
    return csc_array((np.ones(len(clients)), row[clients], ends), shape=(rows, len(ends) - 1))


def _type_usage(pool: Pool, stored: NDArray[np.int64], counts: NDArray[np.int64], columns: int) -> Any:
    """Return a sparse 0-1 matrix, float64 [limited types, columns]: whether a route uses a vehicle of the (limited) type."""
    from scipy.sparse import csc_array

    limited = np.flatnonzero(counts >= 0)
    taken = np.zeros((len(limited), columns))
    taken[:, : len(stored)] = pool.kind[stored] == limited[:, None]
    return csc_array(taken)


def _solve_integer(cost: Any, covers: Any, uses_type: Any, limits: Any, options: dict[str, Any]) -> NDArray[np.int64] | None:
    """Return int64 [k]: the columns of the best integer solution; None if none was found."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    constraints = [LinearConstraint(covers, 1.0, 1.0)]
    if len(limits):
        constraints.append(LinearConstraint(uses_type, -np.inf, limits))
    with _output_as_errors():
        found = milp(cost, integrality=np.ones(len(cost)), bounds=Bounds(0.0, 1.0), constraints=constraints, options=options)
    return None if found.x is None else np.flatnonzero(found.x > 0.5)


@contextmanager
def _output_as_errors() -> Iterator[None]:
    """Send what is written to the standard output meanwhile to the standard error.

    HiGHS prints a line there now and then whatever its options say, and the standard output may be a result in JSON.
    """
    with _OUTPUT:
        flush = ctypes.CDLL(None).fflush
        flush(None)
        output = os.dup(1)
        os.dup2(2, 1)
        try:
            yield
        finally:
            flush(None)
            os.dup2(output, 1)
            os.close(output)
