"""Recipe `any.imitation`: a policy that imitates a solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.options import option
from corl.solvers.training.common import PolicyRecipe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from corl.learning.episodes import Episodes
    from corl.learning.selfplay import Job
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Policy
    from corl.processes.workers import Workers

__all__ = ["Imitation"]

_BLOCK = 4  # lessons that come into the store together, each of `batch` instances


@dataclass(frozen=True)
class Imitation(PolicyRecipe):
    """Cross-entropy on states of a solver's solutions of new instances, which the workers solve while the network trains.

    The store has states of `uses` * 4 * `batch` solutions; each round passes over it once, in random order, then a quarter (with
    `uses` = 4) gives way to new ones. Where the teacher completes what the policy began, the policy is the one that it was when
    the round before began: one to two rounds old, a round being `uses` * 4 steps.
    """

    teacher: str = option("", "The solver to imitate, one that iterations can limit (corl list solvers); it must be named.")
    teacher_iterations: int = option(10, "The teacher's limit for an instance.", low=1, scale="log")
    completing: bool = option(
        False,
        "Whether the teacher completes episodes that the policy began, up to a random place, instead of solving instances; few "
        "solvers can.",
    )
    start: str = option("", "A checkpoint to go on from; empty: a new network of `width`, `layers` and `heads`.")
    batch: int = option(16, "New instances of a lesson; a step looks at `batch` * `states` states.", low=1, scale="log")
    states: int = option(8, "Of each solution, those that are learned from, at random places.", low=1)
    starts: int = option(
        1, "From how many random starts each solution is followed, where the problem has several (a tour's cities).", low=1
    )
    uses: int = option(4, "How many times each state is learned from; with 1, every step looks at new ones.", low=1, scale="log")
    value_weight: float = option(0.0, "Weight of the squared error of the value, what the rest of the solution brings.", low=0)
    every: int = option(20, "Steps between two looks at the watched instances.", low=1)

    title: ClassVar[str] = "imitation of a solver's solutions"
    step: ClassVar[str] = "one optimiser step on `batch` * `states` states"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.teacher:
            raise UsageError("imitation needs the option teacher, the name of a solver (corl list solvers)")

    def train(self, training: Training) -> None:
        import torch

        from corl.learning import imitation
        from corl.learning.optimise import gradient_step
        from corl.learning.rounds import Rounds
        from corl.learning.validation import Validation
        from corl.networks.policy import Policy
        from corl.processes.workers import Workers
        from corl.solvers.training.common import begin, check_learned, check_teacher, source_of

        check_teacher(self, training.problem.name)
        self._check_completing(training.problem.name)
        source = source_of(self, training.problem, training.seed)
        network = begin(self, training, source)
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.rate)
        validate = Validation(training, source, self.watch)
        encodes = type(network).context is not Policy.context
        rounds, asked = Rounds(self.uses, self.batch * self.states, training.seed, encodes), _Asked(self)
        training.manage(network=network, optimiser=optimiser, rounds=rounds, asked=asked)
        made = _lessons, self, source, type(network), network.config
        with Workers(training.workers, *made, executor=training.executor) as workers:
            asked.again(workers, rounds.begun)
            while training.budget():
                seen = validate(network) if training.step % self.every == 0 else {}
                if not rounds.left:
                    rounds.begin(asked.next(workers, network, rounds.begun))
                at = rounds.next()
                if len(at):
                    with training.autocast():
                        batch = imitation.draw(rounds.replay, at, network)
                        loss, terms = imitation.loss(network, batch, self.value_weight)
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


class _Asked:
    """The block of lessons that the workers make while the network trains on those before it."""

    def __init__(self, recipe: Imitation) -> None:
        self.recipe = recipe
        self.weights: Mapping[str, NDArray[Any]] = {}
        """With which it was asked for; none where the lessons do not depend on them."""

    def next(self, workers: Workers, network: Policy, number: int) -> list[Episodes]:
        """Block `number`, having asked for the one after it with the weights of today."""
        from corl.learning.selfplay import weights_of

        weights = weights_of(network) if self.recipe.completing else {}
        if not number:
            self._ask(workers, 0, weights)
        lessons = [workers.next() for _ in range(_BLOCK)]
        self.weights = weights
        self._ask(workers, number + 1, weights)
        return lessons

    def again(self, workers: Workers, number: int) -> None:
        """Ask in a run that goes on for what was asked for before it stopped."""
        if number:
            self._ask(workers, number, self.weights)

    def _ask(self, workers: Workers, number: int, weights: Mapping[str, NDArray[Any]]) -> None:
        from corl.learning.selfplay import Job

        count = self.recipe.batch
        for lesson in range(number * _BLOCK, (number + 1) * _BLOCK):
            workers.submit(Job(dict(weights), lesson * count, count))

    def state_dict(self) -> dict[str, Any]:
        return {"weights": dict(self.weights)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.weights = dict(state["weights"])


def _lessons(recipe: Imitation, source: Source, network_kind: type[Policy], config: dict[str, Any]) -> Any:
    """What a worker calls: Job -> the episodes of `batch` instances."""
    import numpy as np

    from corl.learning.imitation import Teacher, demonstrate
    from corl.learning.selfplay import load_weights

    network = network_kind(**config).eval()
    teacher = Teacher(recipe.teacher, recipe.teacher_iterations, recipe.completing, recipe.starts)

    def lesson(job: Job) -> Any:
        if job.weights:
            load_weights(network, job.weights)
        random = np.random.default_rng([source.seed, 2, job.first // job.count])
        instances = source.instances(job.first, job.count)
        return demonstrate(network, source.problem, instances, teacher, recipe.states, random)

    return lesson
