"""Recipe `any.self-improvement`: a policy that imitates the best of its own samples."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.learning.recipe import Recipe

if TYPE_CHECKING:
    from corl.learning.replay import Replay
    from corl.learning.self_improvement import Lessons
    from corl.learning.selfplay import Job
    from corl.learning.training import Training
    from corl.learning.workers import Workers
    from corl.networks.policy import Policy

__all__ = ["SelfImprovement"]

_PART = 16  # instances that a worker samples at once; a generation is cut alike whatever the number of workers


@dataclass(frozen=True)
class SelfImprovement(Recipe):
    """Pirnay & Grimm (2024): a generation is `instances` new instances, each sampled `width` * `rounds` times without
    replacement; the best solutions join a replay, from which the `updates` optimiser steps draw that follow.
    """

    generator: str = ""
    """Which of the problem's generators makes the instances; "" for its first."""
    size: int = 20
    """Its option of that name, at least 1."""
    features: str = ""
    """Which of the problem's features the network sees; "" for the first."""
    start: str = ""
    """A checkpoint to go on from; "": a new network of the sizes below."""
    instances: int = 64
    """Of a generation, at least 1."""
    samples: int = 16
    """Of a round for each instance, at least 2."""
    rounds: int = 1
    """Of sampling, at least 1."""
    updates: int = 16
    """Optimiser steps from one generation to the next, at least 1."""
    batch: int = 256
    """States that an optimiser step looks at, at least 1."""
    replay: int = 10_000
    """The latest states kept, at least those of one generation."""
    width: int = 64
    """Of the network's hidden vectors, a multiple of `heads`."""
    layers: int = 2
    """Of the network, at least 1."""
    heads: int = 4
    """Of its attention, at least 1."""
    rate: float = 1e-3
    """Learning rate at first, above 0; it falls to 0 as a cosine."""
    watch: int = 64
    """Instances never trained on that the likeliest actions solve after every generation, for the curve "greedy"; 0 for
    none."""

    title: ClassVar[str] = "self-improvement: imitates the best of its own samples without replacement"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of samples before it"

    def __post_init__(self) -> None:
        from corl.solvers.training.common import at_least, positive

        at_least(self, ("size", "instances", "rounds", "updates", "batch", "replay", "width", "layers", "heads"), 1)
        at_least(self, ("watch",), 0)
        positive(self, ("rate",))
        if self.samples < 2:
            raise UsageError(f"samples is {self.samples}; accepted: an integer from 2")

    def train(self, training: Training) -> None:
        import torch

        from corl.learning import imitation
        from corl.learning.replay import Replay
        from corl.learning.selfplay import Source
        from corl.learning.watch import Watch, descend
        from corl.learning.workers import Workers
        from corl.solvers.training.common import begin

        source = Source(training.problem, self.generator, {"size": self.size}, training.seed)
        network = begin(self, training, source)
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.rate)
        replay, watch = Replay(self.replay), Watch(training, source, self.watch)
        training.manage(network=network, optimiser=optimiser, replay=replay)
        count = training.workers if training.workers > 1 else 0
        task = (self, training.problem.name, training.seed, network.architecture, network.config)
        with Workers(count, _sampler, *task, executor=training.executor) as workers:
            while training.budget():
                seen = {}
                if training.step % self.updates == 0:
                    best, mean = self._generation(workers, network, training.step // self.updates, replay)
                    sign = 1.0 if training.problem.sense == "max" else -1.0
                    seen = {"best": sign * best, "mean": sign * mean, **watch(None, network)}
                if replay.size:
                    at = replay.sample(training.generator(2, training.step), self.batch)
                    with training.autocast():
                        loss = imitation.loss(network, {name: array[at] for name, array in replay.fields.items()})
                    descend(optimiser, loss, self.rate, training.fraction)
                    seen["loss"] = loss.item()
                training.log(**seen)
        if not optimiser.state:
            raise UsageError("no state of the samples had two actions: nothing to learn; accepted: instances that leave a choice")
        training.save(network)

    def _generation(self, workers: Workers, network: Policy, number: int, replay: Replay) -> tuple[float, float]:
        """Sample, and put the best into the replay; returns the mean objectives of the best and of all samples."""
        import numpy as np

        from corl.learning.selfplay import Job

        weights = {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}
        cuts = [*range(0, self.instances, _PART), self.instances]
        jobs = [Job(weights, number * self.instances + a, b - a) for a, b in pairwise(cuts)]
        parts: list[Lessons] = workers.map(jobs)
        for part in (one for one in parts if one.moves):  # instances without a choice bring none
            replay.add(part.moves, np.ones(len(part.moves["slot"]), np.int64))
        return tuple(float(np.concatenate([part[i] for part in parts]).mean()) for i in (1, 2))  # type: ignore[return-value]


def _sampler(recipe: SelfImprovement, name: str, seed: int, architecture: str, config: dict[str, Any]) -> Any:
    """A worker's maker: a Job -> Lessons."""
    from corl import registry
    from corl.learning.self_improvement import improve
    from corl.learning.selfplay import Source, load_weights
    from corl.search.decoding import WithoutReplacement

    source = Source(registry.problem(name), recipe.generator, {"size": recipe.size}, seed)
    network = registry.architecture(architecture)(**config).eval()

    def sample(job: Job) -> Lessons:
        load_weights(network, job.weights)
        return improve(source, network, job.first, job.count, WithoutReplacement(recipe.samples, recipe.rounds))

    return sample
