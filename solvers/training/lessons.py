"""Lessons: the batches of an imitation.

stream = Stream(recipe, training, source, policy)
with teaching(stream, training) as workers:
    batch = stream.batch(workers)
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from corl.learning import imitation
from corl.learning.rounds import Rounds
from corl.learning.selfplay import Job, load_weights, weights_of
from corl.learning.validation import Validation
from corl.networks.policy import Policy
from corl.processes.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from corl.learning.episodes import Episodes
    from corl.learning.imitation import Batch
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.solvers.training.imitation import Imitation

__all__ = ["Stream", "teaching"]

_BLOCK = 4  # lessons that come into the store together


class Stream:
    """The batches that a policy learns from: of labelled states that the workers make while it trains on those before, each
    used `uses` times (Rounds). A snapshot holds `rounds` and `asked`."""

    def __init__(self, recipe: Imitation, training: Training, source: Source, policy: Policy) -> None:
        self.recipe, self.source, self.policy = recipe, source, policy
        encodes = type(policy).context is not Policy.context
        self.rounds = Rounds(recipe.uses, recipe.batch * recipe.states, training.seed, encodes)
        self.asked = _Asked(recipe)
        self._validate = Validation(source, recipe.watch)

    def batch(self, workers: Workers) -> Batch | None:
        """The next batch; None where a round's lessons teach nothing."""
        if not self.rounds.left:
            self.rounds.begin(self.asked.next(workers, self.policy, self.rounds.begun))
        at = self.rounds.next()
        return imitation.draw(self.rounds.replay, at, self.policy) if len(at) else None

    def watched(self, step: int) -> dict[str, float]:
        """How the policy does on the watched instances, where that is looked at in this step."""
        return self._validate(self.policy) if step % self.recipe.every == 0 else {}

    @property
    def answering(self) -> tuple[Any, ...]:
        """The arguments of `_lessons`."""
        return self.recipe, self.source, type(self.policy), self.policy.config


def teaching(stream: Stream, training: Training) -> Workers:
    """The workers that make the lessons of a stream, having been asked again for what a run that goes on had asked for."""
    workers = Workers(training.workers, _lessons, *stream.answering, executor=training.executor)
    stream.asked.again(workers, stream.rounds.begun)
    return workers


class _Asked:
    """The block of lessons that the workers make while the network trains on those before it."""

    def __init__(self, recipe: Imitation) -> None:
        self.recipe = recipe
        self.weights: Mapping[str, NDArray[Any]] = {}
        """With which it was asked for; none where the lessons do not depend on them."""
        self._numbers: deque[int] = deque()

    def next(self, workers: Workers, policy: Policy, number: int) -> list[Episodes]:
        """Block `number`, having asked for the one after it with the weights of today."""
        weights = weights_of(policy) if self.recipe.completing else {}
        if not number:
            self._ask(workers, 0, weights)
        lessons = [workers.take(self._numbers.popleft()) for _ in range(_BLOCK)]
        self.weights = weights
        self._ask(workers, number + 1, weights)
        return lessons

    def again(self, workers: Workers, number: int) -> None:
        """Ask in a run that goes on for what was asked for before it stopped."""
        if number:
            self._ask(workers, number, self.weights)

    def _ask(self, workers: Workers, number: int, weights: Mapping[str, NDArray[Any]]) -> None:
        count = self.recipe.lesson or self.recipe.batch
        for lesson in range(number * _BLOCK, (number + 1) * _BLOCK):
            self._numbers.append(workers.submit(Job(dict(weights), lesson * count, count)))

    def state_dict(self) -> dict[str, Any]:
        return {"weights": dict(self.weights)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.weights = dict(state["weights"])


def _lessons(recipe: Imitation, source: Source, network_kind: type[Policy], config: dict[str, Any]) -> Callable[[Job], Episodes]:
    """Job -> the episodes of a lesson's instances."""
    import numpy as np

    network = network_kind(**config).eval()
    teacher = imitation.Teacher(recipe.teacher, recipe.teacher_iterations, recipe.completing, recipe.starts)

    def lesson(job: Job) -> Episodes:
        if job.weights:
            load_weights(network, job.weights)
        random = np.random.default_rng([source.seed, 2, job.first // job.count])
        instances = source.instances(job.first, job.count)
        return imitation.demonstrate(network, source.problem, instances, teacher, recipe.states, random)

    return lesson
