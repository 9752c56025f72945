"""What places priors at a node and leaves the choice to SCIP's reliability branching.

It stands outside the contract of learned branching, deliberately: it writes pseudocosts and chooses nothing, so that there is no
slot to imitate, no move to record and no policy to put in its place. It is asked as a `Choose` that never chooses, and shares
lessons, loss, optimiser step, validation and checkpoints with the policies.
"""

from __future__ import annotations

import numpy as np

from corl.solvers.milp.branching.scoring import Scorer
from corl.solvers.milp.reliability.priors import Known, Prior, place
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.rule import Observation

__all__ = ["Priors"]


class Priors:
    """Each candidate gets its prior at the first node of each run where it is one."""

    def __init__(
        self, scorer: Scorer, weight: float, prior: Prior = Prior.NETWORK, least: float = 0.0, root: bool = True
    ) -> None:
        self.scorer, self.weight, self.prior, self.least, self.root = scorer, weight, prior, least, root
        self.run, self.placed, self.known = 0, np.zeros(0, np.bool_), np.zeros(len(Known))

    def __call__(self, node: Observation) -> int:
        """-1, always."""
        self.place(node.pointer)
        return -1

    def place(self, pointer: int) -> int:
        """How many priors were placed at the present node."""
        if (run := scip.call("SCIPgetNRuns", pointer)) != self.run:  # a restart: SCIP counts anew
            self.run, self.placed = run, np.zeros(scip.call("SCIPgetNVars", pointer), np.bool_)
        if not self.root and scip.call("SCIPgetDepth", pointer) == 0:
            return 0
        return int(place(pointer, self.scorer, self.weight, self.least, int(self.prior), self.placed, self.known))
