"""`learned-branching`: SCIP, in which a trained policy chooses the branching variable of every node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solvers.milp.scip.solver import Scip

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.branching.policy import BranchingPolicy
    from corl.solvers.milp.scip.model import Engine

__all__ = ["LearnedBranching"]


@dataclass(frozen=True)
class LearnedBranching(Scip):
    """SCIP with its own cuts, propagation and heuristics; at each node, a small network in a kernel scores the candidates."""

    policy: str = option(
        "",
        "A shipped policy's name, or a checkpoint of a recipe of `milp` or `milp-branching`; empty: the shipped policy "
        "of the family that the program matches.",
    )

    engine: ClassVar[str] = ""  # branching is ours
    title: ClassVar[str] = "SCIP with learned branching"

    def accepts(self, instance: MilpInstance) -> str:
        from corl.solvers.milp.branching.signature import family_of, shipped_policies
        from corl.solvers.milp.scip import functions as scip

        if not scip.load():
            return "the SCIP functions that it calls were not found in PySCIPOpt's library"
        if not self.policy and not family_of(instance):
            known = ", ".join(shipped_policies()) or "none"
            return f"no policy was trained on such programs (policy=NAME uses one nevertheless; there are: {known})"
        return ""

    def prepare(self, instance: MilpInstance) -> None:
        super().prepare(instance)
        self._policy(instance).compile()

    def plug(self, engine: Engine) -> None:
        """Add the policy as a branching rule, with priority over SCIP's own."""
        from corl.solvers.milp.scip.rule import Rule

        policy = self._policy(engine.run.instance)  # not the scaled program, which may match no training programs
        engine.add(Rule(engine.model, engine.callbacks, policy), "corl_learned", "a trained policy")

    def _policy(self, instance: MilpInstance) -> BranchingPolicy:
        from corl.solvers.milp.branching.policy import load_branching
        from corl.solvers.milp.branching.signature import family_of

        return load_branching(self.policy or family_of(instance))
