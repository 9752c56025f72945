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

_MOST_STEPS = 2000  # the ascent usually ends earlier
_MOST_ENTRIES = 4_000_000_000  # matrix entries that the ascent may read: about 8 s
_ENTRIES_PER_CHECK = 10_000_000  # matrix entries read between two checks of the time limit
_LONGEST_SHARE = 0.15  # the share of the time limit that the ascent may take


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
        row = assign_rows(arcs.cost, out, into, column_of, row_of, row, _ENTRIES_PER_CHECK)
    bound = float(out.sum() + into.sum())
    _report(bound, 1e-15 * n * float(np.abs(out).sum() + np.abs(into).sum()), integral, run)
    if not run.should_stop:
        arcs.subtract_prices(out, into)
    return not run.should_stop


def tighten(arcs: Arcs, integral: bool, run: Run) -> None:
    """Do Held & Karp's ascent from the current prices, report the bound, and subtract the best prices from the costs."""
    n = arcs.n
    prices, best = np.zeros((2, n)), np.zeros((2, n))
    assert run.objective is not None
    upper = run.objective - arcs.offset
    control = np.array([-np.inf, 1.0, 0.0, 0.0])
    momentum = np.zeros((2, n), np.int32)
    per_call = max(1, _ENTRIES_PER_CHECK // (n * n))
    steps = min(_MOST_STEPS, _MOST_ENTRIES // (n * n))
    start = run.fraction
    for _ in range(0, steps, per_call):
        done = ascend(arcs.cost, arcs.transposed, prices, best, momentum, control, upper, per_call)
        if done or run.should_stop or run.fraction > start + _LONGEST_SHARE:
            break
    rounding = control[3] + 1e-15 * n * abs(arcs.offset)
    _report(float(control[0]) + arcs.offset, rounding, integral, run)
    arcs.subtract_prices(best[0], best[1])


def _report(bound: float, rounding: float, integral: bool, run: Run) -> None:
    """Report `bound` minus its possible `rounding` error; the result is rounded up if distances are integral."""
    run.report_bound(float(math.ceil(bound - rounding - 1e-6)) if integral else bound - rounding)
