"""Recipe `jobshop.slim`: a policy that imitates the best of its own sampled schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.learning.recipe import Recipe

if TYPE_CHECKING:
    import numpy as np

    from corl.learning.training import Training

__all__ = ["SlimRecipe"]

_CLIP = 1.0  # largest norm of the gradient
_WARM = 0.02  # share of the run in which the learning rate rises
_GROWN = 0.3  # share of the run after which all shapes are drawn alike; before, the larger ones are added one by one
_SAVE_EVERY = 200  # steps


@dataclass(frozen=True)
class SlimRecipe(Recipe):
    """Self-labelling (Corsini et al., NeurIPS 2024): cross-entropy on the best of many sampled schedules, no reward, no critic.

    Every step draws new instances of one shape by Taillard's scheme. Sampling runs in kernels; torch sees the best schedule
    alone. The paper's steps are smaller (2e-5) and its samples more (256), for days on a GPU.
    """

    shapes: str = "6x6,8x8,10x10,15x10,15x15,20x10,20x15"
    """Jobs x machines of the instances, small ones first."""
    samples: int = 32
    """Schedules of an instance, from 2."""
    batch: int = 400
    """Operations in a step, in whole instances (one at least)."""
    rate: float = 1.5e-3
    """The largest learning rate, above 0, of Adam; it rises over 2 % of the run and falls to 0 as a cosine."""

    title: ClassVar[str] = "jobshop-slim: imitation of the best of its own samples"
    step: ClassVar[str] = "one optimiser step on instances of about `batch` operations"

    def __post_init__(self) -> None:
        self.sizes()
        for name, least in (("samples", 2), ("batch", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} is {getattr(self, name)}; accepted: an integer from {least}")
        if not self.rate > 0.0:
            raise UsageError(f"rate is {self.rate}; accepted: a number above 0")

    def sizes(self) -> list[tuple[int, int]]:
        """`shapes` as numbers. Raises UsageError."""
        found = []
        for part in self.shapes.split(","):
            jobs, _, machines = part.strip().partition("x")
            if not (jobs.isdecimal() and machines.isdecimal() and int(jobs) > 0 and int(machines) > 0):
                raise UsageError(f"shapes has {part.strip()!r}; accepted: JOBSxMACHINES, separated by commas")
            found.append((int(jobs), int(machines)))
        return found

    def train(self, training: Training) -> None:
        import torch

        from corl.learning.schedule import warm_cosine
        from corl.solvers.jobshop.slim.lessons import lesson, loss_of
        from corl.solvers.jobshop.slim.network import SlimNetwork
        from corl.solvers.jobshop.slim.weights import weights_of

        network = SlimNetwork(training.problem.name).to(training.device)
        optimiser, random = torch.optim.Adam(network.parameters(), lr=self.rate), training.generator(1)
        training.manage(network=network, optimiser=optimiser, random=random)
        while training.budget():
            jobs, machines = self._shape(training.fraction, random)
            weights, count = weights_of(network), max(1, self.batch // (jobs * machines))
            seeds = [int(seed) for seed in random.integers(2**31, size=count)]
            lessons = [lesson(jobs, machines, weights, self.samples, seed) for seed in seeds]
            for group in optimiser.param_groups:
                group["lr"] = self.rate * warm_cosine(training.fraction, _WARM)
            loss = loss_of(network, lessons)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
            optimiser.step()
            above = sum(one.mean / one.best for one in lessons) / count - 1.0
            best = sum(one.best for one in lessons) / count
            training.log(loss=loss.item(), spread=above, **{f"best_{jobs}x{machines}": best})
            if training.step % _SAVE_EVERY == 0:
                training.save(network)
        training.save(network.eval())

    def _shape(self, fraction: float, random: np.random.Generator) -> tuple[int, int]:
        """A shape at random: of the first one or two at first, of all from the share _GROWN of the run on."""
        sizes = self.sizes()
        allowed = min(len(sizes), 2 + int(fraction / _GROWN * (len(sizes) - 1)))
        return sizes[int(random.integers(allowed))]
