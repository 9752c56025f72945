"""Self-improvement, the recipe `any.self-improvement`: sample solutions, keep the best of each instance, imitate them.

Pirnay & Grimm, Self-improvement for neural combinatorial optimization: sample without replacement, but improve (TMLR 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from corl.learning.loop import Loop, PolicyRecipe
from corl.options import option

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from corl.decoding import Decoder
    from corl.learning.algorithms.imitation import Batch
    from corl.learning.episodes import Episodes
    from corl.learning.replay import Replay
    from corl.learning.selfplay import Job
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import NetworkPolicy
    from corl.processes.workers import Workers

__all__ = ["BestSamples", "SelfImprovement", "improve"]

_PART = 16  # instances that a worker samples at once, whatever the number of workers, on which results must not depend
_ALL_STATES = 2**31  # an upper limit of the states of a solution; unlike None it makes `follow` skip states without a choice


@dataclass(frozen=True)
class SelfImprovement(PolicyRecipe):
    """Self-improvement: imitation of the best of the policy's own samples.

    A generation is `episodes` new instances, each sampled `samples` * `rounds` times. The best solution of each is added to a
    replay, and `updates` optimiser steps on states of the replay follow. With sampling without replacement, this is the method
    of Pirnay & Grimm (TMLR 2024); with independent samples, the self-labelling of Corsini et al. (NeurIPS 2024).
    """

    start: str = option("", "A checkpoint to continue from; empty: a new network of `width`, `layers` and `heads`.")
    episodes: int = option(64, "New instances per generation.", low=1, scale="log")
    sampling: Literal["without-replacement", "independent"] = option("without-replacement", "How the samples are drawn.")
    samples: int = option(16, "Samples per instance and round.", low=2, scale="log")
    rounds: int = option(1, "Rounds of sampling per generation.", low=1)
    updates: int = option(16, "Optimiser steps from one generation to the next.", low=1, scale="log")
    batch: int = option(256, "States per optimiser step.", low=1, scale="log")
    replay: int = option(
        10_000, "Capacity of the replay, which keeps the latest states; those of one generation must fit.", low=1, scale="log"
    )
    whole: bool = option(
        False, "Whether a step uses whole episodes, about `batch` states in all, so that each instance is encoded only once."
    )

    title: ClassVar[str] = "self-improvement: imitates the best of its own samples"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of samples before it"

    def train(self, training: Training) -> None:
        from corl.learning.algorithms import imitation
        from corl.learning.replay import Replay
        from corl.learning.workers import in_turns

        loop, replay = Loop(self, training), Replay(self.replay)
        network, draw = loop.network, replay.sample_episodes if self.whole else replay.sample
        loop.manage(replay=replay)

        def states() -> tuple[Batch | None, dict[str, float]]:
            curves = {}
            if training.step % self.updates == 0:
                best, mean = self._generation(workers, network, training.step // self.updates, replay)
                sign = 1.0 if training.problem.sense == "max" else -1.0
                curves = {"best": sign * best, "mean": sign * mean, **loop.validate()}
            if not replay.size:
                return None, curves
            return imitation.draw(replay, draw(training.generator(2, training.step), self.batch), network), curves

        def loss(batch: Batch) -> tuple[Tensor, dict[str, float]]:
            return imitation.loss(network, batch)[0], {}

        with in_turns(training, _sampler, self, loop.source, type(network), network.config) as workers:
            loop.run(states, loop.minimise(loss))

    def _generation(self, workers: Workers, network: NetworkPolicy, number: int, replay: Replay) -> tuple[float, float]:
        """Sample, add the best episodes to the replay, and return the mean objective values of the best and of all samples."""
        import numpy as np

        from corl.learning.selfplay import Job, weights_of

        weights, cuts = weights_of(network), [*range(0, self.episodes, _PART), self.episodes]
        jobs = [Job(weights, number * self.episodes + begin, end - begin) for begin, end in pairwise(cuts)]
        parts: list[BestSamples] = workers.map(jobs)
        for part in parts:
            replay.add(part.episodes)
        return tuple(float(np.concatenate([part[i] for part in parts]).mean()) for i in (1, 2))  # type: ignore[return-value]


def _sampler(
    recipe: SelfImprovement, source: Source, network_kind: type[NetworkPolicy], config: dict[str, Any]
) -> Callable[[Job], BestSamples]:
    """Return the function of a worker: from a job to the best samples of its instances."""
    from corl.decoding import Sampling, WithoutReplacement
    from corl.learning.selfplay import load_weights

    network, independent = network_kind(**config).eval(), recipe.sampling == "independent"
    samples = recipe.samples * recipe.rounds
    decoder: Decoder = Sampling(samples) if independent else WithoutReplacement(recipe.samples, recipe.rounds)

    def sample(job: Job) -> BestSamples:
        load_weights(network, job.weights)
        return improve(source, network, job.first, job.count, decoder, job.count * (samples if independent else recipe.samples))

    return sample


class BestSamples(NamedTuple):
    """The best samples of E instances."""

    episodes: Episodes
    """The episodes that lead to the best solutions."""
    best: NDArray[np.float64]
    """[E] the best objective value of each instance; the negative if the problem is minimised."""
    mean: NDArray[np.float64]
    """[E] the mean objective value of each instance's samples; the negative if the problem is minimised."""


def improve(source: Source, network: NetworkPolicy, first: int, count: int, sampling: Decoder, rows: int) -> BestSamples:
    """Sample solutions of the `count` instances from number `first` on, and return the best of each.

    Args:
        source: The source of instances.
        network: The policy.
        first: The number of the first instance.
        count: The number of instances.
        sampling: A decoder that samples.
        rows: The number of states that the environment of the sampling can hold at once.
    """
    import numpy as np

    from corl.decoding import CountedEvaluator, decode
    from corl.learning.demonstrations import follow

    problem, instances = source.problem, source.instances(first, count)
    evaluator = CountedEvaluator(problem.environment(instances, rows, name=network.environment), network)
    seed = int(np.random.SeedSequence([source.seed, 3, first]).generate_state(1)[0])
    found = decode(sampling, evaluator, range(count), seed=seed)
    best, total = found.best(count), np.array(found.total)
    mean = np.bincount(found.entry, total) / np.bincount(found.entry, minlength=count)
    random, plans = np.random.default_rng([source.seed, 4, first]), [found.actions[i] for i in best]
    episodes = follow(network, problem, instances, plans, np.zeros(count, np.uint64), _ALL_STATES, random)
    return BestSamples(episodes, total[best], mean)
