"""Recipes `milp.root-gnn` and `milp.gcnn`: the graph networks, on the same labels and with the same loss as `milp.branching`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.problems.milp.generators import GENERATORS
from corl.solvers.milp.imitation.recipe import SEEDS, ImitationRecipe, imitate

if TYPE_CHECKING:
    from corl.learning.session import Training
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.graph.pupil import Network

__all__ = ["GcnnRecipe", "RootGnnRecipe"]

_HELD_OUT, _EVERY = 4, 25


@dataclass(frozen=True)
class RootGnnRecipe(ImitationRecipe):
    """A graph network at the root feeding a perceptron at every node (networks.RootGnnNetwork)."""

    family: str = option("auctions", "What is generated, at its default size.", choices=GENERATORS)
    batch: int = option(16, "Nodes of an optimiser step.", low=1, scale="log")

    title: ClassVar[str] = "milp-root-gnn: a graph network at the root, a perceptron at the nodes, as strong branching does"
    collecting: ClassVar[float] = 0.7

    def train(self, training: Training) -> None:
        from corl.solvers.milp.graph.networks import RootGnnNetwork

        _train(self, training, RootGnnNetwork(family="own" if self.instances else self.family))


@dataclass(frozen=True)
class GcnnRecipe(ImitationRecipe):
    """The graph network of Gasse et al. (2019) at every node (networks.GcnnNetwork): the reference."""

    family: str = option("auctions", "What is generated, at its default size.", choices=GENERATORS)
    batch: int = option(16, "Nodes of an optimiser step.", low=1, scale="log")

    title: ClassVar[str] = "milp-gcnn: Gasse et al.'s graph network at every node, the reference"
    collecting: ClassVar[float] = 0.7

    def train(self, training: Training) -> None:
        from corl.solvers.milp.graph.networks import GcnnNetwork

        _train(self, training, GcnnNetwork(family="own" if self.instances else self.family))


def _train(recipe: RootGnnRecipe | GcnnRecipe, training: Training, network: Network) -> None:
    from corl.solvers.milp.graph.pupil import GraphPupil

    def program(number: int) -> MilpInstance:
        if recipe.instances:
            return recipe.read(number, pupil.lessons.nodes)
        made: MilpInstance = GENERATORS[recipe.family](seed=SEEDS + 10_000 * training.seed + number)
        return made

    pupil = GraphPupil(network, program, _HELD_OUT)
    imitate(recipe, training, pupil, _EVERY)
