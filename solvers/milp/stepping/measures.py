"""What a tree costs, and rewards: the differences of these between two choices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyscipopt
from pyscipopt.scip import PY_SCIP_EVENTTYPE as SCIP_EVENTTYPE

from corl.solvers.milp.scip.model import Callbacks

__all__ = ["REWARDS", "Integrals", "Measures", "gap_to"]


class Measures(NamedTuple):
    """From the beginning of a solve until now."""

    nodes: int
    lp_iterations: int
    seconds: float
    """Wall clock, the caller's between choices too."""
    primal_integral: float
    """Of the incumbent's gap to the reference over the seconds (Berthold 2013); 0 without a reference."""
    dual_integral: float
    """Of the bound's."""


def _cost(name: str) -> Callable[[Measures, Measures], float]:
    return lambda before, after: float(getattr(before, name) - getattr(after, name))


REWARDS: Mapping[str, Callable[[Measures, Measures], float]] = {name: _cost(name) for name in Measures._fields}
"""By the measure's name: minus what it has grown by."""


def gap_to(reference: float, value: float) -> float:
    """Berthold's primal gap: |value - reference| / the larger of both in size; 0 where they agree, 1 without a value or where
    their signs differ."""
    if value == reference:
        return 0.0
    if not abs(value) < 1e20 or value * reference < 0.0:
        return 1.0
    return abs(value - reference) / max(abs(value), abs(reference))


class Integrals(pyscipopt.Eventhdlr):
    """Adds up both gaps to a reference, which are constant between two of SCIP's events."""

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
            self.callbacks.call(self._look, None)

    def until(self, seconds: float) -> tuple[float, float]:
        """Both integrals until then."""
        if self.reference is None:
            return 0.0, 0.0
        longer = max(seconds - self._at, 0.0)
        primal, dual = (total + gap * longer for total, gap in zip(self._sums, self._gaps))
        return primal, dual

    def update(self, seconds: float, primal: float, dual: float) -> None:
        """From now on the incumbent's value and the bound are these (not finite, or 1e20 and more: none)."""
        if self.reference is not None:
            self._sums, self._at = self.until(seconds), max(seconds, self._at)
            self._gaps = gap_to(self.reference, primal), gap_to(self.reference, dual)

    def _look(self) -> None:
        primal = float(self.model.getPrimalbound()) if self.model.getNSols() else math.inf
        self.update(float(self.model.getSolvingTime()), primal, float(self.model.getDualbound()))
