"""Q-learning, the recipe `any.q-learning`: the values of actions, learned from episodes that the network itself plays.

With the replay and the frozen target network of Mnih et al. (Nature 2015), double Q-learning by van Hasselt, Guez and Silver
(AAAI 2016), n-step targets, and episodes that explore to different degrees as in Horgan et al. (ICLR 2018). A network's logits
are its Q-values, so that all decoders apply: the greedy action is the one with the highest value.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from corl.learning.loop import Loop, PolicyRecipe
from corl.options import option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, optim

    from corl.decoding.play import DecisionStep
    from corl.learning.episodes import Episodes
    from corl.learning.replay import Replay
    from corl.learning.selfplay import Job, JobPlayer
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Arrays, NetworkPolicy

__all__ = ["Maximise", "QLearning", "QLearningRecipe", "States", "Target", "exploration", "field", "n_step"]

_MAX_EPSILON, _POWER = 0.4, 7.0  # Horgan et al., section 4.1: epsilon = 0.4 ^ (1 + 7 u), u from 0 to 1

Maximise: TypeAlias = "Callable[[NDArray[np.int64]], NDArray[np.float32]]"
"""Function from moves `at` [N], in any order, to the frozen network's Q-values [N] of the trained network's greedy actions."""
Target: TypeAlias = "Callable[[Replay, NDArray[np.int64], Maximise], NDArray[np.float32]]"
"""Function that returns the targets [N] of the Q-values of the moves `at` [N], ascending."""

States: TypeAlias = "Callable[[Replay, NDArray[np.int64]], Any]"
"""Function that returns the argument of a network's forward pass for the moves `at` [N], ascending."""


@dataclass(frozen=True)
class QLearningRecipe(PolicyRecipe):
    """Double deep Q-learning on new instances in every generation.

    A generation is `episodes` instances, each played once; `updates` optimiser steps on moves of the replay follow. The trained
    network is used like any policy: its logits are the values of the actions.
    """

    start: str = option("", "A checkpoint to continue from; empty: a new network of `width`, `layers` and `heads`.")
    episodes: int = option(64, "Instances per generation.", low=1, scale="log")
    updates: int = option(16, "Optimiser steps from one generation to the next.", low=1, scale="log")
    batch: int = option(256, "Moves per optimiser step.", low=1, scale="log")
    replay: int = option(
        20_000, "Capacity of the replay, which keeps the latest moves; those of one generation must fit.", low=1, scale="log"
    )
    ahead: int = option(3, "A target is the sum of this many rewards and the value of the state after them.", low=1)
    sync: int = option(
        100, "Optimiser steps between two updates of the frozen network that computes the targets.", low=1, scale="log"
    )

    title: ClassVar[str] = "deep Q-learning: values of actions from the network's own episodes"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of episodes before it"

    def train(self, training: Training) -> None:
        from corl.learning.replay import Replay
        from corl.learning.selfplay import SelfPlay

        loop, replay = Loop(self, training), Replay(self.replay)
        network = loop.network
        learning = QLearning(
            network, replay, n_step(self.ahead), loop.optimiser, rate=self.rate, batch=self.batch, sync=self.sync
        )  # fmt: skip
        loop.manage(learning=learning, replay=replay)

        def moves() -> tuple[NDArray[np.int64] | None, dict[str, float]]:
            curves = {}
            if training.step % self.updates == 0:
                episodes = self_play.generation(network, training.step // self.updates, self.episodes)
                for part in episodes:
                    replay.add(part)
                curves = loop.validate(episodes)
            return learning.draw(training.generator(2, training.step)) if replay.size else None, curves

        def learn(at: NDArray[np.int64]) -> dict[str, float]:
            return {"loss": learning.learn(at, training.fraction)}

        with SelfPlay(training, _player, loop.source, type(network), network.config) as self_play:
            loop.run(moves, learn)


def _player(source: Source, network_kind: type[NetworkPolicy], config: dict[str, Any]) -> JobPlayer:
    """Return a player that takes the action with the highest value or, with some probability, a random one."""
    import numpy as np

    from corl.learning.episodes import Choice, record
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

        def choose(decision: DecisionStep, observed: Arrays) -> Choice:
            logits, values = evaluator.evaluate(decision.view)
            listed = decision.actions >= 0
            slot = np.where(listed, logits, -np.inf).argmax(axis=1)
            random_slot = np.where(listed, random.random(listed.shape), -1.0).argmax(axis=1)
            slot = np.where(random.random(len(slot)) < chance[decision.episode], random_slot, slot)
            return Choice(slot, np.zeros(listed.shape, np.float32), values)

        return record(network, pool, rows, base, choose)

    return player


def exploration(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Return for each of `count` episodes the probability of a random action: 0.4 ^ (1 + 7 u) for a random u in 0..1."""
    import numpy as np

    return np.power(_MAX_EPSILON, 1.0 + _POWER * random.random(count))


def n_step(steps: int) -> Target:
    """Return the n-step target: the sum of the next `steps` rewards and the value of the state after them.

    It is in the unit ("scale") of the state of the move.
    """
    import numpy as np

    def target(replay: Replay, at: NDArray[np.int64], maximise: Maximise) -> NDArray[np.float32]:
        places, inside = replay.window(at, steps)
        rewards = field(replay, "reward", places[:, :steps])
        total = np.where(inside[:, :steps], rewards, 0.0).sum(1)
        continues = inside[:, steps]
        if continues.any():
            later = places[continues, steps]
            total[continues] += maximise(later) * _scale(replay, later)
        targets: NDArray[np.float32] = (total / _scale(replay, at)).astype(np.float32)
        return targets

    return target


def field(replay: Replay, name: str, at: NDArray[np.int64]) -> NDArray[Any]:
    """Return `Replay.field` for moves `at`, an int64 array of any order and shape, with repetitions."""
    import numpy as np

    numbers, place = np.unique(at, return_inverse=True)
    found = replay.field(name, numbers)
    return found[place.reshape(at.shape)]


def _scale(replay: Replay, at: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the units ("scale") of the states of moves `at` [N] in any order, float64 [N]."""
    import numpy as np

    numbers, place = np.unique(at, return_inverse=True)
    return np.concatenate([part["scale"] for part in replay.collate_inputs(numbers).observed])[place.ravel()]


class QLearning:
    """Q-learning of a network on the moves of a replay, with a frozen copy of the network for the targets.

    Its state for snapshots is the frozen copy and the number of updates; the network and the optimiser are parts of their own.
    """

    def __init__(
        self,
        network: Any,
        replay: Replay,
        target: Target,
        optimiser: optim.Optimizer,
        *,
        rate: float,
        batch: int,
        sync: int,
        states: States | None = None,
    ) -> None:
        """Make the frozen copy of a network.

        Args:
            network: A TrainableNetwork (imitation.py), or a network whose forward pass takes what `states` returns.
            replay: The replay.
            target: The targets of the Q-values.
            optimiser: The optimiser of the network.
            rate: The largest learning rate.
            batch: The number of moves of an optimiser step.
            sync: The number of optimiser steps between two copies to the frozen network.
            states: Makes the argument of the forward pass; None: `network.collate` makes it.
        """
        self.network, self.replay, self.target, self.states = network, replay, target, states or self._collated
        self.optimiser, self.rate, self.batch, self.sync = optimiser, rate, batch, sync
        self.frozen, self.updates = copy.deepcopy(network).eval(), 0

    def _collated(self, replay: Replay, at: NDArray[np.int64]) -> Any:
        return self.network.collate(*replay.collate_inputs(at))

    def maximise(self, at: NDArray[np.int64]) -> NDArray[np.float32]:
        """See Maximise."""
        import numpy as np
        import torch

        numbers, place = np.unique(at, return_inverse=True)
        states = self.states(self.replay, numbers)
        with torch.no_grad():
            best_slot = self.network(states)[0].argmax(1, keepdim=True)
            values: NDArray[np.float32] = self.frozen(states)[0].gather(1, best_slot)[:, 0].float().cpu().numpy()
        return values[place.ravel()]

    def loss(self, at: NDArray[np.int64]) -> Tensor:
        """Return the Huber loss of the Q-values of the moves `at`, ascending, against their targets."""
        import numpy as np
        import torch
        from torch.nn import functional

        device = next(self.network.parameters()).device
        target = torch.from_numpy(self.target(self.replay, at, self.maximise)).to(device)
        logits, _ = self.network(self.states(self.replay, at))
        slot = torch.from_numpy(self.replay.field("slot", at).astype(np.int64)).to(device)
        return functional.smooth_l1_loss(logits.gather(1, slot[:, None])[:, 0].float(), target)

    def begin(self, take: Callable[[Any], object]) -> None:
        """Before the first step, call `take` with the states of all moves of the replay, for example to normalise features."""
        import numpy as np

        take(self.states(self.replay, np.arange(self.replay.added - self.replay.size, self.replay.added)))

    def draw(self, random: np.random.Generator) -> NDArray[np.int64]:
        """Return the numbers of `batch` random moves of the replay, int64, ascending."""
        return self.replay.sample(random, self.batch)

    def learn(self, at: NDArray[np.int64], fraction: float) -> float:
        """Make one optimiser step on the moves `at`, ascending; return the loss before the step.

        `fraction`, the share of the training that is done, determines the learning rate.
        """
        from corl.learning.optimise import gradient_step

        if self.updates % self.sync == 0:
            self.frozen.load_state_dict(self.network.state_dict())
        loss = self.loss(at)
        gradient_step(self.optimiser, loss, self.rate, fraction)
        self.updates += 1
        return loss.item()

    def state_dict(self) -> dict[str, Any]:
        return {"frozen": self.frozen.state_dict(), "updates": self.updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.frozen.load_state_dict(state["frozen"])
        self.updates = int(state["updates"])
