"""Recipe `any.self-improvement`: a policy that imitates the best of its own samples."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.options import option
from corl.solvers.training.common import PolicyRecipe

if TYPE_CHECKING:
    from corl.learning.replay import Replay
    from corl.learning.self_improvement import Lessons
    from corl.learning.selfplay import Job
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Policy
    from corl.processes.workers import Workers

__all__ = ["SelfImprovement"]

_PART = 16  # instances that a worker samples at once; a generation is cut alike whatever the number of workers


@dataclass(frozen=True)
class SelfImprovement(PolicyRecipe):
    """A generation is `episodes` new instances, each sampled `samples` * `rounds` times; the best solutions join a replay, from
    which the `updates` optimiser steps draw that follow.

    Without replacement after Pirnay & Grimm (TMLR 2024); independent samples are the self-labelling of Corsini et al.
    (NeurIPS 2024).
    """

    start: str = option("", "A checkpoint to go on from; empty: a new network of `width`, `layers` and `heads`.")
    episodes: int = option(64, "New instances of a generation.", low=1, scale="log")
    sampling: Literal["without-replacement", "independent"] = option("without-replacement", "How the samples are drawn.")
    samples: int = option(16, "Of a round for each instance.", low=2, scale="log")
    rounds: int = option(1, "Of sampling in a generation.", low=1)
    updates: int = option(16, "Optimiser steps from one generation to the next.", low=1, scale="log")
    batch: int = option(256, "States that an optimiser step looks at.", low=1, scale="log")
    replay: int = option(10_000, "The latest states kept, at least those of one generation.", low=1, scale="log")
    whole: bool = option(
        False, "Whether a step looks at whole episodes, about `batch` states: a network that encodes an instance does it once."
    )

    title: ClassVar[str] = "self-improvement: imitates the best of its own samples"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of samples before it"

    def train(self, training: Training) -> None:

        from corl.learning import imitation
        from corl.learning.optimise import gradient_step, new_optimiser
        from corl.learning.replay import Replay
        from corl.learning.validation import Validation
        from corl.learning.workers import in_turns
        from corl.solvers.training.common import begin, check_learned, source_of

        source = source_of(self, training.problem, training.seed)
        network = begin(self, training, source)
        optimiser = new_optimiser(network, self.rate)
        replay, validate = Replay(self.replay), Validation(source, self.watch)
        training.manage(network=network, optimiser=optimiser, replay=replay)
        with in_turns(training, _sampler, self, source, type(network), network.config) as workers:
            while training.budget():
                seen = {}
                if training.step % self.updates == 0:
                    best, mean = self._generation(workers, network, training.step // self.updates, replay)
                    sign = 1.0 if training.problem.sense == "max" else -1.0
                    seen = {"best": sign * best, "mean": sign * mean, **validate(network)}
                if replay.size:
                    draw = replay.sample_episodes if self.whole else replay.sample
                    at = draw(training.generator(2, training.step), self.batch)
                    with training.autocast():
                        loss, _ = imitation.loss(network, imitation.draw(replay, at, network))
                    gradient_step(optimiser, loss, self.rate, training.fraction)
                    seen["loss"] = loss.item()
                else:
                    check_learned(training, optimiser)
                training.log(**seen)
        check_learned(training, optimiser, over=True)
        training.save(network)

    def _generation(self, workers: Workers, network: Policy, number: int, replay: Replay) -> tuple[float, float]:
        """Sample, and put the best into the replay; returns the mean objectives of the best and of all samples."""
        import numpy as np

        from corl.learning.selfplay import Job, weights_of

        weights, cuts = weights_of(network), [*range(0, self.episodes, _PART), self.episodes]
        jobs = [Job(weights, number * self.episodes + a, b - a) for a, b in pairwise(cuts)]
        parts: list[Lessons] = workers.map(jobs)
        for part in parts:  # instances without a choice bring none
            replay.add(part.episodes)
        return tuple(float(np.concatenate([part[i] for part in parts]).mean()) for i in (1, 2))  # type: ignore[return-value]


def _sampler(recipe: SelfImprovement, source: Source, network_kind: type[Policy], config: dict[str, Any]) -> Any:
    """What a worker calls, Job -> Lessons."""
    from corl.decoding import Decoder, Sampling, WithoutReplacement
    from corl.learning.self_improvement import improve
    from corl.learning.selfplay import load_weights

    network, independent = network_kind(**config).eval(), recipe.sampling == "independent"
    samples = recipe.samples * recipe.rounds
    decoder: Decoder = Sampling(samples) if independent else WithoutReplacement(recipe.samples, recipe.rounds)

    def sample(job: Job) -> Lessons:
        load_weights(network, job.weights)
        return improve(source, network, job.first, job.count, decoder, job.count * (samples if independent else recipe.samples))

    return sample
