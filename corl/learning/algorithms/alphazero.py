"""AlphaZero, the recipe `any.alphazero`: a policy and a value from self-play by Gumbel search in the environment itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.learning.loop import Loop, PolicyRecipe
from corl.options import option

if TYPE_CHECKING:
    from torch import Tensor

    from corl.decoding.play import DecisionStep
    from corl.learning.algorithms.imitation import Batch
    from corl.learning.episodes import Episodes
    from corl.learning.selfplay import Job, JobPlayer
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Arrays, NetworkPolicy

__all__ = ["AlphaZero"]


@dataclass(frozen=True)
class AlphaZero(PolicyRecipe):
    """Gumbel AlphaZero (Danihelka et al., ICLR 2022) on new instances in every generation.

    A generation is `episodes` instances, each played once by search. `updates` optimiser steps on moves of the replay follow:
    the network imitates the search's improved policy, and its value is fitted to the returns of the episodes.
    """

    start: str = option("", "A checkpoint with a value to continue from; empty: a new network of `width`, `layers` and `heads`.")
    episodes: int = option(128, "Instances per generation.", low=1, scale="log")
    updates: int = option(16, "Optimiser steps from one generation to the next.", low=1, scale="log")
    batch: int = option(256, "Moves per optimiser step.", low=1, scale="log")
    replay: int = option(
        20_000, "Capacity of the replay, which keeps the latest moves; those of one generation must fit.", low=1, scale="log"
    )
    simulations: int = option(16, "Simulations of the search for each move.", low=1, scale="log")
    considered: int = option(8, "Actions considered at the root of a search.", low=1)
    value_scale: float = option(
        0.1, "Weight of a search's values relative to the network's logits (c_scale of the paper).", low=0
    )
    value_weight: float = option(1.0, "Weight of the value's squared error relative to the policy's cross-entropy.", low=0)
    teacher: str = option(
        "", "A solver that iterations can limit; its solutions are played at the start of the training. Empty: no teacher."
    )
    teacher_iterations: int = option(100, "The teacher's iterations per instance.", low=1, scale="log")
    taught: float = option(
        0.3, "The share of the training, at its start, in which the teacher plays instead of the search.", low=0, high=1
    )
    keep: bool = option(False, "Whether to save the weights with the best validation result instead of the last ones.")

    title: ClassVar[str] = "AlphaZero: self-play by Gumbel search in the environment"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of self-play before it"

    def train(self, training: Training) -> None:
        from corl.learning.algorithms import imitation
        from corl.learning.demonstrations import check_teacher, teacher_plays
        from corl.learning.replay import Replay
        from corl.learning.selfplay import SelfPlay

        check_teacher(self, training.problem.name)
        loop, replay = Loop(self, training, keep=self.keep), Replay(self.replay)
        network = loop.network
        loop.manage(replay=replay)

        def moves() -> tuple[Batch | None, dict[str, float]]:
            curves = {}
            if training.step % self.updates == 0:
                generation, taught = training.step // self.updates, float(teacher_plays(self, training))
                episodes = self_play.generation(network, generation, self.episodes, taught)
                for part in episodes:
                    replay.add(part)
                curves = loop.validate(episodes)
            if not replay.size:
                return None, curves
            at = replay.sample(training.generator(2, training.step), self.batch)
            return imitation.draw(replay, at, network), curves

        def loss(batch: Batch) -> tuple[Tensor, dict[str, float]]:
            return imitation.loss(network, batch, self.value_weight)

        with SelfPlay(training, _player, self, loop.source, type(network), network.config) as self_play:
            loop.run(moves, loop.minimise(loss))

    def first_network(self, training: Training, source: Source) -> NetworkPolicy:
        """See PolicyRecipe.first_network. Raises UsageError for a network without a value."""
        network = super().first_network(training, source)
        if not network.has_value:
            named = f"start: {self.start}" if self.start else f"network: {self.network}"
            raise UsageError(f"{named} has no value, which the search needs")
        return network


def _player(recipe: AlphaZero, source: Source, network_kind: type[NetworkPolicy], config: dict[str, Any]) -> JobPlayer:
    """Return a player that searches the environment with a network of the given class, on the CPU."""
    import numpy as np

    from corl.learning.demonstrations import Teacher, demonstrate
    from corl.learning.episodes import Choice, record
    from corl.learning.selfplay import load_weights
    from corl.search.gumbel import Gumbel
    from corl.search.models import SimulatorModel, rows_needed

    network = network_kind(**config).eval()
    search = Gumbel(recipe.simulations, recipe.considered, value_scale=recipe.value_scale)

    def player(job: Job) -> Episodes:
        random = np.random.default_rng([source.seed, 1, job.first])
        instances = source.instances(job.first, job.count)
        if job.taught:
            teacher = Teacher(recipe.teacher, recipe.teacher_iterations)
            return demonstrate(network, source.problem, instances, teacher, None, random)
        load_weights(network, job.weights)
        rows = np.arange(len(instances))
        pool = source.problem.environment(instances, rows_needed(len(rows), recipe.simulations), name=network.environment)
        base = pool.reset(rows, rows, random.integers(0, 2**63, len(rows)).astype(np.uint64))
        model = SimulatorModel(pool, network.on(pool), first=len(rows))

        def choose(decision: DecisionStep, observed: Arrays) -> Choice:
            found = search.search(model, decision.view, random.integers(0, 2**63, len(decision.rows)).astype(np.uint64))
            slot = (decision.actions == found.action[:, None]).argmax(axis=1)
            return Choice(slot, found.policy.astype(np.float32), found.value)

        return record(network, pool, rows, base, choose)

    return player
