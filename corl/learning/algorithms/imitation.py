"""Imitation, the recipe `any.imitation`: a policy that imitates a solver; and the loss that all imitating recipes share.

AlphaZero imitates the policy of its search in the same way, self-improvement the best of its own samples.
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
    from corl.networks.policy import Arrays, Policy
    from corl.processes.workers import Workers

__all__ = ["Batch", "Imitation", "Learner", "draw", "loss"]


@dataclass(frozen=True)
class Imitation(PolicyRecipe):
    """Cross-entropy on states of a solver's solutions of new instances, which the workers solve while the network trains.

    The store has states of `uses` * `block` lessons, each of `lesson` solutions; each round passes over it once, in random order,
    then a quarter (with `uses` = 4) is replaced by new ones. If the teacher completes episodes of the policy, that policy has the
    weights of the beginning of the previous round: they are one to two rounds old.
    """

    teacher: str = option("", "The solver to imitate, one that iterations can limit (corl list solvers); it must be named.")
    teacher_iterations: int = option(10, "The teacher's limit for an instance.", low=1, scale="log")
    completing: bool = option(
        False,
        "Whether the teacher completes episodes that the policy began, up to a random place, instead of solving instances; few "
        "solvers can.",
    )
    start: str = option("", "A checkpoint to go on from; empty: a new network of `width`, `layers` and `heads`.")
    batch: int = option(16, "A step looks at `batch` * `states` states.", low=1, scale="log")
    lesson: int = option(0, "New instances of a lesson, which are played together; 0: as many as `batch`.", low=0)
    block: int = option(
        4, "Lessons that the workers make at a time, and that come into the store together; no more workers than that have work.",
        low=1,
    )  # fmt: skip
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
        self.check(training.problem.name)
        loop = Loop(self, training)
        stream = _Stream(self, loop)
        loop.manage(rounds=stream.rounds, asked=stream.asked)

        def states() -> tuple[Batch | None, dict[str, float]]:
            seen = loop.validate(every=self.every)
            return stream.batch(workers), seen

        def imitated(batch: Batch) -> tuple[Tensor, dict[str, float]]:
            return loss(loop.network, batch, self.value_weight)

        with stream.teaching() as workers:
            loop.run(states, loop.minimise(imitated))

    def check(self, problem: str) -> None:
        """Raise UsageError if the teacher is no solver that iterations can limit, or cannot complete episodes but has to."""
        from corl import registry
        from corl.learning.demonstrations import check_teacher
        from corl.solver import Solver

        check_teacher(self, problem)
        able = [name for name in registry.solvers(problem) if registry.solver(problem, name).complete is not Solver.complete]
        if self.completing and self.teacher not in able:
            raise UsageError(f"teacher is {self.teacher}; accepted with completing: {', '.join(able) or 'none'}")


def draw(replay: Replay, at: NDArray[np.int64], network: Learner) -> Batch:
    """Return the moves with the numbers `at` [N], ascending, as a batch on the network's device."""
    import numpy as np
    import torch

    sight = replay.seen(at)
    scale = np.concatenate([part["scale"] for part in sight.seen])
    value = (replay.field("returns", at) / scale).astype(np.float32)
    device = next(network.parameters()).device
    target = torch.from_numpy(replay.field("policy", at)).to(device)
    return Batch(network.collate(*sight), target, torch.from_numpy(value).to(device))


def loss(network: Learner, batch: Batch, value_weight: float = 0.0) -> tuple[Tensor, dict[str, float]]:
    """Return the cross-entropy with the target + `value_weight` times the squared error of the value; and both terms.

    If the target is a set of right actions, the first term is minus the logarithm of the probability that one of them is taken.
    Listed actions that the network cannot choose (logits of -inf) cannot be learned and are removed from the target.
    """
    import torch
    from torch.nn import functional

    logits, value = network(batch.states)
    log_policy = functional.log_softmax(logits.float(), dim=1).clamp_min(-1e4)
    target = batch.target.masked_fill(torch.isneginf(logits), 0)
    if target.dtype == torch.bool:
        policy_terms = -log_policy.masked_fill(~target, -torch.inf).logsumexp(dim=1)
        told = target.any(dim=1)
    else:
        policy_terms, told = -(target * log_policy).sum(dim=1), (target > 0).any(dim=1)
    policy_term = torch.where(told, policy_terms, 0.0).sum() / told.sum().clamp_min(1)
    if not value_weight:
        return policy_term, {"policy": policy_term.item()}
    value_term = functional.mse_loss(value.float(), batch.value)
    return policy_term + value_weight * value_term, {"policy": policy_term.item(), "value": value_term.item()}


class Batch(NamedTuple):
    """N moves to learn from."""

    states: Any
    """The argument of `Policy.forward`."""
    target: Tensor
    """[N, K] float32: probabilities of the actions, all 0 for a move without a target; or bool: the right actions."""
    value: Tensor
    """float32 [N] the return from this move on, in the unit of the row (its "scale")."""


class Learner(Protocol):
    """A network that learns from a replay: a Policy, or another one that makes the argument of its forward pass by `collate`."""

    def collate(self, contexts: Sequence[Arrays], seen: Sequence[Arrays], which: NDArray[np.int64]) -> Any:
        """See Policy.collate."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """See torch.nn.Module."""

    def __call__(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Return logits [N, K] and values [N] for a batch that `collate` returned."""


class _Stream:
    """The batches of labelled states, which the workers make while the network trains on the previous ones.

    Each state is used `uses` times (Rounds). A snapshot holds `rounds` and `asked`.
    """

    def __init__(self, recipe: Imitation, loop: Loop) -> None:
        from corl.learning.rounds import Rounds
        from corl.networks.policy import Policy

        self.recipe, self.loop, self.policy = recipe, loop, loop.network
        encodes = type(self.policy).context is not Policy.context
        self.rounds = Rounds(recipe.uses, recipe.batch * recipe.states, loop.training.seed, encodes)
        self.asked = _Asked(recipe)

    def teaching(self) -> Workers:
        """Return the workers that make the lessons; in a resumed run the pending requests are repeated."""
        from corl.processes.workers import Workers

        training, answering = self.loop.training, (self.recipe, self.loop.source, type(self.policy), self.policy.config)
        workers = Workers(training.workers, _lessons, *answering, executor=training.executor)
        self.asked.again(workers, self.rounds.begun)
        return workers

    def batch(self, workers: Workers) -> Batch | None:
        """Return the next batch; None if the lessons of a round have no state to learn from."""
        if not self.rounds.left:
            self.rounds.begin(self.asked.next(workers, self.policy, self.rounds.begun))
        at = self.rounds.next()
        return draw(self.rounds.replay, at, self.policy) if len(at) else None


class _Asked:
    """The block of lessons that the workers make while the network trains on the previous ones."""

    def __init__(self, recipe: Imitation) -> None:
        self.recipe = recipe
        self.weights: Mapping[str, NDArray[Any]] = {}
        """The weights of the pending request; empty if the lessons do not depend on them."""
        self._numbers: deque[int] = deque()

    def next(self, workers: Workers, policy: Policy, number: int) -> list[Episodes]:
        """Return block `number`, after a request for the next one with the current weights."""
        from corl.learning.selfplay import weights_of

        weights = weights_of(policy) if self.recipe.completing else {}
        if not number:
            self._ask(workers, 0, weights)
        lessons = [workers.take(self._numbers.popleft()) for _ in range(self.recipe.block)]
        self.weights = weights
        self._ask(workers, number + 1, weights)
        return lessons

    def again(self, workers: Workers, number: int) -> None:
        """Repeat in a resumed run the request that was pending when it stopped."""
        if number:
            self._ask(workers, number, self.weights)

    def _ask(self, workers: Workers, number: int, weights: Mapping[str, NDArray[Any]]) -> None:
        from corl.learning.selfplay import Job

        count, block = self.recipe.lesson or self.recipe.batch, self.recipe.block
        for lesson in range(number * block, (number + 1) * block):
            self._numbers.append(workers.submit(Job(dict(weights), lesson * count, count)))

    def state_dict(self) -> dict[str, Any]:
        return {"weights": dict(self.weights)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.weights = dict(state["weights"])


def _lessons(recipe: Imitation, source: Source, network_kind: type[Policy], config: dict[str, Any]) -> Callable[[Job], Episodes]:
    """Return the function from a job to the episodes of a lesson's instances."""
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
