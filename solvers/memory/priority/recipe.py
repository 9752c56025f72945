"""Recipe `memory.priority`: trains the priority of `learned-priority` by evolution strategies through the simulator.

The recipe uses no environment: the network's scores only order the items of a greedy construction, and their quality shows only
in the run time of the complete plan. The session, the optimiser step, the choice of the best weights and the checkpoints are
those of all recipes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from corl.learning.recipe import Recipe
from corl.learning.source import folder_option
from corl.options import option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.learning.session import Training
    from corl.solvers.memory.priority.network import PriorityNetwork

__all__ = ["PriorityRecipe"]


class _Task(NamedTuple):
    """A program, and what is needed to construct and measure its plans."""

    program: Any
    """The Program."""
    items: Any
    """Its Items."""
    layouts: tuple[Any, Any]
    """Two layouts that constructions overwrite."""
    reference: float
    """The run time of the compiler-like plan, in seconds."""


@dataclass(frozen=True)
class PriorityRecipe(Recipe):
    """Evolution strategies (Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement Learning", 2017).

    Each step perturbs all parameters by Gaussian noise, in pairs of opposite sign. The perturbed networks are ranked by the mean
    logarithm of their plans' run times; the ranks give an estimate of the gradient, along which Adam takes a step.
    """

    programs: int = option(200, "Number of generated programs for training.", low=1, scale="log")
    watched: int = option(40, "Number of further programs, by which the best network is chosen.", low=1, scale="log")
    batch: int = option(8, "Number of programs per step.", low=1, scale="log")
    pairs: int = option(12, "Pairs of perturbations per step.", low=1, scale="log")
    spread: float = option(0.1, "Standard deviation of the perturbations.", above=0, scale="log")
    rate: float = option(0.03, "Adam's learning rate; it falls to a tenth along a cosine.", above=0, scale="log")
    width: int = option(8, "Hidden units of the network.", low=1, scale="log")
    largest: int = option(40, "Number of operations of the largest program.", low=2, scale="log")
    instances: str = folder_option()
    every: int = option(25, "Steps between two evaluations on the watched programs.", low=1, scale="log")

    title: ClassVar[str] = "memory-priority: the greedy's priority by evolution strategies through the simulator"
    step: ClassVar[str] = "one step of the evolution, `batch` programs for each of 2 `pairs` networks"

    def train(self, training: Training) -> None:
        import math

        from corl.learning.algorithms.evolution import set_gradient
        from corl.learning.optimise import new_optimiser, optimiser_step
        from corl.learning.validation import BestWeights
        from corl.solvers.memory.priority.network import PriorityNetwork

        network, best = PriorityNetwork(self.width), BestWeights()
        optimiser = new_optimiser(network, self.rate, decay=0.0)
        training.manage(network=network, best=best, optimiser=optimiser)
        tasks, watched = ([_task(program) for program in part] for part in self._programs(training))
        while training.budget():
            random, logged = training.generator(3, training.step), {}
            if training.step % self.every == 0:
                logged["watched"] = _mean_log(network.weights(), watched)
                best.offer(logged["watched"], network)
            chosen = [tasks[i] for i in random.choice(len(tasks), min(self.batch, len(tasks)), replace=False)]
            gradient, mean = self._gradient(network, chosen, random)
            set_gradient(network, gradient)
            optimiser_step(optimiser, self.rate, training.fraction, last=0.1, clip=math.inf)
            training.log(excess=mean, **logged)
        best.offer(_mean_log(network.weights(), watched), network)
        best.restore(network)
        training.save(network)

    def _programs(self, training: Training) -> tuple[list[Any], list[Any]]:
        """Return the programs for training and the watched programs: from the folder `instances` if it is given, or generated."""
        from corl.learning.source import Source

        if self.instances:
            source = Source(training.problem, seed=training.seed, folder=self.instances)
            return source.instances(0, self.programs), source.validation_instances(self.watched) or source.instances(
                0, self.watched
            )
        return tuple(  # type: ignore[return-value]
            [_generated(training.generator(stream, number), self.largest) for number in range(count)]
            for stream, count in ((1, self.programs), (2, self.watched))
        )

    def _gradient(
        self, network: PriorityNetwork, tasks: list[_Task], random: np.random.Generator
    ) -> tuple[NDArray[np.float64], float]:
        """Return an estimate of the gradient of the expected rank, and the mean of `_mean_log` over the perturbed networks.

        The gradient is float64 [parameters].
        """
        import numpy as np

        from corl.learning.algorithms.evolution import gradient
        from corl.solvers.memory.priority.construct import Weights

        weights = network.weights()
        flat, cut = np.concatenate([part.ravel() for part in weights]), weights.hidden.size
        noise = random.standard_normal((self.pairs, len(flat)))
        values = np.empty((self.pairs, 2))
        for pair in range(self.pairs):
            for side, sign in enumerate((1.0, -1.0)):
                moved = flat + sign * self.spread * noise[pair]
                parts = moved[:cut].reshape(weights.hidden.shape), moved[cut:].reshape(weights.out.shape)
                values[pair, side] = _mean_log(Weights(*parts), tasks)
        return gradient(values, noise, self.spread), float(values.mean())


def _generated(random: np.random.Generator, largest: int) -> Any:
    """Return a generated program of up to about `largest` operations."""
    from corl.problems.memory.generators import mixed

    operations = int(random.integers(min(6, largest), largest + 1))
    return mixed(size=operations, seed=int(random.integers(2**31)))


def _task(instance: Any) -> _Task:
    """Return the task of an instance."""
    from corl.solvers.memory.constructions import by_priority
    from corl.solvers.memory.layout import new_layout, program_of
    from corl.solvers.memory.priority.items import items_of

    program = program_of(instance)
    items = items_of(program)
    return _Task(program, items, (new_layout(program), new_layout(program)), by_priority(program, 0.5, 1.0, True)[0])


def _mean_log(weights: Any, tasks: list[_Task]) -> float:
    """Return the mean logarithm of the run times of a network's plans, relative to those of the compiler-like plans."""
    import math

    from corl.rng import random_state
    from corl.solvers.memory.priority.construct import construct

    random, total = random_state(0), 0.0
    for program, items, (layout, kept), reference in tasks:
        layout.run_count[0] = 0
        total += math.log(construct(program, items, weights, layout, kept, 0.0, random) / reference)
    return total / len(tasks)
