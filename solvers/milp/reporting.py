"""`Question`: gives a program to an engine (SCIP, HiGHS), checks the engine's answers, and reports them to a Run."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.milp.evaluation import objective
from corl.problems.milp.instance import INFINITY, MilpInstance
from corl.problems.milp.linearisation import linear
from corl.problems.milp.scaling import Scaled, scaled, unreliable
from corl.tolerance import agrees

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["Question"]

_log = logging.getLogger(__name__)
_MAX_SHIFTS = 3  # of a program to another origin


class Question:
    """A scaled program (problems/milp/scaling.py) for an engine, shifted to another origin if the judge refuses an answer.

    Engines' tolerances are relative to a row's side: for an engine, x + y = 1e9 + 5 satisfies x + y <= 1e9. With the origin
    shifted to that point, the row is x' + y' <= -5, and the tolerance is negligible.
    """

    def __init__(self, run: Run, instance: MilpInstance) -> None:
        self.run, self.instance = run, instance
        self._refused: NDArray[np.float64] | None = None  # the last answer, if the judge refused it
        self._origins: set[bytes] = set()
        self._linear = linear(instance)
        self._pose(scaled(self._linear.program))

    def _pose(self, shifted: Scaled) -> None:
        """Set the program for the engine, and note whether its proofs would be reliable."""
        self._scaled, reason = shifted, unreliable(shifted.program)
        self._doubt = f"nothing is proved: {reason}" if reason else ""

    @property
    def program(self) -> MilpInstance:
        """The program that the engine is to solve."""
        return self._scaled.program

    @property
    def start(self) -> NDArray[np.float64] | None:
        """The incumbent as a solution of `program`, float64 [n]; None without an incumbent."""
        if self.run.solution is None:
            return None
        return self._scaled.to_program(self._linear.extend(np.asarray(self.run.solution, np.float64)))

    def _to_instance(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a solution of `program` as one of the instance, float64 [n]."""
        return self._scaled.to_instance(x)[: self.instance.n]

    def values(self, x: NDArray[np.float64]) -> None:
        """Report a solution of `program`, float64 [n], after rounding its integer variables.

        If the rounded solution is infeasible, the integers are fixed and the remaining linear program is solved for the
        continuous variables. If that solution is infeasible as well, a warning is logged and nothing is reported.
        """
        rounded = np.clip(np.where(self.program.integer, np.round(x), x), self.program.lower, self.program.upper)
        solution = self._to_instance(rounded)
        try:
            objective(self.instance, solution)
        except Infeasible as error:
            completed = _completed(self.program, rounded)
            solution = self._to_instance(rounded if completed is None else completed)
            try:
                objective(self.instance, solution)
            except Infeasible:
                self._refused = rounded
                _log.warning("a solution of the engine is outside our tolerances and is left out: %s", error)
                return
        self._refused = None
        self.run.report(solution)

    def bound(self, value: float) -> None:
        """Report a bound on the objective of `program`, unless it is unreliable.

        If the incumbent is better than the bound only within rounding, its objective value is reported as the bound.
        """
        if not math.isfinite(value) or abs(value) >= INFINITY or self._doubt:
            return
        bound, best = self._scaled.bound(value), self.run.objective
        if best is not None and self.run.problem.better(best, bound) and agrees(best, bound):
            bound = best
        self.run.report_bound(bound)

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
        """Return whether the solve is complete, after the engine has called its last answer optimal.

        It is not complete if the judge refused that answer, or if the engine's proof is unreliable because of large sides. Then
        `program` has been shifted to the answer (or to the incumbent), and the engine must solve it again.
        """
        run, point = self.run, self._refused
        if point is None and not self._doubt:
            if run.objective is not None and run.bound is not None and agrees(run.objective, run.bound):
                run.report_bound(run.objective)
            return True
        if point is None:
            point = self.start
        if point is None or run.should_stop or len(self._origins) == _MAX_SHIFTS:
            return True
        shifted = self._scaled.shifted_to(point)
        if shifted.origin.tobytes() in self._origins or (self._refused is None and unreliable(shifted.program)):
            return True
        self._origins.add(shifted.origin.tobytes())
        self._refused = None
        self._pose(shifted)
        return False

    def gave_up(self, reason: str) -> None:
        """Store the reason, in one line, why the engine ended without an answer."""
        self._doubt = reason

    def close(self) -> None:
        """End the solve. If nothing is proved, store the reason in the run."""
        if self.run.status in ("feasible", "no_solution"):
            refused = "the engine calls a point best that breaks a row by what it tolerates" if self._refused is not None else ""
            self.run.reason = self._doubt or refused


def _completed(instance: MilpInstance, rounded: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the best solution whose integer variables are those of `rounded`, float64 [n]; None if there is none.

    With these variables fixed, a linear program remains.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    low = np.where(instance.integer, rounded, instance.lower)
    high = np.where(instance.integer, rounded, instance.upper)
    rows = LinearConstraint(instance.matrix, instance.row_lower, instance.row_upper) if instance.m else None
    sign = -1.0 if instance.sense == "max" else 1.0
    result = milp(sign * instance.c, constraints=rows, bounds=Bounds(low, high))
    return None if result.x is None else np.asarray(result.x, np.float64)
