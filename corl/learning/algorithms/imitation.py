"""Imitation, the recipe `any.imitation`: a policy that imitates a solver (its teacher), and a loss for all imitating recipes.

AlphaZero imitates the policy of its search with the same loss, and self-improvement the best of its own samples.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from corl.errors import UsageError
from corl.learning.loop import Loop, PolicyRecipe
from corl.options import option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from corl.learning.episodes import Episodes
    from corl.learning.replay import Replay
    from corl.learning.selfplay import Job
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Arrays, NetworkPolicy
    from corl.processes.workers import Workers

__all__ = ["Batch", "Imitation", "TrainableNetwork", "draw", "loss"]


@dataclass(frozen=True)
class Imitation(PolicyRecipe):
    """Cross-entropy on states of a solver's solutions of new instances, which the workers solve while the network trains.

    A lesson holds states of `lesson` solutions; the training keeps `uses` * `block` lessons. A round uses all their states once,
    in random order; then `block` new lessons replace the oldest ones. With `completing`, the policy begins the episodes; it plays
    with the weights at the beginning of the previous round, which are one to two rounds old.
    """

    teacher: str = option("", "The solver to imitate, required; one that iterations can limit (corl list solvers).")
    teacher_iterations: int = option(10, "The teacher's iterations per instance.", low=1, scale="log")
    completing: bool = option(
        False,
        "Whether the teacher, instead of solving instances, completes episodes that the policy has played up to a random state; "
        "few solvers can.",
    )
    start: str = option("", "A checkpoint to continue from; empty: a new network of `width`, `layers` and `heads`.")
    batch: int = option(16, "An optimiser step uses `batch` * `states` states.", low=1, scale="log")
    lesson: int = option(0, "New instances per lesson, played together; 0: `batch`.", low=0)
    block: int = option(
        4,
        "Lessons that the workers make together, and which then replace as many old ones; more workers than this are idle.",
        low=1,
    )
    states: int = option(8, "States of each solution that are learned from, drawn at random.", low=1)
    starts: int = option(
        1, "Times that each solution is used, from random starts, if the problem has several (the cities of a tour).", low=1
    )
    uses: int = option(4, "Times that each state is learned from; with 1, every step uses new states.", low=1, scale="log")
    value_weight: float = option(0.0, "Weight of the value's squared error; its target is the sum of the later rewards.", low=0)
    every: int = option(20, "Steps between two validations.", low=1)

    title: ClassVar[str] = "imitation of a solver's solutions"
    step: ClassVar[str] = "one optimiser step on `batch` * `states` states"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.teacher:
            raise UsageError("imitation needs the option teacher, the name of a solver (corl list solvers)")

    def train(self, training: Training) -> None:
        self.check(training.problem.name)
        loop = Loop(self, training)
        stream = _LessonStream(self, loop)
        loop.manage(rounds=stream.rounds, asked=stream.pending)

        def states() -> tuple[Batch | None, dict[str, float]]:
            curves = loop.validate(every=self.every)
            return stream.batch(workers), curves

        def imitated(batch: Batch) -> tuple[Tensor, dict[str, float]]:
            return loss(loop.network.imitated, batch, self.value_weight)

        with stream.teaching() as workers:
            loop.run(states, loop.minimise(imitated))

    def check(self, problem: str) -> None:
        """Raise UsageError if iterations cannot limit the teacher, or if it must complete episodes and cannot."""
        from corl import registry
        from corl.learning.demonstrations import check_teacher
        from corl.solver import Solver

        check_teacher(self, problem)
        completing = [
            name for name in registry.solvers(problem) if registry.solver(problem, name).complete is not Solver.complete
        ]
        if self.completing and self.teacher not in completing:
            raise UsageError(f"teacher is {self.teacher}; accepted with completing: {', '.join(completing) or 'none'}")


def draw(replay: Replay, at: NDArray[np.int64], network: TrainableNetwork) -> Batch:
    """Return the moves of a replay with the numbers `at`, int64 [N], ascending, as a batch on the network's device."""
    import numpy as np
    import torch

    inputs = replay.collate_inputs(at)
    scale = np.concatenate([part["scale"] for part in inputs.observed])
    value = (replay.field("returns", at) / scale).astype(np.float32)
    device = next(network.parameters()).device
    target = torch.from_numpy(replay.field("policy", at)).to(device)
    return Batch(network.collate(*inputs), target, torch.from_numpy(value).to(device))


def loss(
    network: Callable[[Any], tuple[Tensor, Tensor]], batch: Batch, value_weight: float = 0.0
) -> tuple[Tensor, dict[str, float]]:
    """Return the loss, cross-entropy with the target + `value_weight` * squared error of the value, and its terms by name.

    If the target is a set of right actions, the first term is minus the logarithm of the probability that one of them is taken.
    Listed actions that the network cannot choose (logits of -inf) cannot be learned and are removed from the target.

    Args:
        network: A network, or its method `imitated`: returns logits [N, K] and values [N] of the batch's states.
        batch: The moves.
        value_weight: See above.
    """
    import torch
    from torch.nn import functional

    logits, value = network(batch.states)
    log_policy = functional.log_softmax(logits.float(), dim=1).clamp_min(-1e4)
    target = batch.target.masked_fill(torch.isneginf(logits), 0)
    if target.dtype == torch.bool:
        policy_terms = -log_policy.masked_fill(~target, -torch.inf).logsumexp(dim=1)
        has_target = target.any(dim=1)
    else:
        policy_terms, has_target = -(target * log_policy).sum(dim=1), (target > 0).any(dim=1)
    policy_term = torch.where(has_target, policy_terms, 0.0).sum() / has_target.sum().clamp_min(1)
    if not value_weight:
        return policy_term, {"policy": policy_term.item()}
    value_term = functional.mse_loss(value.float(), batch.value)
    return policy_term + value_weight * value_term, {"policy": policy_term.item(), "value": value_term.item()}


class Batch(NamedTuple):
    """N moves to learn from."""

    states: Any
    """The argument of `NetworkPolicy.forward`."""
    target: Tensor
    """[N, K]; float32: probabilities of the actions, all 0 for a move without a target; or bool: whether an action is right."""
    value: Tensor
    """float32 [N] the sum of the rewards from this move on, divided by the "scale" of its state."""


class TrainableNetwork(Protocol):
    """A network that learns from a replay: a NetworkPolicy, or another network with the same `collate` and forward pass."""

    def collate(self, contexts: Sequence[Arrays], observed: Sequence[Arrays], which: NDArray[np.int64], /) -> Any:
        """See NetworkPolicy.collate."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """See torch.nn.Module."""

    def __call__(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Return logits [N, K] and values [N] for a batch that `collate` returned."""


class _LessonStream:
    """The batches of labelled states. While the network trains on them, the workers make the next lessons.

    Each state is used `uses` times (corl.learning.reuse_buffer). Snapshots hold `rounds` and `pending`.
    """

    def __init__(self, recipe: Imitation, loop: Loop) -> None:
        from corl.learning.reuse_buffer import Rounds
        from corl.networks.policy import NetworkPolicy

        self.recipe, self.loop, self.policy = recipe, loop, loop.network
        encodes_instances = type(self.policy).context is not NetworkPolicy.context
        self.rounds = Rounds(recipe.uses, recipe.batch * recipe.states, loop.training.seed, encodes_instances)
        self.pending = _PendingLessons(recipe)

    def teaching(self) -> Workers:
        """Return the workers that make the lessons; a resumed run repeats the pending requests."""
        from corl.processes.workers import Workers

        training, arguments = self.loop.training, (self.recipe, self.loop.source, type(self.policy), self.policy.config)
        workers = Workers(training.workers, _lessons, *arguments, executor=training.executor)
        self.pending.repeat(workers, self.rounds.begun)
        return workers

    def batch(self, workers: Workers) -> Batch | None:
        """Return the next batch; None if the lessons of a round have no state to learn from."""
        if not self.rounds.parts_left:
            self.rounds.begin(self.pending.next(workers, self.policy, self.rounds.begun))
        at = self.rounds.next()
        return draw(self.rounds.replay, at, self.policy) if len(at) else None


class _PendingLessons:
    """The block of lessons that the workers are making while the network trains on earlier ones."""

    def __init__(self, recipe: Imitation) -> None:
        self.recipe = recipe
        self.weights: Mapping[str, NDArray[Any]] = {}
        """The weights of the pending request; empty if the lessons do not depend on the policy."""
        self._requests: deque[int] = deque()

    def next(self, workers: Workers, policy: NetworkPolicy, number: int) -> list[Episodes]:
        """Return block `number`, and request block `number` + 1, made with the current weights."""
        from corl.learning.selfplay import weights_of

        weights = weights_of(policy) if self.recipe.completing else {}
        if not number:
            self._request(workers, 0, weights)
        lessons = [workers.take(self._requests.popleft()) for _ in range(self.recipe.block)]
        self.weights = weights
        self._request(workers, number + 1, weights)
        return lessons

    def repeat(self, workers: Workers, number: int) -> None:
        """Repeat, in a resumed run, the request that was pending when the run stopped: that for block `number`."""
        if number:
            self._request(workers, number, self.weights)

    def _request(self, workers: Workers, number: int, weights: Mapping[str, NDArray[Any]]) -> None:
        from corl.learning.selfplay import Job

        count, block = self.recipe.lesson or self.recipe.batch, self.recipe.block
        for lesson in range(number * block, (number + 1) * block):
            self._requests.append(workers.submit(Job(dict(weights), lesson * count, count)))

    def state_dict(self) -> dict[str, Any]:
        return {"weights": dict(self.weights)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.weights = dict(state["weights"])


def _lessons(
    recipe: Imitation, source: Source, network_kind: type[NetworkPolicy], config: dict[str, Any]
) -> Callable[[Job], Episodes]:
    """Return the function of a worker: from a job to the episodes of a lesson."""
    import numpy as np

    from corl.learning.demonstrations import Teacher, demonstrate
    from corl.learning.selfplay import load_weights

    network = network_kind(**config).eval()
    teacher = Teacher(recipe.teacher, recipe.teacher_iterations, recipe.completing, recipe.starts)

    def lesson(job: Job) -> Episodes:
        if job.weights:
            load_weights(network, job.weights)
        random = np.random.default_rng([source.seed, 2, job.first // job.count])
        instances = source.instances(job.first, job.count)
        return demonstrate(network, source.problem, instances, teacher, recipe.states, random)

    return lesson
