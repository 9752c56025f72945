"""Algorithm 1 of Xu, Wilder, Khalil & Tambe (ICLR 2025): pretraining on one-step rewards, then deep Q-learning.

The network learns Q / `scale`, where the scale is the standard deviation of one-step rewards, after their mean is subtracted (a
constant does not change which action is best). If a table is given, it learns the residual over its values, at every time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policy import BanditPolicy
from corl.problems.bandits.transitions import advance, thresholds
from corl.solvers.bandits.policies.network import NetworkPolicy
from corl.solvers.bandits.policies.qnetwork import QNetwork, inputs
from corl.solvers.bandits.sequoia.regression import Regression, fresh_network
from corl.solvers.bandits.sequoia.replay import Replay

__all__ = ["Learner", "LearningSettings"]

_BATCH = 32
_EPSILON = (0.9, 0.05)  # probability of a random action in the first and in the last episode
_GAMMA = 0.99
_SAMPLES = 6_000  # states and actions for pretraining
_TRIALS = 20  # episodes on which policies are compared


@dataclass(frozen=True)
class LearningSettings:
    """Settings of the training, which differ between the modes of `Sequoia`."""

    episodes: int
    epochs: int
    """Epochs of pretraining."""
    updates: int
    """Steps of regression per step of an episode."""
    rate: float
    target_every: int
    """Episodes after which the target network is replaced by the current one; 0: it follows with weight tau in every step."""
    tau: float


class Learner:
    """Trains a network for one instance. All random numbers come from `seed`, none from the instance's episodes.

    Everything that takes long may raise OutOfTime.

    Args:
        instance: The instance.
        settings: The settings.
        seed: Of all random numbers.
        choice: How the best action is found, one of network.CHOICES.
        level_values: float64 [T, J, A, S], a table whose residual the network learns; None: it learns everything.
    """

    def __init__(
        self,
        instance: BanditInstance,
        settings: LearningSettings,
        seed: int,
        choice: str,
        level_values: NDArray[np.float64] | None,
    ) -> None:
        self.instance, self.settings, self.choice = instance, settings, choice
        self.random = np.random.default_rng([seed, 1])
        arms, width, size = instance.rewards.shape
        times = 0 if level_values is None else instance.horizon
        network = fresh_network(self.random, arms * width * size + times, arms + (times > 0), level_values is not None)
        self.regression, self.replay = Regression(network), Replay(arms)
        self.offset, self.scale = self._units(level_values)
        self.level_values = None if level_values is None else level_values / self.scale
        self.policy = NetworkPolicy(instance, network, self.level_values, choice)  # its network is trained in place
        self.target = self._copied(network)
        self.bounds = thresholds(instance)
        self.known: dict[bytes, float] = {}
        """The best values at states that were evaluated with the current target, by time and state."""

    def _units(self, level_values: NDArray[np.float64] | None) -> tuple[float, float]:
        """Return the mean and standard deviation of a step's reward over random states and actions; for residuals, mean 0."""
        states, levels = self._diverse(512)
        earned = self.instance.rewards[np.arange(self.instance.arms), levels, states].sum(axis=1)
        spread = float(earned.std()) or 1.0
        return (float(earned.mean()), spread) if level_values is None else (0.0, spread * float(self.instance.weights[0]))

    def _copied(self, network: QNetwork) -> NetworkPolicy:
        policy = NetworkPolicy(self.instance, QNetwork(*(array.copy() for array in network)), self.level_values, self.choice)
        if self.choice == "list":
            policy.__dict__["listing"] = self.policy.listing
        return policy

    def _diverse(self, count: int) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Return states and levels, [count, J] each, for pretraining (section 4.2).

        States are random, or (nearly) the same for all arms; actions are random, none, the highest level of each arm (feasible or
        not), or a single entry.
        """
        instance, random = self.instance, self.random
        states = random.integers(0, instance.states, (count, instance.arms)).astype(np.int32)
        nearly_equal = random.random(count) < 0.3
        common = np.minimum(random.integers(0, instance.states.max(), (count, 1)), instance.states - 1)
        keep = random.random(states.shape) < 0.8
        states[nearly_equal] = np.where(keep, common, states)[nearly_equal]
        actions = instance.constraint.random(random, count)
        actions *= (random.random(actions.shape) < random.choice([1.0, 0.6], (count, 1))).astype(np.int8)
        kind = random.random(count)
        actions[kind < 0.05] = 0
        single = np.flatnonzero((kind >= 0.05) & (kind < 0.2))
        actions[single] = 0
        actions[single, random.integers(0, actions.shape[1], len(single))] = 1
        levels = instance.constraint.levels_of(actions)
        levels[kind > 0.95] = instance.levels - 1
        return states, levels

    # ---------------------------------------------------------------- pretraining
    def pretrain(self) -> None:
        """Train the network on one-step rewards, in place; without effect if a table is given."""
        if self.level_values is not None:
            return
        states, levels = self._diverse(_SAMPLES)
        arms = np.arange(self.instance.arms)
        rewards = (self.instance.rewards[arms, levels, states].sum(axis=1) - self.offset) / self.scale
        rows, weights = inputs(self.instance.rewards.shape, states, levels, None), np.ones(_BATCH)
        for epoch in range(self.settings.epochs):
            rate = 8.0 * self.settings.rate * (1.0 - 0.9 * epoch / self.settings.epochs)
            order = self.random.permutation(len(rows))
            seconds_left()
            for first in range(0, len(order) - _BATCH + 1, _BATCH):
                which = order[first : first + _BATCH]
                self.regression.step(rows[which], rewards[which], weights, rate)
        self._renew()

    # ---------------------------------------------------------------- learning
    def episode(self, number: int) -> None:
        """Play an episode and train the network in every step of it."""
        instance, random = self.instance, self.random
        state = instance.initial[random.integers(len(instance.initial))].copy()
        share = number / max(1, self.settings.episodes - 1)
        epsilon = _EPSILON[0] + (_EPSILON[1] - _EPSILON[0]) * min(1.0, share)
        key, earned = random.integers(0, 2**63, 1).astype(np.uint64), np.empty(1)
        for time in range(instance.horizon):
            if random.random() < epsilon:
                action = instance.constraint.random(random, 1)[0]
            else:
                action = self.policy.best(state, time)[1]
            levels, following = instance.constraint.levels_of(action[None]), state[None].copy()
            advance(self.bounds, instance.rewards, following, levels, key, time, earned)
            self.replay.add(state, levels[0], following[0], time)
            state = following[0]
            for _ in range(self.settings.updates):
                self._learn(1.0 - 0.9 * share)
        if self.settings.target_every and (number + 1) % self.settings.target_every == 0:
            self._renew()

    def _learn(self, fraction: float) -> None:
        """Do one step of regression on transitions from the replay memory, with a `fraction` of the learning rate."""
        batch, arms = self.replay.draw(self.random, _BATCH), np.arange(self.instance.arms)
        earned = self.instance.rewards[arms, batch.levels, batch.states].sum(axis=1) - self.offset
        if self.level_values is None:
            ahead = np.array([self._best(state, 0) for state in batch.following])
            targets, times = earned / self.scale + _GAMMA * ahead, None
        else:
            times, last = batch.times, self.instance.horizon - 1
            ahead = np.array([0.0 if t == last else self._best(s, t + 1) for s, t in zip(batch.following, times.tolist())])
            base = self.level_values[times[:, None], arms, batch.levels, batch.states].sum(axis=1)
            targets = self.instance.weights[times] * earned / self.scale + ahead - base
        rows = inputs(self.instance.rewards.shape, batch.states, batch.levels, times)
        errors = self.regression.step(rows, targets, batch.weights, self.settings.rate * fraction)
        self.replay.update(batch.which, errors)
        if not self.settings.target_every:
            for target, now in zip(self.target.network, self.policy.network):
                target += self.settings.tau * (now - target)

    def _best(self, state: NDArray[np.int32], time: int) -> float:
        """Return the target's best value in a state, cached as long as the target is the same (or hardly changes)."""
        name = time.to_bytes(4, "little") + state.tobytes()
        if name not in self.known:
            self.known[name] = self.target.best(state, time)[0]
        return self.known[name]

    def _renew(self) -> None:
        """Replace the target by a copy of the current network."""
        self.target = self._copied(self.policy.network)
        self.known.clear()

    # ---------------------------------------------------------------- choosing
    def snapshot(self) -> NetworkPolicy:
        """Return a copy of the current policy, which is not trained further."""
        return self._copied(self.policy.network)

    def trial(self, policy: BanditPolicy) -> NDArray[np.float64]:
        """Return the rewards of a policy in the learner's own episodes, float64 [_TRIALS], the same for all policies."""
        instance = self.instance
        random = np.random.default_rng([int(self.instance.seed), 2])
        states = instance.initial[random.integers(len(instance.initial), size=_TRIALS)].copy()
        keys, total, earned = random.integers(0, 2**63, _TRIALS).astype(np.uint64), np.zeros(_TRIALS), np.empty(_TRIALS)
        for time, weight in enumerate(instance.weights):
            levels = instance.constraint.levels_of(policy.actions(states, time, keys))
            advance(self.bounds, instance.rewards, states, levels, keys, time, earned)
            total += weight * earned
        return total
