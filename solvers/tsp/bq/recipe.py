"""Recipe `tsp.bq`: a policy that imitates optimal tours of symmetric instances, then optimal ends of its own tours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.learning.source import Source, folder_option
from corl.options import option
from corl.recipe import Recipe

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from corl.learning.session import Training
    from corl.networks.policy import Policy
    from corl.problems.tsp.instance import TspInstance
    from corl.solvers.tsp.bq.lessons import Instances
    from corl.solvers.tsp.bq.subpaths import States

__all__ = ["BqRecipe", "losses"]

_WARM = 0.03  # share of the run in which the learning rate rises
_TOGETHER = 16  # own tours that are built at once
_STOPS = 3  # times that each of them is completed
_VALUE_WEIGHT = 0.1


@dataclass(frozen=True)
class BqRecipe(Recipe):
    """Cross-entropy on the next city (Drakulic et al., NeurIPS 2023) and the squared error of the remaining length.

    New instances are solved while the network trains; their states are drawn again and again from then on.
    """

    smallest: int = option(50, "Fewest cities of an instance.", low=12, scale="log")
    largest: int = option(200, "Most cities of an instance; sizes between are drawn on a logarithmic scale.", low=12, scale="log")
    instances: str = folder_option()
    tours: int = option(256, "Tours before the first step; later one more every `every` steps.", low=1, scale="log")
    every: int = option(1, "Steps from one new tour, or one own path, to the next.", low=1, scale="log")
    own_from: float = option(
        0.05, "Share of the run from which on the new paths are the policy's own beginnings, completed.", low=0, high=1
    )
    own: float = option(0.7, "Share of the states that are drawn from those.", low=0, high=1)
    batch: int = option(64, "States in a step.", low=2, scale="log")
    width: int = option(64, "Numbers that the network keeps for each token, a multiple of `heads`.", low=1, scale="log")
    layers: int = option(3, "Rounds of attention.", low=1)
    heads: int = option(4, "Heads of each.", low=1)
    rate: float = option(
        2e-3, "The largest learning rate; it rises over 3 % of the run and falls to 0 as a cosine.", above=0, scale="log"
    )

    title: ClassVar[str] = "tsp-bq: imitation of eax on the nearest cities of what remains, with own beginnings"
    step: ClassVar[str] = "one optimiser step on `batch` states"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smallest > self.largest:
            raise UsageError(f"option smallest: {self.smallest} is not accepted; it takes one up to largest, {self.largest}")
        if self.width % self.heads:
            raise UsageError(f"option width: {self.width} is not accepted; it takes a multiple of heads, {self.heads}")

    def train(self, training: Training) -> None:
        import torch

        from corl.learning.optimise import gradient_step
        from corl.networks.attention import AttentionPolicy
        from corl.problems.tsp.environment import SURROUNDINGS
        from corl.problems.tsp.features import PAIRS, SHOWN, TOKENS
        from corl.solvers.tsp.bq.lessons import Lessons

        around = 32 + SURROUNDINGS - SHOWN  # as many cities as the environment shows, in fewer slots
        network = AttentionPolicy(
            "tsp", "plane", TOKENS, PAIRS, width=self.width, layers=self.layers, heads=self.heads, feedforward=2 * self.width
        ).to(training.device)
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.rate, weight_decay=0.01)
        lessons = Lessons(self._instances(training), training.generator(1))
        training.manage(network=network, optimiser=optimiser, lessons=lessons)
        if not len(lessons.size):
            lessons.add_tours(self.tours)
        while training.budget():
            self._teach(training, lessons, network)
            chosen, value, right = losses(network, lessons.draw(self.batch, self.own, SHOWN, around))
            loss = chosen + _VALUE_WEIGHT * value
            gradient_step(optimiser, loss, self.rate, training.fraction, warm=_WARM)
            if training.step % 20 == 0:
                training.log(loss=chosen.item(), value_loss=value.item(), right=right.item(), paths=len(lessons.size))
        training.save(network.eval())

    def _instances(self, training: Training) -> Instances:
        """A function (how many, random) of new instances."""
        from corl.solvers.tsp.bq.lessons import generated
        from corl.solvers.tsp.lessons import in_the_plane

        source = Source(training.problem, seed=training.seed, folder=self.instances)

        def drawn(count: int, random: np.random.Generator) -> list[TspInstance]:
            return [in_the_plane(each) for each in source.instances(int(random.integers(2**30)), count)]

        return drawn if self.instances else partial(generated, self.smallest, self.largest)

    def _teach(self, training: Training, lessons: object, network: Policy) -> None:
        """One more lesson where it is due."""
        from corl.solvers.tsp.bq.lessons import Lessons

        assert isinstance(lessons, Lessons)
        if training.fraction < self.own_from:
            if training.step % self.every == 0:
                lessons.add_tours(1)
        elif training.step % (self.every * _TOGETHER * _STOPS) == 0:
            lessons.add_own(network, _TOGETHER, _STOPS)


def losses(network: Policy, states: States) -> tuple[Tensor, Tensor, Tensor]:
    """Cross-entropy of the next city, squared error of the value in units of `Tokens.scale`, and how often the most likely
    city is the right one; means over states (the first and the last over those whose next city has a slot)."""
    import numpy as np
    import torch
    from torch.nn import functional

    tokens = network.tokens(states.observation)
    device = next(network.parameters()).device
    logits, value = network(network.collate([], [tokens.arrays()], np.zeros(0, np.int64)))
    wanted = torch.from_numpy(states.slot).to(device)
    length = torch.from_numpy(states.length / tokens.scale).to(device, torch.float32)
    there = wanted >= 0
    chosen = functional.cross_entropy(logits[there], wanted[there])
    return chosen, (value + length).square().mean(), (logits[there].argmax(1) == wanted[there]).float().mean()
