"""What an engine is asked of a program, and what is believed of its answers on their way to a Run."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.milp.evaluation import objective
from corl.problems.milp.instance import INFINITY, MilpInstance
from corl.problems.milp.scaling import Scaled, doubt, scaled
from corl.tolerance import agrees

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["Question"]

_log = logging.getLogger(__name__)
_MOST_ORIGINS = 3


class Question:
    """A program in its own units, and about another origin where the engine's best solution is none for the judge.

    Engines tolerate a share of a row's side: x + y <= 1e9 holds for them at 1e9 + 5. About that point the row is
    x' + y' <= -5, of which they tolerate nothing that matters.
    """

    def __init__(self, run: Run, instance: MilpInstance) -> None:
        self.run, self.instance = run, instance
        self._refused: NDArray[np.float64] | None = None  # the last answer, where it was none
        self._origins: set[bytes] = set()
        self._ask(scaled(instance))

    def _ask(self, about: Scaled) -> None:
        self._scaled, held = about, doubt(about.program)
        self._doubt = f"nothing is proved: {held}" if held else ""

    @property
    def program(self) -> MilpInstance:
        """What the engine is asked."""
        return self._scaled.program

    @property
    def start(self) -> NDArray[np.float64] | None:
        """The incumbent as a solution of `program`."""
        return None if self.run.solution is None else self._scaled.own(np.asarray(self.run.solution, np.float64))

    def values(self, x: NDArray[np.float64]) -> None:
        """Offer a solution of `program`: with its integers rounded if that is feasible, else with the rest solved anew.

        What no tolerance saves is a warning in the log, not an answer.
        """
        rounded = np.clip(np.where(self.program.integer, np.round(x), x), self.program.lower, self.program.upper)
        found = self._scaled.values(rounded)
        try:
            objective(self.instance, found)
        except Infeasible as error:
            completed = _completed(self.program, rounded)
            found = self._scaled.values(rounded if completed is None else completed)
            try:
                objective(self.instance, found)
            except Infeasible:
                self._refused = rounded
                _log.warning("a solution of the engine is outside our tolerances and is left out: %s", error)
                return
        self._refused = None
        self.run.report(found)

    def bound(self, value: float) -> None:
        """Offer a bound on `program`; one that the incumbent passes by no more than rounding is the incumbent's value."""
        if not math.isfinite(value) or abs(value) >= INFINITY or self._doubt:
            return
        own, best = self._scaled.bound(value), self.run.objective
        if best is not None and self.run.problem.better(best, own) and agrees(best, own):
            own = best
        self.run.report_bound(own)

    def infeasible(self) -> None:
        """Offer a proof that there is no solution; one that the judge takes, within its tolerances, stands against it."""
        if self.run.objective is not None:
            self._doubt = self._doubt or "nothing is proved: for the engine even the solution found breaks a row"
        elif not self._doubt:
            self.run.report_infeasible()

    def unbounded(self) -> None:
        """Offer a proof that there is no best solution."""
        if not self._doubt and self.run.bound is None:
            self.run.report_unbounded()

    def done(self) -> bool:
        """Whether the engine, which calls its last answer optimal, is done, and believed as far as it can be.

        If not, it is to be asked again, about that answer: it is none, or the sides are too large for proofs.
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
        about = self._scaled.about(point)
        if about.origin.tobytes() in self._origins or (self._refused is None and doubt(about.program)):
            return True
        self._origins.add(about.origin.tobytes())
        self._refused = None
        self._ask(about)
        return False

    def gave_up(self, reason: str) -> None:
        """Note in words why the engine ended without an answer."""
        self._doubt = reason

    def close(self) -> None:
        """Say why nothing is proved, where that is so."""
        if self.run.status in ("feasible", "no_solution"):
            lost = "the engine calls a point best that breaks a row by what it tolerates" if self._refused is not None else ""
            self.run.reason = self._doubt or lost


def _completed(instance: MilpInstance, rounded: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The best solution with these integers, by HiGHS on the linear program that is left; None if there is none."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    low = np.where(instance.integer, rounded, instance.lower)
    high = np.where(instance.integer, rounded, instance.upper)
    rows = LinearConstraint(instance.matrix, instance.row_lower, instance.row_upper) if instance.m else None
    sign = -1.0 if instance.sense == "max" else 1.0
    found = milp(sign * instance.c, constraints=rows, bounds=Bounds(low, high))
    return None if found.x is None else np.asarray(found.x, np.float64)
