"""Recipe `memory.priority`: evolution strategies through the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from corl.errors import UsageError
from corl.learning.recipe import Recipe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.learning.training import Training
    from corl.solvers.memory.mapping.priority.network import PriorityNetwork

__all__ = ["PriorityRecipe"]


class _Task(NamedTuple):
    """A program and what its seconds are measured by: those of the compiler-like plan."""

    program: Any
    items: Any
    memory: tuple[NDArray[np.float64], NDArray[np.bool_]]
    """No bias, and which items were placed."""
    layouts: tuple[Any, Any]
    reference: float


@dataclass(frozen=True)
class PriorityRecipe(Recipe):
    """Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement Learning" (2017): Gaussian changes of all
    parameters in opposite pairs, ranks of the mean logarithms of the seconds, Adam along the gradient that these estimate.
    """

    programs: int = 200
    """Generated programs to learn from, at least 1."""
    watched: int = 40
    """Others, on which the network that is kept is chosen, at least 1."""
    batch: int = 8
    """Programs of a step, at least 1."""
    pairs: int = 12
    """Pairs of changes that a step tries, at least 1."""
    spread: float = 0.1
    """Standard deviation of the changes, above 0."""
    rate: float = 0.03
    """Adam's learning rate, above 0; it falls to a tenth as a cosine."""
    width: int = 8
    """Hidden units of the network, at least 1."""
    largest: int = 40
    """Operations of the largest program, at least 2."""
    every: int = 25
    """Steps between two looks at the watched programs, at least 1."""

    title: ClassVar[str] = "memory-priority: the greedy's priority by evolution strategies through the simulator"
    step: ClassVar[str] = "one step of the evolution, `batch` programs for each of 2 `pairs` networks"

    def __post_init__(self) -> None:
        for name in ("programs", "watched", "batch", "pairs", "width", "every"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; accepted: an integer from 1")
        if self.largest < 2:
            raise UsageError(f"largest is {self.largest}; accepted: an integer from 2")
        for name in ("spread", "rate"):
            if not 0.0 < getattr(self, name) < float("inf"):
                raise UsageError(f"{name} is {getattr(self, name)}; accepted: a number above 0")

    def train(self, training: Training) -> None:
        import math

        import torch

        from corl.solvers.memory.mapping.priority.network import PriorityNetwork

        network, kept = PriorityNetwork(self.width), PriorityNetwork(self.width)
        kept.load_state_dict(network.state_dict())
        optimiser, record = torch.optim.Adam(network.parameters(), lr=self.rate), _Record()
        training.manage(network=network, kept=kept, optimiser=optimiser, record=record)
        tasks = [_task(training.generator(1, number), self.largest) for number in range(self.programs)]
        watched = [_task(training.generator(2, number), self.largest) for number in range(self.watched)]
        while training.budget():
            random, seen = training.generator(3, training.step), {}
            if training.step % self.every == 0:
                seen["watched"] = _mean_log(network.weights(), watched)
                if seen["watched"] < record.best:
                    record.best = seen["watched"]
                    kept.load_state_dict(network.state_dict())
            chosen = [tasks[i] for i in random.choice(len(tasks), min(self.batch, len(tasks)), replace=False)]
            gradient, mean = self._gradient(network, chosen, random)
            at = 0
            for parameter in network.parameters():
                part = gradient[at : at + parameter.numel()]
                parameter.grad = torch.from_numpy(part).reshape(parameter.shape).to(parameter.dtype)
                at += parameter.numel()
            for group in optimiser.param_groups:
                group["lr"] = self.rate * (0.55 + 0.45 * math.cos(math.pi * training.fraction))
            optimiser.step()
            training.log(excess=mean, **seen)
        if _mean_log(network.weights(), watched) < record.best:
            kept.load_state_dict(network.state_dict())
        training.save(kept)

    def _gradient(
        self, network: PriorityNetwork, tasks: list[_Task], random: np.random.Generator
    ) -> tuple[NDArray[np.float64], float]:
        """An estimate of the gradient of the expected rank with respect to all parameters, and the networks' mean."""
        import numpy as np

        from corl.solvers.memory.mapping.priority.construct import Weights

        weights = network.weights()
        flat, cut = np.concatenate([part.ravel() for part in weights]), weights.hidden.size
        noise = random.standard_normal((self.pairs, len(flat)))
        found = np.empty((self.pairs, 2))
        for pair in range(self.pairs):
            for side, sign in enumerate((1.0, -1.0)):
                moved = flat + sign * self.spread * noise[pair]
                parts = moved[:cut].reshape(weights.hidden.shape), moved[cut:].reshape(weights.out.shape)
                found[pair, side] = _mean_log(Weights(*parts), tasks)
        ranks = found.ravel().argsort().argsort().reshape(found.shape) / (found.size - 1.0) - 0.5
        return (ranks[:, 0] - ranks[:, 1]) @ noise / (self.pairs * self.spread), float(found.mean())


class _Record:
    """The least mean on the watched programs so far."""

    def __init__(self) -> None:
        self.best = float("inf")

    def state_dict(self) -> dict[str, float]:
        return {"best": self.best}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.best = state["best"]


def _task(random: np.random.Generator, largest: int) -> _Task:
    import numpy as np

    from corl.problems.memory.mapping.generators import mixed
    from corl.solvers.memory.mapping.constructions import by_priority
    from corl.solvers.memory.mapping.layout import new_layout, program_of
    from corl.solvers.memory.mapping.priority.items import items_of

    operations = int(random.integers(min(6, largest), largest + 1))
    program = program_of(mixed(size=operations, seed=int(random.integers(2**31))))
    items = items_of(program)
    memory = np.zeros(len(items.tensor)), np.zeros(len(items.tensor), np.bool_)
    return _Task(program, items, memory, (new_layout(program), new_layout(program)), by_priority(program, 0.5, 1.0, True)[0])


def _mean_log(weights: Any, tasks: list[_Task]) -> float:
    """The mean logarithm of how long the programs take, by the compiler-like plans' times."""
    import math

    from corl.rng import random_state
    from corl.solvers.memory.mapping.priority.construct import construct

    random, total = random_state(0), 0.0
    for program, items, (bias, placed), (layout, kept), reference in tasks:
        layout.filled[0] = 0
        total += math.log(construct(program, items, weights, bias, layout, kept, placed, 0.0, random) / reference)
    return total / len(tasks)
