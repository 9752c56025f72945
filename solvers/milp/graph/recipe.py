"""Recipe `milp.gcnn`: trains the graph network with the same labels and the same loss as `milp.branching`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.options import option
from corl.problems.milp.generators import GENERATORS
from corl.solvers.milp.imitation.recipe import SEEDS, ImitationRecipe

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance

__all__ = ["GcnnRecipe"]


@dataclass(frozen=True)
class GcnnRecipe(ImitationRecipe):
    """Trains the graph network of Gasse et al. (2019), with which learned branching is compared in the literature.

    SCIP calls the network at every node (networks.GcnnNetwork).
    """

    family: str = option("auctions", "The generator of the programs, with its default size.", choices=GENERATORS)
    batch: int = option(16, "Nodes per optimiser step.", low=1, scale="log")

    title: ClassVar[str] = "milp-gcnn: Gasse et al.'s graph network at every node, the reference"
    collecting: ClassVar[float] = 0.7
    held_out: ClassVar[int] = 4
    every: ClassVar[int] = 25

    def network(self) -> Any:
        from corl.solvers.milp.graph.networks import GcnnNetwork

        return GcnnNetwork(family="own" if self.instances else self.family)

    def program(self, number: int, seed: int) -> MilpInstance:
        if self.instances:
            return self.read(number)
        program: MilpInstance = GENERATORS[self.family](seed=SEEDS + 10_000 * seed + number)
        return program
