"""`learned-branching`: SCIP, with the branching variable of every node chosen by a trained policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.options import option
from corl.solvers.milp.scip.solver import Scip

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.branching.scoring import Scorer
    from corl.solvers.milp.graph.inference import GcnnPolicy, RootPolicy
    from corl.solvers.milp.scip.model import Engine

__all__ = ["LearnedBranching", "load_branching"]


@dataclass(frozen=True)
class LearnedBranching(Scip):
    """SCIP's LPs, cuts, propagation and heuristics; a small network scores the candidates of each node, in compiled code."""

    policy: str = option(
        "",
        "A shipped policy's name or a checkpoint of the recipes `branching`, `root-gnn` or `gcnn`; empty: the shipped policy "
        "of the family that the program matches.",
    )

    title: ClassVar[str] = "SCIP with learned branching"

    def accepts(self, instance: MilpInstance) -> str:
        from corl.solvers.milp.branching.signature import family_of, shipped_policies
        from corl.solvers.milp.scip import functions as scip

        if not scip.load():
            return "the SCIP functions that it calls were not found in PySCIPOpt's library"
        if not self.policy and not family_of(instance):
            known = ", ".join(shipped_policies()) or "none"
            return f"no policy was trained on programs like it (policy=NAME takes one all the same; there are: {known})"
        return ""

    def prepare(self, instance: MilpInstance) -> None:
        super().prepare(instance)
        from corl.solvers.milp.branching.scoring import Scorer, branch
        from corl.solvers.milp.scip.rule import compile_kernel

        loaded = self._loaded(instance)
        if isinstance(loaded, Scorer):
            compile_kernel(branch, loaded)
        else:
            loaded.compile()

    def plug(self, engine: Engine) -> None:
        """Put the policy before SCIP's own branching rules."""
        from corl.solvers.milp.branching.rule import LearnedRule
        from corl.solvers.milp.branching.scoring import Scorer

        loaded = self._loaded(engine.run.instance)  # a program in other units may be like none that was trained on
        rule: Any
        if isinstance(loaded, Scorer):
            rule = LearnedRule(engine.model, engine.callbacks, loaded)
        else:
            from corl.solvers.milp.graph.inference import GraphRule

            rule = GraphRule(engine.model, engine.callbacks, loaded)
        engine.add(rule, "corl_learned", "a trained policy")

    def _loaded(self, instance: MilpInstance) -> Scorer | RootPolicy | GcnnPolicy:
        from corl.solvers.milp.branching.signature import family_of

        return load_branching(self.policy or family_of(instance))


def load_branching(name_or_path: str) -> Scorer | RootPolicy | GcnnPolicy:
    """The weights of a shipped policy or of a checkpoint, without torch. Raises UsageError, InputError."""
    from corl.networks.checkpoints import loaded
    from corl.solvers.milp.branching.network import BranchingNetwork, scorer_of

    network, _ = loaded(name_or_path)
    if isinstance(network, BranchingNetwork):
        return scorer_of(network)
    if network.__class__.__module__ == "corl.solvers.milp.graph.networks":
        from corl.solvers.milp.graph.inference import policy_of

        return policy_of(network)
    accepted = "a checkpoint of milp's recipes branching, root-gnn or gcnn"
    raise UsageError(f"policy: {name_or_path!r} is no branching policy; accepted: {accepted}")
