"""The branching rule that places priors and leaves the choice to SCIP's reliability branching."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyscipopt
from numba import typeof, types
from pyscipopt.scip import PY_SCIP_RESULT as SCIP_RESULT

from corl.errors import SolverError
from corl.solvers.milp import scip_functions as scip
from corl.solvers.milp.reliability.inputs import PLAIN
from corl.solvers.milp.reliability.priors import place
from corl.solvers.milp.scip_model import Guard
from corl.solvers.milp.scoring import Scorer

__all__ = ["PriorRule", "compile_for"]


def compile_for(scorer: Scorer) -> None:
    """Compile what `PriorRule` calls, or load it from the cache, so that no solve's clock pays for it."""
    if not scip.load():
        raise SolverError("the SCIP functions that the rule calls were not found in PySCIPOpt's library")
    kernel: Any = place
    arrays = [typeof(one) for one in (scorer, PLAIN, np.zeros(1, np.bool_), np.zeros(1))]  # type: ignore[no-untyped-call]
    kernel.compile((types.int64, *arrays[:2], types.float64, types.boolean, *arrays[2:]))


class PriorRule(pyscipopt.Branchrule):
    """Branches on nothing; each candidate gets its prior at the first node of each run where it is one."""

    PRIORITY: ClassVar[int] = 536_870_910  # before SCIP's own rules; one below the highest, where measuring rules listen

    def __init__(self, model: Any, guard: Guard, scorer: Scorer, weight: float, learned: bool) -> None:
        self.pointer, self.guard, self.scorer, self.weight, self.learned = scip.pointer_of(model), guard, scorer, weight, learned
        self.run, self.placed, self.known = 0, np.zeros(0, np.bool_), np.zeros(1)

    def branchexeclp(self, allowaddcons: bool) -> dict[str, Any]:
        self.guard.call(self._place, 0)
        return {"result": SCIP_RESULT.DIDNOTRUN}

    def _place(self) -> int:
        if (run := scip.call("SCIPgetNRuns", self.pointer)) != self.run:  # a restart: SCIP counts anew
            self.run, self.placed = run, np.zeros(scip.call("SCIPgetNVars", self.pointer), np.bool_)
        return int(place(self.pointer, self.scorer, PLAIN, self.weight, self.learned, self.placed, self.known))
