"""`learned-branching`: SCIP, with the branching variable of every node chosen by a trained policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solvers.milp.scip import Scip

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.scip_model import Engine
    from corl.solvers.milp.scoring import Scorer

__all__ = ["LearnedBranching", "load_scorer"]


@dataclass(frozen=True)
class LearnedBranching(Scip):
    """SCIP's LPs, cuts, propagation and heuristics; a small network scores the candidates of each node, in compiled code."""

    policy: str = ""
    """A shipped policy's name or a checkpoint of the recipe `branching`; by default that of the family which the program
    matches (corl.solvers.milp.signature), and without one an error."""

    title: ClassVar[str] = "SCIP with learned branching"

    def accepts(self, instance: MilpInstance) -> str:
        from corl.solvers.milp import scip_functions
        from corl.solvers.milp.signature import family_of, shipped_policies

        if not scip_functions.load():
            return "the SCIP functions that it calls were not found in PySCIPOpt's library"
        if not self.policy and not family_of(instance):
            known = ", ".join(shipped_policies()) or "none"
            return f"no policy was trained on programs like it (policy=NAME takes one all the same; there are: {known})"
        return ""

    def prepare(self, instance: MilpInstance) -> None:
        super().prepare(instance)
        from corl.solvers.milp.branching_rule import compile_for

        compile_for(self._scorer(instance))

    def plug(self, engine: Engine) -> None:
        """Put the policy before SCIP's own branching rules."""
        from corl.solvers.milp.branching_rule import LearnedRule

        rule = LearnedRule(engine.model, engine.guard, self._scorer(engine.instance))
        engine.model.includeBranchrule(rule, "corl_learned", "a trained policy", rule.PRIORITY, -1, 1.0)

    def _scorer(self, instance: MilpInstance) -> Scorer:
        from corl.solvers.milp.signature import family_of

        return load_scorer(self.policy or family_of(instance))


@cache
def load_scorer(name_or_path: str) -> Scorer:
    """The weights of a shipped policy or of a checkpoint, for kernels. Raises UsageError, InputError."""
    from corl.networks.checkpoints import load_policy
    from corl.solvers.milp.branching_network import BranchingNetwork, scorer_of

    network = load_policy(name_or_path)
    if not isinstance(network, BranchingNetwork):
        raise UsageError(f"policy: {name_or_path!r} is no branching policy; accepted: a checkpoint of milp's recipe branching")
    return scorer_of(network)
