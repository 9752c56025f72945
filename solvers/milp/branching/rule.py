"""The policy as a branching rule of SCIP."""

from __future__ import annotations

from typing import Any

from corl.solvers.milp.branching.scoring import Scorer, branch
from corl.solvers.milp.scip.model import Callbacks
from corl.solvers.milp.scip.rule import Rule, branched

__all__ = ["LearnedRule"]


class LearnedRule(Rule):
    """Branches on the candidate with the highest score."""

    def __init__(self, model: Any, callbacks: Callbacks, scorer: Scorer) -> None:
        super().__init__(model, callbacks)
        self.scorer = scorer

    def decide(self) -> int:
        """See Rule."""
        return branched(branch(self.pointer, self.scorer))
