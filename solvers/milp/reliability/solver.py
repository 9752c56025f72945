"""`learned-reliability`: SCIP's reliability branching, with predicted gains in place of most of its strong branching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from corl.options import option
from corl.solvers.milp.scip.solver import Scip

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.branching.scoring import Scorer
    from corl.solvers.milp.scip.model import Engine

__all__ = ["LearnedReliability", "load_gains"]


@dataclass(frozen=True)
class LearnedReliability(Scip):
    """SCIP with its default branching (Achterberg, Koch and Martin 2005), told what gains to expect of variables that it has not
    branched on; where the prediction is wrong, its own observations outweigh it. For any program.

    It is outside the contract of learned branching: it writes pseudocosts and chooses nothing (rule.py).
    """

    policy: str = option("milp-general", "A shipped policy's name or a checkpoint of the recipe `gains`.")
    weight: float = option(
        8.0,
        "How many observations a prediction counts as. SCIP asks strong branching of variables with fewer than 5.",
        above=0,
        scale="log",
    )
    pairs: int = option(
        24,
        "Observations to compare predictions with before any counts; then a prior counts as `weight` x the share of their "
        "variance that it explains. 0: it counts as `weight` from the first node.",
        low=0,
    )
    root: bool = option(False, "Whether the root node's candidates have priors too; else its strong branching is SCIP's own.")
    prior: Literal["network", "mean", "dual"] = option(
        "network",
        "Where a prediction comes from: the network; the mean of the pseudocosts observed so far; what the cost and the duals of "
        "tight rows add to a step.",
    )

    title: ClassVar[str] = "SCIP, reliability branching with predicted gains"

    def accepts(self, instance: MilpInstance) -> str:
        from corl.solvers.milp.scip import functions as scip

        return "" if scip.load() else "the SCIP functions that it calls were not found in PySCIPOpt's library"

    def prepare(self, instance: MilpInstance) -> None:
        super().prepare(instance)
        import numpy as np

        from corl.solvers.milp.reliability.priors import place
        from corl.solvers.milp.scip.rule import compile_kernel

        arrays = np.zeros(1, np.bool_), np.zeros(1)
        compile_kernel(place, load_gains(self.policy), self.weight, float(self.pairs), 1, *arrays)

    def plug(self, engine: Engine) -> None:
        """Put the rule before SCIP's own, to which it leaves every choice."""
        from corl.solvers.milp.reliability.priors import Prior
        from corl.solvers.milp.reliability.rule import Priors
        from corl.solvers.milp.scip.rule import Rule

        priors = Priors(load_gains(self.policy), self.weight, Prior[self.prior.upper()], float(self.pairs), self.root)
        engine.add(Rule(engine.model, engine.callbacks, priors), "corl_priors", "predicted gains as pseudocosts")


def load_gains(name_or_path: str) -> Scorer:
    """The weights of a shipped policy or of a checkpoint, for kernels. Raises UsageError, InputError."""
    from corl.networks.checkpoints import loaded_as
    from corl.solvers.milp.branching.network import scorer_of
    from corl.solvers.milp.reliability.network import GainNetwork

    return scorer_of(loaded_as(GainNetwork, name_or_path))
