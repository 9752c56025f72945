"""The branching rule that places priors and leaves the choice to SCIP's reliability branching."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyscipopt.scip import PY_SCIP_RESULT as SCIP_RESULT

from corl.solvers.milp.branching.scoring import Scorer
from corl.solvers.milp.reliability.features import PLAIN
from corl.solvers.milp.reliability.priors import place
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.model import Callbacks
from corl.solvers.milp.scip.rule import Rule

__all__ = ["PriorRule"]


class PriorRule(Rule):
    """Branches on nothing; each candidate gets its prior at the first node of each run where it is one."""

    def __init__(self, model: Any, callbacks: Callbacks, scorer: Scorer, weight: float, learned: bool) -> None:
        super().__init__(model, callbacks)
        self.scorer, self.weight, self.learned = scorer, weight, learned
        self.run, self.placed, self.known = 0, np.zeros(0, np.bool_), np.zeros(1)

    def decide(self) -> int:
        """See Rule."""
        self.place()
        return int(SCIP_RESULT.DIDNOTRUN)

    def place(self) -> int:
        """How many priors were placed at the present node."""
        if (run := scip.call("SCIPgetNRuns", self.pointer)) != self.run:  # a restart: SCIP counts anew
            self.run, self.placed = run, np.zeros(scip.call("SCIPgetNVars", self.pointer), np.bool_)
        return int(place(self.pointer, self.scorer, PLAIN, self.weight, self.learned, self.placed, self.known))
