"""Measures of a solve, such as its nodes, and rewards: minus the increase of a measure between two choices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyscipopt
from pyscipopt.scip import PY_SCIP_EVENTTYPE as SCIP_EVENTTYPE

from corl.solvers.milp.scip.model import Callbacks

__all__ = ["REWARDS", "Integrals", "Measures", "gap_to"]


class Measures(NamedTuple):
    """Measures of a solve from its beginning until now."""

    nodes: int
    """The number of nodes solved."""
    lp_iterations: int
    """The number of simplex iterations."""
    seconds: float
    """Wall-clock time, including the time that the caller takes for its choices."""
    primal_integral: float
    """The integral over time of the incumbent's gap to the reference (Berthold 2013); 0 without a reference."""
    dual_integral: float
    """The integral over time of the bound's gap to the reference; 0 without a reference."""


def _cost(name: str) -> Callable[[Measures, Measures], float]:
    """Return the reward of a measure."""
    return lambda before, after: float(getattr(before, name) - getattr(after, name))


REWARDS: Mapping[str, Callable[[Measures, Measures], float]] = {name: _cost(name) for name in Measures._fields}
"""Name of a measure -> function of the Measures before and after: minus the increase of that measure."""


def gap_to(reference: float, value: float) -> float:
    """Return Berthold's primal gap, |value - reference| / max(|value|, |reference|).

    The gap is 0 if both numbers are equal, and 1 if `value` is infinite (1e20 or more) or if the signs differ.
    """
    if value == reference:
        return 0.0
    if not abs(value) < 1e20 or value * reference < 0.0:
        return 1.0
    return abs(value - reference) / max(abs(value), abs(reference))


class Integrals(pyscipopt.Eventhdlr):
    """Integrates two gaps over time, from event to event in SCIP: of the incumbent to a reference, and of the bound to it."""

    def __init__(self, model: Any, callbacks: Callbacks, reference: float | None) -> None:
        self.callbacks: Callbacks | None = callbacks
        self.reference = reference
        self._at, self._gaps, self._sums = 0.0, (1.0, 1.0), (0.0, 0.0)

    def eventinit(self) -> None:
        if self.reference is not None:
            for kind in (SCIP_EVENTTYPE.BESTSOLFOUND, SCIP_EVENTTYPE.LPSOLVED):
                self.model.catchEvent(kind, self)

    def eventexit(self) -> None:
        if self.reference is not None:
            for kind in (SCIP_EVENTTYPE.BESTSOLFOUND, SCIP_EVENTTYPE.LPSOLVED):
                self.model.dropEvent(kind, self)

    def eventexec(self, event: Any) -> None:
        if self.callbacks is not None:
            self.callbacks.call(self._update_from_model, None)

    def until(self, seconds: float) -> tuple[float, float]:
        """Return the primal and the dual integral up to the time `seconds`."""
        if self.reference is None:
            return 0.0, 0.0
        since = max(seconds - self._at, 0.0)
        primal, dual = (total + gap * since for total, gap in zip(self._sums, self._gaps))
        return primal, dual

    def update(self, seconds: float, primal: float, dual: float) -> None:
        """Store the incumbent's objective value and the bound that hold from the time `seconds` on; 1e20 and above mean none."""
        if self.reference is not None:
            self._sums, self._at = self.until(seconds), max(seconds, self._at)
            self._gaps = gap_to(self.reference, primal), gap_to(self.reference, dual)

    def _update_from_model(self) -> None:
        primal = float(self.model.getPrimalbound()) if self.model.getNSols() else math.inf
        self.update(float(self.model.getSolvingTime()), primal, float(self.model.getDualbound()))
