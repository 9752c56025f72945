"""`Question`: passes a program to an engine in suitable units, checks the engine's answers and reports them to a Run."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.milp.evaluation import objective
from corl.problems.milp.instance import INFINITY, MilpInstance
from corl.problems.milp.scaling import Scaled, scaled, unreliable
from corl.tolerance import agrees

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["Question"]

_log = logging.getLogger(__name__)
_MOST_ORIGINS = 3


class Question:
    """A program in its own units, shifted to another origin if the judge refuses the engine's best solution.

    The tolerances of engines are relative to a row's side: for them, x + y = 1e9 + 5 satisfies x + y <= 1e9. Shifted to that
    point, the row is x' + y' <= -5, and the tolerance is negligible.
    """

    def __init__(self, run: Run, instance: MilpInstance) -> None:
        self.run, self.instance = run, instance
        self._refused: NDArray[np.float64] | None = None  # the last answer, if the judge refused it
        self._origins: set[bytes] = set()
        self._pose(scaled(instance))

    def _pose(self, shifted: Scaled) -> None:
        self._scaled, reason = shifted, unreliable(shifted.program)
        self._doubt = f"nothing is proved: {reason}" if reason else ""

    @property
    def program(self) -> MilpInstance:
        """The program that the engine is to solve."""
        return self._scaled.program

    @property
    def start(self) -> NDArray[np.float64] | None:
        """The incumbent as a solution of `program`, float64 [n]; None without an incumbent."""
        return None if self.run.solution is None else self._scaled.to_program(np.asarray(self.run.solution, np.float64))

    def values(self, x: NDArray[np.float64]) -> None:
        """Report a solution of `program`, float64 [n], with its integers rounded.

        If that is infeasible, the continuous variables are solved again with these integers. If the solution is still infeasible,
        a warning is logged and nothing is reported.
        """
        rounded = np.clip(np.where(self.program.integer, np.round(x), x), self.program.lower, self.program.upper)
        found = self._scaled.to_instance(rounded)
        try:
            objective(self.instance, found)
        except Infeasible as error:
            completed = _completed(self.program, rounded)
            found = self._scaled.to_instance(rounded if completed is None else completed)
            try:
                objective(self.instance, found)
            except Infeasible:
                self._refused = rounded
                _log.warning("a solution of the engine is outside our tolerances and is left out: %s", error)
                return
        self._refused = None
        self.run.report(found)

    def bound(self, value: float) -> None:
        """Report a bound on the objective of `program`, unless it is unreliable.

        If the incumbent is better than the bound only by rounding, its objective value is reported.
        """
        if not math.isfinite(value) or abs(value) >= INFINITY or self._doubt:
            return
        own, best = self._scaled.bound(value), self.run.objective
        if best is not None and self.run.problem.better(best, own) and agrees(best, own):
            own = best
        self.run.report_bound(own)

    def infeasible(self) -> None:
        """Report that there is no solution, unless the proof is unreliable or contradicted by the incumbent."""
        if self.run.objective is not None:
            self._doubt = self._doubt or "nothing is proved: for the engine even the solution found breaks a row"
        elif not self._doubt:
            self.run.report_infeasible()

    def unbounded(self) -> None:
        """Report that the objective is unbounded, unless the proof is unreliable."""
        if not self._doubt and self.run.bound is None:
            self.run.report_unbounded()

    def done(self) -> bool:
        """Return whether the solve is complete, given that the engine calls its last answer optimal.

        If not, `program` has been shifted to that answer, and the engine must solve it again: the judge refused the answer, or
        the sides are too large for reliable proofs.
        """
        run, point = self.run, self._refused
        if point is None and not self._doubt:
            if run.objective is not None and run.bound is not None and agrees(run.objective, run.bound):
                run.report_bound(run.objective)
            return True
        if point is None:
            point = self.start
        if point is None or run.should_stop or len(self._origins) == _MOST_ORIGINS:
            return True
        shifted = self._scaled.shifted_to(point)
        if shifted.origin.tobytes() in self._origins or (self._refused is None and unreliable(shifted.program)):
            return True
        self._origins.add(shifted.origin.tobytes())
        self._refused = None
        self._pose(shifted)
        return False

    def gave_up(self, reason: str) -> None:
        """Note why the engine ended without an answer, in one line."""
        self._doubt = reason

    def close(self) -> None:
        """End the solve: if nothing is proved, set the run's reason."""
        if self.run.status in ("feasible", "no_solution"):
            lost = "the engine calls a point best that breaks a row by what it tolerates" if self._refused is not None else ""
            self.run.reason = self._doubt or lost


def _completed(instance: MilpInstance, rounded: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the best solution with the integers of `rounded`, [n], from the remaining linear program; None if there is none."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    low = np.where(instance.integer, rounded, instance.lower)
    high = np.where(instance.integer, rounded, instance.upper)
    rows = LinearConstraint(instance.matrix, instance.row_lower, instance.row_upper) if instance.m else None
    sign = -1.0 if instance.sense == "max" else 1.0
    found = milp(sign * instance.c, constraints=rows, bounds=Bounds(low, high))
    return None if found.x is None else np.asarray(found.x, np.float64)
