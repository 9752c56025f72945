"""Recipe `milp.branching`: a branching policy that imitates strong branching on one family, or on a folder of programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.options import option
from corl.solvers.milp.imitation.recipe import SEEDS, ImitationRecipe, imitate

if TYPE_CHECKING:
    from corl.learning.session import Training
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.branching.scoring import Scorer

__all__ = ["BranchingRecipe"]

_HELD_OUT, _EVERY = 8, 20
_HELP = "accepted: family=NAME[,NAME...] of corl generate milp, or instances=FOLDER"


@dataclass(frozen=True)
class BranchingRecipe(ImitationRecipe):
    """A perceptron on the candidates' features, from nodes of trees under pseudocost branching (Gasse et al. 2019)."""

    family: str = option("", "What is generated: names of `corl generate milp`, separated by commas, taken in turn.")
    policy: str = option(
        "",
        "A shipped policy or a checkpoint of this recipe that grows the trees instead of pseudocosts; half of the labels are "
        "of its best candidates (DAgger, Ross et al. 2011). What is trained starts anew.",
    )

    usual_time: ClassVar[float | None] = 120.0
    title: ClassVar[str] = "milp-branching: a policy that imitates strong branching"

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.family) == bool(self.instances):
            raise UsageError(f"one of family and instances is needed; {_HELP}")

    def train(self, training: Training) -> None:
        from corl.solvers.milp.branching.pupil import BranchingPupil

        def program(number: int) -> MilpInstance:
            return self._program(number, training, pupil.lessons.nodes)

        pupil = BranchingPupil(self.family or "own", program, _HELD_OUT, self._scorer())
        imitate(self, training, pupil, _EVERY)

    def _scorer(self) -> Scorer | None:
        """The weights of `policy`, if one is named."""
        from corl.solvers.milp.branching.scoring import Scorer
        from corl.solvers.milp.branching.solver import load_branching

        policy = load_branching(self.policy) if self.policy else None
        if not (policy is None or isinstance(policy, Scorer)):
            raise UsageError(f"policy: {self.policy!r} is a graph network; accepted: a policy of this recipe")
        return policy

    def _program(self, number: int, training: Training, labelled: int) -> MilpInstance:
        """The program of that number; UsageError for unknown families, a folder without files and one that teaches nothing."""
        from corl.problems.milp.problem import Milp

        if self.family:
            names = [name.strip() for name in self.family.split(",")]
            if unknown := [name for name in names if name not in Milp.generators]:
                raise UsageError(f"family has {unknown[0]!r}; accepted: {', '.join(Milp.generators)}")
            made: MilpInstance = Milp.generators[names[number % len(names)]](seed=SEEDS + 10_000 * training.seed + number)
            return made
        return self.read(number, labelled)
