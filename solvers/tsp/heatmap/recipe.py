"""Recipe `tsp.heatmap`: a graph network learns which candidate edges are in the tours that the solver `eax` finds.

The network scores all candidate edges of an instance once, before the search `heatmap-mcts` begins. It is not a policy, since it
chooses no actions of an environment. Session, optimiser step and checkpoints are those of all recipes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.learning.source import Source, folder_option
from corl.options import option

if TYPE_CHECKING:
    from torch import Tensor

    from corl.learning.session import Training
    from corl.problems.tsp.instance import TspInstance
    from corl.solvers.tsp.heatmap.features import EdgeGraph

__all__ = ["HeatmapRecipe", "SolvedInstances"]

_TEACHER_ITERATIONS = 10  # iterations of eax per city; its tours are within 0.03 % of the best at 100 to 500 cities (measured)
_WARM_UP = 0.02  # share of the run in which the learning rate rises


@dataclass(frozen=True)
class HeatmapRecipe(Recipe):
    """Binary classification of the candidate edges of uniform and clustered instances: whether an edge is in the tour of `eax`.

    One new instance is solved every few steps of training. Batches are drawn at random from all instances solved so far.
    """

    smallest: int = option(100, "Fewest cities of an instance.", low=12, scale="log")
    largest: int = option(500, "Most cities of an instance; sizes between are drawn on a logarithmic scale.", low=12, scale="log")
    instances: str = folder_option()
    clustered: float = option(0.2, "Share of clustered instances; the others are uniform.", low=0, high=1)
    batch: int = option(500, "Cities of a step's batch; it consists of whole instances, at least one.", low=1, scale="log")
    every: int = option(4, "Steps from one new instance to the next.", low=1, scale="log")
    width: int = option(48, "Features of each city and each edge inside the network.", low=1, scale="log")
    layers: int = option(6, "Layers of the graph network: rounds of messages between neighbours.", low=1)
    rate: float = option(
        2e-3, "The largest learning rate, reached after 2 % of the run; it then falls to 0 as a cosine.", above=0, scale="log"
    )

    title: ClassVar[str] = "edge probabilities for heatmap-mcts, from tours of eax"
    step: ClassVar[str] = "one optimiser step on instances of about `batch` cities"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smallest > self.largest:
            raise UsageError(f"option smallest: {self.smallest} is not accepted; it takes one up to largest, {self.largest}")

    def train(self, training: Training) -> None:
        from torch.nn import functional

        from corl.learning.optimise import gradient_step, new_optimiser
        from corl.networks.graph import GatedGraphNetwork
        from corl.solvers.tsp.heatmap.features import EDGES, FEATURES, NODES

        network = GatedGraphNetwork(training.problem.name, FEATURES, NODES, EDGES, self.width, self.layers).to(training.device)
        optimiser = new_optimiser(network, self.rate)
        solved, random = SolvedInstances(self, training.seed), training.generator(1)
        training.manage(network=network, optimiser=optimiser, lessons=solved, random=random)
        while training.budget():
            if training.step % self.every == 0:
                solved.add()
            nodes, links, edges, wanted = (part.to(training.device) for part in _batch(solved.draw(random, self.batch), random))
            with training.autocast():
                logits = network(nodes, links, edges)
            loss = functional.binary_cross_entropy_with_logits(logits.float(), wanted)
            gradient_step(optimiser, loss, self.rate, training.fraction, warm=_WARM_UP)
            training.log(loss=loss.item(), tours=len(solved.tours))
        training.save(network)


class SolvedInstances:
    """Instances with the tours that eax found.

    The instances can be made again from the seed, so that a snapshot of the training holds only the tours.
    """

    def __init__(self, recipe: HeatmapRecipe, seed: int) -> None:
        from corl.problems.tsp.problem import Tsp
        from corl.registry import solver

        self.recipe, self.seed = recipe, seed
        self.problem, self.teacher = Tsp(), solver("tsp", "eax")()
        self.tours: list[NDArray[np.int32]] = []
        self.graphs: list[tuple[EdgeGraph, NDArray[np.bool_]]] = []

    def instance(self, number: int) -> TspInstance:
        """Return instance `number`: from the user's files, if there are any, otherwise a random one."""
        from corl.problems.tsp.generators import clustered, uniform

        if self.recipe.instances:
            from corl.solvers.tsp.training_files import check_planar

            return check_planar(Source(self.problem, seed=self.seed, folder=self.recipe.instances).instances(number, 1)[0])
        random = np.random.default_rng([self.seed, 0, number])
        low, high = np.log(self.recipe.smallest), np.log(self.recipe.largest + 1)
        size, own_seed = int(np.exp(random.uniform(low, high))), int(random.integers(2**31))
        if random.random() < self.recipe.clustered:
            return clustered(size=size, seed=own_seed)
        return uniform(size=size, edge_weight_type="EXACT_2D", seed=own_seed)

    def add(self) -> None:
        """Solve one more instance and append it."""
        from corl.run import Run

        instance = self.instance(len(self.tours))
        run = Run(self.problem, instance, iterations=_TEACHER_ITERATIONS * instance.n)
        self.teacher.solve(instance, run)
        self._append(instance, run.solution)

    def _append(self, instance: TspInstance, tour: NDArray[np.int32]) -> None:
        """Append a solved instance."""
        from corl.solvers.tsp.heatmap.features import edge_graph

        graph = edge_graph(instance)
        self.tours.append(np.asarray(tour, np.int32))
        self.graphs.append((graph, tour_edges(graph.near, tour)))

    def draw(self, random: np.random.Generator, cities: int) -> list[tuple[EdgeGraph, NDArray[np.bool_]]]:
        """Draw graphs with about `cities` cities in all, each with its labels, bool [n K]: whether each edge is in the tour."""
        drawn: list[tuple[EdgeGraph, NDArray[np.bool_]]] = []
        count = 0
        while count < cities:
            graph, wanted = self.graphs[random.integers(len(self.graphs))]
            if drawn and count + len(graph.near) > 1.2 * cities:
                break
            drawn.append((graph, wanted))
            count += len(graph.near)
        return drawn

    def state_dict(self) -> dict[str, Any]:
        """Return the tours, concatenated, int32: the state of a snapshot."""
        return {"tours": np.concatenate(self.tours) if self.tours else np.zeros(0, np.int32)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        at, self.tours, self.graphs = 0, [], []
        while at < len(state["tours"]):
            instance = self.instance(len(self.tours))
            self._append(instance, state["tours"][at : at + instance.n])
            at += instance.n


def tour_edges(near: NDArray[np.int32], tour: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return, for each edge i K + c from city i to near[i, c], whether it is in the tour, bool [n K]."""
    before, after = np.empty(len(tour), np.int32), np.empty(len(tour), np.int32)
    before[tour], after[tour] = np.roll(tour, 1), np.roll(tour, -1)
    found: NDArray[np.bool_] = ((near == before[:, None]) | (near == after[:, None])).ravel()
    return found


def _batch(drawn: list[tuple[EdgeGraph, NDArray[np.bool_]]], random: np.random.Generator) -> tuple[Tensor, ...]:
    """Return several graphs as one, each rotated by a random angle and perhaps mirrored.

    Returns tensors (nodes float32 [N, NODES], links int64 [2, E], edges float32 [E, EDGES], wanted float32 [E]).
    """
    import torch

    from corl.solvers.tsp.heatmap.features import links_of, turned

    nodes, links, edges, offset = [], [], [], 0
    for graph, _ in drawn:
        nodes.append(graph.nodes)
        links.append(links_of(graph.near) + offset)
        edges.append(turned(graph.edges, random.uniform(0.0, 2.0 * np.pi), bool(random.integers(2))))
        offset += len(graph.near)
    wanted = np.concatenate([wanted for _, wanted in drawn]).astype(np.float32)
    arrays = np.concatenate(nodes), np.concatenate(links, 1), np.concatenate(edges), wanted
    return tuple(torch.from_numpy(array) for array in arrays)
