"""Recipe `milp.branching`: trains a branching policy by imitating strong branching on families or a folder of programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.options import option
from corl.solvers.milp.imitation.recipe import SEEDS, ImitationRecipe

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.branching.policy import BranchingPolicy

__all__ = ["BranchingRecipe"]

_HELP = "accepted: family=NAME[,NAME...] of corl generate milp, or instances=FOLDER"


@dataclass(frozen=True)
class BranchingRecipe(ImitationRecipe):
    """Trains a perceptron on candidates' features to imitate strong branching, as in Gasse et al. (2019).

    The labelled nodes are from trees in which pseudocost branching, or another policy, branches at the other nodes.
    """

    family: str = option("", "Generators of `corl generate milp`, separated by commas, used in turn.")
    sizes: str = option(
        "",
        "Options of the generators, such as items=200,bids=1000; several sets of options, separated by semicolons, are used in "
        "turn; empty: the generators' defaults.",
    )
    tableau: int = option(0, "For how many of a node's best candidates the simplex tableau is an input; 0: none.", low=0, high=64)
    policy: str = option(
        "",
        "A shipped policy, or a checkpoint of a branching policy, that branches in the trees instead of pseudocost branching; "
        "half of the labelled candidates are its best ones (DAgger, Ross et al. 2011). Training starts from random weights.",
    )

    usual_time: ClassVar[float | None] = 120.0
    title: ClassVar[str] = "milp-branching: a policy that imitates strong branching"

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.family) == bool(self.instances):
            raise UsageError(f"one of family and instances is needed; {_HELP}")

    def network(self) -> Any:
        from corl.solvers.milp.branching.network import BranchingNetwork

        return BranchingNetwork(family=self.family or "own", tableau=self.tableau)

    def grower(self) -> BranchingPolicy | None:
        from corl.solvers.milp.branching.policy import load_branching

        return load_branching(self.policy) if self.policy else None

    def program(self, number: int, seed: int) -> MilpInstance:
        """Return the training program with this number, counted from 0, for a run with this seed.

        Raises UsageError for unknown families, for sizes that a generator does not accept, and for a folder without files.
        """
        from corl.options import call, parse_pairs
        from corl.problems.milp.problem import Milp

        if self.instances:
            return self.read(number)
        names = [name.strip() for name in self.family.split(",")]
        if unknown := [name for name in names if name not in Milp.generators]:
            raise UsageError(f"family has {unknown[0]!r}; accepted: {', '.join(Milp.generators)}")
        sets = self.sizes.split(";")
        sizes = parse_pairs([pair.strip() for pair in sets[number // len(names) % len(sets)].split(",") if pair.strip()])
        generator = Milp.generators[names[number % len(names)]]
        program: MilpInstance = call(generator, {**sizes, "seed": SEEDS + 10_000 * seed + number})
        return program
