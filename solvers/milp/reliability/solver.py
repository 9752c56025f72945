"""`learned-reliability`: SCIP's reliability branching, with predicted gains in place of most of its strong branching."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal

from corl.errors import UsageError
from corl.solvers.milp.scip import Scip

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.scip_model import Engine
    from corl.solvers.milp.scoring import Scorer

__all__ = ["LearnedReliability", "load_gains"]


@dataclass(frozen=True)
class LearnedReliability(Scip):
    """SCIP with its default branching (Achterberg, Koch and Martin 2005), told what gains to expect of variables that it has not
    branched on; where the prediction is wrong, its own observations outweigh it. For any program."""

    policy: str = "milp-general"
    """A shipped policy's name or a checkpoint of the recipe `gains`."""
    weight: float = 8.0
    """How many observations a prediction counts as, above 0. SCIP asks strong branching of variables with less than 5. Of 2,
    4 and 8, on eight programs of MIPLIB 3 with one seed, the one whose worst ratio to SCIP's default was the least."""
    prior: Literal["network", "mean"] = "network"
    """Where a prediction comes from; mean: the mean of the pseudocosts observed so far, as if nothing had been learned."""

    title: ClassVar[str] = "SCIP, reliability branching with predicted gains"

    def __post_init__(self) -> None:
        if not 0.0 < self.weight < float("inf"):
            raise UsageError(f"weight is {self.weight}; accepted: above 0")

    def accepts(self, instance: MilpInstance) -> str:
        from corl.solvers.milp import scip_functions

        return "" if scip_functions.load() else "the SCIP functions that it calls were not found in PySCIPOpt's library"

    def prepare(self, instance: MilpInstance) -> None:
        super().prepare(instance)
        from corl.solvers.milp.reliability.rule import compile_for

        compile_for(load_gains(self.policy))

    def plug(self, engine: Engine) -> None:
        """Put the rule before SCIP's own, to which it leaves every choice."""
        from corl.solvers.milp.reliability.rule import PriorRule

        rule = PriorRule(engine.model, engine.guard, load_gains(self.policy), self.weight, self.prior == "network")
        engine.model.includeBranchrule(rule, "corl_priors", "predicted gains as pseudocosts", rule.PRIORITY, -1, 1.0)


@cache
def load_gains(name_or_path: str) -> Scorer:
    """The weights of a shipped policy or of a checkpoint, for kernels. Raises UsageError, InputError."""
    from corl.networks.checkpoints import load_policy
    from corl.solvers.milp.branching_network import scorer_of
    from corl.solvers.milp.reliability.network import GainNetwork

    network = load_policy(name_or_path)
    if not isinstance(network, GainNetwork):
        raise UsageError(f"policy: {name_or_path!r} predicts no gains; accepted: a checkpoint of milp's recipe gains")
    return scorer_of(network)
