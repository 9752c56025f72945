"""Recipe `any.imitation`: a policy that imitates a solver."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.options import option
from corl.solvers.training.common import PolicyRecipe

if TYPE_CHECKING:
    from corl.learning.episodes import Episodes
    from corl.learning.selfplay import Job
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Policy

__all__ = ["Imitation"]

_PART = 4  # instances whose episodes a worker has completed at once; a batch is cut alike whatever the number of workers


@dataclass(frozen=True)
class Imitation(PolicyRecipe):
    """Cross-entropy on states of a solver's solutions of new instances, which the workers solve while the network trains."""

    teacher: str = option("", "The solver to imitate, one that iterations can limit (corl list solvers); it must be named.")
    teacher_iterations: int = option(10, "The teacher's limit for an instance.", low=1, scale="log")
    completing: bool = option(
        False,
        "Whether the teacher completes episodes that the policy began, up to a random place, instead of solving instances; few "
        "solvers can.",
    )
    start: str = option("", "A checkpoint to go on from; empty: a new network of `width`, `layers` and `heads`.")
    batch: int = option(16, "New instances in every step.", low=1, scale="log")
    states: int = option(8, "Of each solution, those that a step looks at.", low=1)
    value_weight: float = option(0.0, "Weight of the squared error of the value, what the rest of the solution brings.", low=0)
    every: int = option(20, "Steps between two looks at the watched instances.", low=1)

    title: ClassVar[str] = "imitation of a solver's solutions"
    step: ClassVar[str] = "one optimiser step on `states` states of each of `batch` new instances"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.teacher:
            raise UsageError("imitation needs the option teacher, the name of a solver (corl list solvers)")

    def train(self, training: Training) -> None:
        import torch

        from corl.learning import imitation
        from corl.learning.optimise import gradient_step
        from corl.learning.validation import Validation
        from corl.solvers.training.common import begin, check_learned, check_teacher, source_of

        check_teacher(self, training.problem.name)
        self._check_completing(training.problem.name)
        source = source_of(self, training.problem, training.seed)
        network = begin(self, training, source)
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.rate)
        validate = Validation(training, source, self.watch)
        training.manage(network=network, optimiser=optimiser)
        with self._batches(training, source, network) as batches:
            while training.budget():
                seen = validate(network) if training.step % self.every == 0 else {}
                parts = [episodes for episodes in next(batches) if episodes.moves]
                if parts:
                    with training.autocast():
                        loss, terms = imitation.loss(network, imitation.batch_of(parts, network), self.value_weight)
                    gradient_step(optimiser, loss, self.rate, training.fraction)
                    seen = {"loss": loss.item(), **terms, **seen}
                else:
                    check_learned(training, optimiser)
                training.log(**seen)
        check_learned(training, optimiser, over=True)
        training.save(network)

    def _check_completing(self, problem: str) -> None:
        """Raise UsageError where the teacher shall complete and cannot."""
        from corl import registry
        from corl.solver import Solver

        able = [name for name in registry.solvers(problem) if registry.solver(problem, name).complete is not Solver.complete]
        if self.completing and self.teacher not in able:
            raise UsageError(f"teacher is {self.teacher}; accepted with completing: {', '.join(able) or 'none'}")

    @contextlib.contextmanager
    def _batches(self, training: Training, source: Source, network: Policy) -> Iterator[Iterator[list[Episodes]]]:
        """The episodes of each step, in parts: made ahead, or, where they depend on the policy, when they are asked for."""
        from corl.learning.selfplay import Job, weights_of
        from corl.learning.workers import in_turns, stream

        made = _lessons, self, source, type(network), network.config
        if not self.completing:
            with stream(training, *made) as batches:
                yield ([episodes] for episodes in batches)
            return
        cuts = [*range(0, self.batch, _PART), self.batch]

        def asked() -> Iterator[list[Episodes]]:
            while True:
                weights, first = weights_of(network), training.step * self.batch
                yield workers.map([Job(weights, first + a, b - a) for a, b in pairwise(cuts)])

        with in_turns(training, *made) as workers:
            yield asked()


def _lessons(recipe: Imitation, source: Source, network_kind: type[Policy], config: dict[str, Any]) -> Any:
    """What a worker calls: i -> batch i, of instances i * `batch`, ...; or, where the teacher completes, Job -> its episodes."""
    import numpy as np

    from corl.learning.imitation import Teacher, demonstrate
    from corl.learning.selfplay import load_weights

    network = network_kind(**config).eval()
    teacher = Teacher(recipe.teacher, recipe.teacher_iterations, recipe.completing)

    def batch(i: int) -> Any:
        random = np.random.default_rng([source.seed, 2, i])
        instances = source.instances(i * recipe.batch, recipe.batch)
        return demonstrate(network, source.problem, instances, teacher, recipe.states, random)

    def completed(job: Job) -> Any:
        load_weights(network, job.weights)
        random, instances = np.random.default_rng([source.seed, 2, job.first]), source.instances(job.first, job.count)
        return demonstrate(network, source.problem, instances, teacher, recipe.states, random)

    return completed if recipe.completing else batch
