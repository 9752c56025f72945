"""Recipe `tsp.bq`: a policy that imitates optimal tours of symmetric instances, then optimal ends of its own tours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.learning.recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor

    from corl.learning.training import Training
    from corl.networks.policy import Policy
    from corl.solvers.tsp.training.suffixes import States

__all__ = ["BqRecipe", "losses"]

_CLIP = 1.0  # largest norm of the gradient
_WARM = 0.03  # share of the run in which the learning rate rises
_TOGETHER = 16  # own tours that are built at once
_STOPS = 3  # times that each of them is completed
_VALUE_WEIGHT = 0.1


@dataclass(frozen=True)
class BqRecipe(Recipe):
    """Cross-entropy on the next city (Drakulic et al., NeurIPS 2023) and the squared error of the remaining length.

    New instances are solved while the network trains; their states are drawn again and again from then on.
    """

    smallest: int = 50
    """Fewest cities of an instance, at least 12."""
    largest: int = 200
    """Most cities of an instance; sizes between are drawn on a logarithmic scale."""
    tours: int = 256
    """Tours before the first step, at least 1; later one more every `every` steps."""
    every: int = 1
    """Steps from one new tour, or one own path, to the next, at least 1."""
    own_from: float = 0.05
    """Share of the run, 0..1, from which on the new paths are the policy's own beginnings, completed."""
    own: float = 0.7
    """Share of the states that are drawn from those, 0..1."""
    batch: int = 64
    """States in a step, at least 2."""
    width: int = 64
    """Numbers that the network keeps for each token, a multiple of heads."""
    layers: int = 3
    """At least 1."""
    heads: int = 4
    """At least 1."""
    rate: float = 2e-3
    """The largest learning rate, above 0; it rises over 3 % of the run and falls to 0 as a cosine."""

    title: ClassVar[str] = "tsp-bq: imitation of eax on the nearest cities of what remains, with own beginnings"
    step: ClassVar[str] = "one optimiser step on `batch` states"

    def __post_init__(self) -> None:
        if not 12 <= self.smallest <= self.largest:
            raise UsageError(f"sizes are {self.smallest} to {self.largest}; accepted: from 12, in rising order")
        for name, least in (("tours", 1), ("every", 1), ("batch", 2), ("layers", 1), ("heads", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} is {getattr(self, name)}; accepted: an integer from {least}")
        for name in ("own", "own_from"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise UsageError(f"{name} is {getattr(self, name)}; accepted: 0 to 1")
        if self.width < 1 or self.width % self.heads:
            raise UsageError(f"width is {self.width}; accepted: a multiple of heads, {self.heads}")
        if not self.rate > 0.0:
            raise UsageError(f"rate is {self.rate}; accepted: a number above 0")

    def train(self, training: Training) -> None:
        import torch

        from corl.learning.schedule import warm_cosine
        from corl.networks.attention import AttentionPolicy
        from corl.problems.tsp.environment import SURROUNDINGS
        from corl.problems.tsp.features import PAIRS, SHOWN, TOKENS
        from corl.solvers.tsp.training.lessons import Lessons

        around = 32 + SURROUNDINGS - SHOWN  # as many cities as the environment shows, in fewer slots
        network = AttentionPolicy(
            "tsp", "plane", TOKENS, PAIRS, width=self.width, layers=self.layers, heads=self.heads, feedforward=2 * self.width
        ).to(training.device)
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.rate, weight_decay=0.01)
        lessons = Lessons(self.smallest, self.largest, training.generator(1))
        training.manage(network=network, optimiser=optimiser, lessons=lessons)
        if not len(lessons.size):
            lessons.add_tours(self.tours)
        while training.budget():
            self._teach(training, lessons, network)
            for group in optimiser.param_groups:
                group["lr"] = self.rate * warm_cosine(training.fraction, _WARM)
            chosen, value, right = losses(network, lessons.draw(self.batch, self.own, SHOWN, around))
            loss = chosen + _VALUE_WEIGHT * value
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
            optimiser.step()
            if training.step % 20 == 0:
                training.log(loss=chosen.item(), value_loss=value.item(), right=right.item(), paths=len(lessons.size))
        training.save(network.eval())

    def _teach(self, training: Training, lessons: object, network: Policy) -> None:
        """One more lesson where it is due."""
        from corl.solvers.tsp.training.lessons import Lessons

        assert isinstance(lessons, Lessons)
        if training.fraction < self.own_from:
            if training.step % self.every == 0:
                lessons.add_tours(1)
        elif training.step % (self.every * _TOGETHER * _STOPS) == 0:
            lessons.add_own(network, _TOGETHER, _STOPS)


def losses(network: Policy, states: States) -> tuple[Tensor, Tensor, Tensor]:
    """Cross-entropy of the next city, squared error of the value in units of `Tokens.scale`, and how often the most likely
    city is the right one; means over states (the first and the last over those whose next city has a slot)."""
    import torch
    from torch.nn import functional

    tokens = network.tokens(states.observation)
    device = next(network.parameters()).device
    logits, value = network(*network.tensors(tokens))
    wanted = torch.from_numpy(states.slot).to(device)
    length = torch.from_numpy(states.length / tokens.scale).to(device, torch.float32)
    there = wanted >= 0
    chosen = functional.cross_entropy(logits[there], wanted[there])
    return chosen, (value + length).square().mean(), (logits[there].argmax(1) == wanted[there]).float().mean()
