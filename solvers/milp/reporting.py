"""What every engine's answer goes through on its way to a Run: tolerances, bounds, programs that contradict themselves."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.milp.evaluation import TOLERANCE, objective
from corl.problems.milp.instance import INFINITY, MilpInstance

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["contradictory", "report_bound", "report_values"]

_log = logging.getLogger(__name__)


def contradictory(instance: MilpInstance) -> bool:
    """Whether limits alone make the program infeasible: a lower one above its upper one, no integer between, an empty row."""
    lower, upper = instance.lower, instance.upper
    whole = instance.integer & (np.ceil(lower - TOLERANCE) > np.floor(upper + TOLERANCE))
    empty = np.diff(instance.first) == 0
    wrong = empty & ((instance.row_lower > TOLERANCE) | (instance.row_upper < -TOLERANCE))
    return bool((lower > upper).any() or whole.any() or wrong.any() or (instance.row_lower > instance.row_upper).any())


def report_values(run: Run, instance: MilpInstance, values: NDArray[np.float64]) -> bool:
    """Offer an engine's solution: with its integers rounded if that is feasible, else as it is, else with the rest solved anew.

    Returns whether one of them was feasible; what no tolerance saves is a warning in the log, not an answer.
    """
    rounded = np.clip(np.where(instance.integer, np.round(values), values), instance.lower, instance.upper)
    for candidate in (rounded, values, None):
        x = _completed(instance, rounded) if candidate is None else candidate
        if x is None:
            break
        try:
            objective(instance, x)
        except Infeasible as error:
            reason = error
            continue
        run.report(x)
        return True
    _log.warning("a solution of the engine is outside our tolerances and is left out: %s", reason)
    return False


def _completed(instance: MilpInstance, rounded: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The best solution with these integers, by HiGHS on the linear program that is left; None if there is none."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    low = np.where(instance.integer, rounded, instance.lower)
    high = np.where(instance.integer, rounded, instance.upper)
    rows = LinearConstraint(instance.matrix, instance.row_lower, instance.row_upper) if instance.m else None
    sign = -1.0 if instance.sense == "max" else 1.0
    found = milp(sign * instance.c, constraints=rows, bounds=Bounds(low, high))
    return None if found.x is None else np.asarray(found.x, np.float64)


def report_bound(run: Run, bound: float) -> None:
    """Offer an engine's bound; one that the incumbent passes by no more than the engine's tolerance is the incumbent's value."""
    if not math.isfinite(bound) or abs(bound) >= INFINITY:
        return
    best = run.objective
    if best is not None and run.problem.better(best, bound) and abs(best - bound) <= TOLERANCE * max(1.0, abs(best)):
        bound = best
    run.report_bound(bound)
