"""Lower bounds of an ATSP, which are reported to the run, and the prices that prove them, which are subtracted from arc costs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from corl.problems.tsp.assignment import assign_rows, reduce_columns
from corl.solvers.tsp.asymmetric.arcs import Arcs
from corl.solvers.tsp.asymmetric.bound import ascend

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["first_prices", "tighten"]

_STEPS = 2000  # most steps of the ascent, which usually ends earlier
_ENTRIES = 4_000_000_000  # matrix entries that the ascent may read: about 8 s
_CHUNK = 10_000_000  # entries between two readings of the clock
_SHARE = 0.15  # of the time limit that it may take


def first_prices(arcs: Arcs, integral: bool, run: Run) -> bool:
    """Solve the assignment problem, report its cost as a bound and subtract its prices; return False if the run ended first."""
    n = arcs.n
    out, into = np.empty(n), np.empty(n)
    column_of, row_of = np.empty(n, np.int32), np.empty(n, np.int32)
    reduce_columns(arcs.cost, out, into, column_of, row_of)
    row = 0
    while row < n:
        if run.should_stop:
            return False
        row = assign_rows(arcs.cost, out, into, column_of, row_of, row, _CHUNK)
    bound = float(out.sum() + into.sum())
    _report(bound, 1e-15 * n * float(np.abs(out).sum() + np.abs(into).sum()), integral, run)
    if not run.should_stop:
        arcs.take_off(out, into)
    return not run.should_stop


def tighten(arcs: Arcs, integral: bool, run: Run) -> None:
    """Do Held & Karp's ascent from the current prices, report the bound, and subtract the best prices from the costs."""
    n = arcs.n
    prices, best = np.zeros((2, n)), np.zeros((2, n))
    assert run.objective is not None
    upper = run.objective - arcs.offset
    control = np.array([-np.inf, 1.0, 0.0, 0.0])
    momentum = np.zeros((2, n), np.int32)
    per_call = max(1, _CHUNK // (n * n))
    steps = min(_STEPS, _ENTRIES // (n * n))
    start = run.fraction
    for _ in range(0, steps, per_call):
        done = ascend(arcs.cost, arcs.transposed, prices, best, momentum, control, upper, per_call)
        if done or run.should_stop or run.fraction > start + _SHARE:
            break
    noise = control[3] + 1e-15 * n * abs(arcs.offset)
    _report(float(control[0]) + arcs.offset, noise, integral, run)
    arcs.take_off(best[0], best[1])


def _report(bound: float, noise: float, integral: bool, run: Run) -> None:
    """Report a bound minus its possible rounding error `noise`, rounded up if distances are integral."""
    run.report_bound(float(math.ceil(bound - noise - 1e-6)) if integral else bound - noise)
