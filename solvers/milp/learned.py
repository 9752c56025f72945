"""`learned-branching`: SCIP, with the branching variable of every node chosen by a trained policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.solvers.milp.scip import Scip

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.graph.inference import GcnnPolicy, RootPolicy
    from corl.solvers.milp.scip_model import Engine
    from corl.solvers.milp.scoring import Scorer

__all__ = ["LearnedBranching", "load_branching"]


@dataclass(frozen=True)
class LearnedBranching(Scip):
    """SCIP's LPs, cuts, propagation and heuristics; a small network scores the candidates of each node, in compiled code."""

    policy: str = ""
    """A shipped policy's name or a checkpoint of the recipes `branching`, `root-gnn` or `gcnn`; by default that of the family
    which the program matches (corl.solvers.milp.signature), and without one an error."""

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
        from corl.solvers.milp.scoring import Scorer

        loaded = self._loaded(instance)
        if isinstance(loaded, Scorer):
            compile_for(loaded)
        else:
            loaded.compile()

    def plug(self, engine: Engine) -> None:
        """Put the policy before SCIP's own branching rules."""
        from corl.solvers.milp.branching_rule import LearnedRule
        from corl.solvers.milp.scoring import Scorer

        loaded = self._loaded(engine.instance)
        rule: Any
        if isinstance(loaded, Scorer):
            rule = LearnedRule(engine.model, engine.guard, loaded)
        else:
            from corl.solvers.milp.graph.inference import GraphRule

            rule = GraphRule(engine.model, engine.guard, loaded)
        engine.model.includeBranchrule(rule, "corl_learned", "a trained policy", rule.PRIORITY, -1, 1.0)

    def _loaded(self, instance: MilpInstance) -> Scorer | RootPolicy | GcnnPolicy:
        from corl.solvers.milp.signature import family_of

        return load_branching(self.policy or family_of(instance))


@cache
def load_branching(name_or_path: str) -> Scorer | RootPolicy | GcnnPolicy:
    """The weights of a shipped policy or of a checkpoint, without torch. Raises UsageError, InputError."""
    from corl.networks.checkpoints import load_policy
    from corl.solvers.milp.branching_network import BranchingNetwork, scorer_of

    network = load_policy(name_or_path)
    if isinstance(network, BranchingNetwork):
        return scorer_of(network)
    if network.__class__.__module__ == "corl.solvers.milp.graph.networks":
        from corl.solvers.milp.graph.inference import policy_of

        return policy_of(network)
    accepted = "a checkpoint of milp's recipes branching, root-gnn or gcnn"
    raise UsageError(f"policy: {name_or_path!r} is no branching policy; accepted: {accepted}")
