"""Recipe `any.q-learning`: the values of actions, from episodes that the network itself plays with some random actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.options import option
from corl.solvers.training.common import PolicyRecipe, check_learned, source_of

if TYPE_CHECKING:
    from corl.decoding.play import Turn
    from corl.learning.episodes import Episodes
    from corl.learning.selfplay import Job
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Arrays, Policy

__all__ = ["QLearningRecipe"]


@dataclass(frozen=True)
class QLearningRecipe(PolicyRecipe):
    """Double deep Q-learning (corl.learning.q_learning) on new instances in every generation.

    A generation is `episodes` instances, each played once; `updates` optimiser steps on moves of the replay follow. The solver
    `policy` plays the network that comes of it: the logits are the values of the actions.
    """

    start: str = option("", "A checkpoint to go on from; empty: a new network of `width`, `layers` and `heads`.")
    episodes: int = option(64, "Instances of a generation.", low=1, scale="log")
    updates: int = option(16, "Optimiser steps from one generation to the next.", low=1, scale="log")
    batch: int = option(256, "Moves that an optimiser step looks at.", low=1, scale="log")
    replay: int = option(20_000, "The latest moves kept, at least those of one generation.", low=1, scale="log")
    ahead: int = option(3, "Rewards that are added up before the value of the state after them stands for the rest.", low=1)
    sync: int = option(100, "Optimiser steps between two copies to the frozen network of the targets.", low=1, scale="log")

    title: ClassVar[str] = "deep Q-learning: values of actions from the network's own episodes"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of episodes before it"

    def train(self, training: Training) -> None:
        from corl.learning.q_learning import QLearning, n_step
        from corl.learning.replay import Replay
        from corl.learning.selfplay import SelfPlay
        from corl.learning.validation import Validation
        from corl.solvers.training.common import begin

        source = source_of(self, training.problem, training.seed)
        network = begin(self, training, source)
        replay, validate = Replay(self.replay), Validation(source, self.watch)
        learning = QLearning(network, replay, n_step(self.ahead), rate=self.rate, batch=self.batch, sync=self.sync)
        training.manage(network=network, learning=learning, replay=replay)
        with SelfPlay(training, _player, source, type(network), network.config) as games:
            while training.budget():
                seen = {}
                if training.step % self.updates == 0:
                    episodes = games.generation(network, training.step // self.updates, self.episodes)
                    for part in episodes:
                        replay.add(part)
                    seen = validate(network, episodes)
                if replay.size:
                    seen["loss"] = learning.step(training.generator(2, training.step), training.fraction)
                else:
                    check_learned(training, learning.optimiser)
                training.log(**seen)
        check_learned(training, learning.optimiser, over=True)
        training.save(network)


def _player(source: Source, network_kind: type[Policy], config: dict[str, Any]) -> Any:
    """A Player (corl.learning.selfplay) that takes the action of the highest value or, now and then, any."""
    import numpy as np

    from corl.learning.episodes import Choice, record
    from corl.learning.q_learning import exploration
    from corl.learning.selfplay import load_weights

    network = network_kind(**config).eval()

    def player(job: Job) -> Episodes:
        random = np.random.default_rng([source.seed, 1, job.first])
        instances = source.instances(job.first, job.count)
        load_weights(network, job.weights)
        rows = np.arange(len(instances))
        pool = source.problem.environment(instances, len(rows), name=network.environment)
        base = pool.reset(rows, rows, random.integers(0, 2**63, len(rows)).astype(np.uint64))
        evaluator, chance = network.on(pool), exploration(random, len(rows))

        def choose(turn: Turn, seen: Arrays) -> Choice:
            logits, values = evaluator.evaluate(turn.view)
            there = turn.actions >= 0
            slot = np.where(there, logits, -np.inf).argmax(axis=1)
            any_one = np.where(there, random.random(there.shape), -1.0).argmax(axis=1)
            slot = np.where(random.random(len(slot)) < chance[turn.episode], any_one, slot)
            return Choice(slot, np.zeros(there.shape, np.float32), values)

        return record(network, pool, rows, base, choose)

    return player
