"""Algorithm 1 of Xu, Wilder, Khalil & Tambe (ICLR 2025): pretraining on one-step rewards, then deep Q-learning.

Rewards are normalised: their mean is subtracted, which does not change the best action, and they are divided by their standard
deviation. If a table of level values is given (what each arm contributes at each level, in each state, at each time), the network
learns the difference between the Q-value and the sum of the table's values.
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

_BATCH = 32  # transitions in a step of regression; this and the next two are the paper's
_EPSILON = (0.9, 0.05)  # probability of a random action in the first and in the last episode
_GAMMA = 0.99  # discount of the Q-values if no table is given
_SAMPLES = 6_000  # pairs of a state and an action for pretraining
_TRIALS = 20  # episodes in which policies are compared


@dataclass(frozen=True)
class LearningSettings:
    """Settings of the training."""

    episodes: int
    """The number of episodes, over which epsilon and the learning rate fall."""
    epochs: int
    """Epochs of pretraining."""
    updates: int
    """Steps of regression per step of an episode."""
    rate: float
    """The initial learning rate."""
    target_every: int
    """After how many episodes the target network is replaced by a copy of the network; 0: it follows the network by `tau`."""
    tau: float
    """The fraction by which the target network moves towards the network in every step of regression, if `target_every` is 0."""


class Learner:
    """Trains a network for one instance. Its methods raise OutOfTime if the deadline passes.

    No random numbers of the instance's episodes are used.

    Args:
        instance: The instance.
        settings: The settings.
        seed: The seed of the training.
        choice: How the best action is found, one of network.CHOICES.
        level_values: float64 [T, J, A, S], a table of values to which the network's outputs are added; None: no table.
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
        self.policy = NetworkPolicy(instance, network, self.level_values, choice)  # shares the network that is trained in place
        self.target = self._copied(network)
        self.thresholds = thresholds(instance)
        self.known: dict[bytes, float] = {}
        """Bytes of a time and a state -> the target network's best value there; emptied when the target network is replaced."""

    def _units(self, level_values: NDArray[np.float64] | None) -> tuple[float, float]:
        """Return what is subtracted from rewards, and their divisor.

        These are the mean and the standard deviation of the rewards of random states and actions. With a table, nothing is
        subtracted, and the deviation is weighted as in the objective.
        """
        states, levels = self._diverse(512)
        earned = self.instance.rewards[np.arange(self.instance.arms), levels, states].sum(axis=1)
        spread = float(earned.std()) or 1.0
        return (float(earned.mean()), spread) if level_values is None else (0.0, spread * float(self.instance.weights[0]))

    def _copied(self, network: QNetwork) -> NetworkPolicy:
        """Return a policy with a copy of the network; it shares the list of actions."""
        policy = NetworkPolicy(self.instance, QNetwork(*(array.copy() for array in network)), self.level_values, self.choice)
        if self.choice == "list":
            policy.__dict__["listing"] = self.policy.listing
        return policy

    def _diverse(self, count: int) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Return diverse states, int32 [count, J], and levels, int8 [count, J], for pretraining (section 4.2 of the paper).

        The arms' states are random or, in 30 % of the rows, nearly all equal. Actions are random, empty, a single entry, or the
        highest level of each arm, whether feasible or not.
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
        """Train the network on one-step rewards, in place. Does nothing if a table is given, which contains these rewards."""
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
        """Play an episode, and train the network after each of its steps; `number` counts episodes from 0."""
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
            advance(self.thresholds, instance.rewards, following, levels, key, time, earned)
            self.replay.add(state, levels[0], following[0], time)
            state = following[0]
            for _ in range(self.settings.updates):
                self._learn(1.0 - 0.9 * share)
        if self.settings.target_every and (number + 1) % self.settings.target_every == 0:
            self._renew()

    def _learn(self, fraction: float) -> None:
        """Do one step of regression on transitions from the replay buffer, with a `fraction` of the learning rate."""
        batch, arms = self.replay.draw(self.random, _BATCH), np.arange(self.instance.arms)
        earned = self.instance.rewards[arms, batch.levels, batch.states].sum(axis=1) - self.offset
        if self.level_values is None:
            next_values = np.array([self._best(state, 0) for state in batch.following])
            targets, times = earned / self.scale + _GAMMA * next_values, None
        else:
            times, last = batch.times, self.instance.horizon - 1
            next_values = np.array([0.0 if t == last else self._best(s, t + 1) for s, t in zip(batch.following, times.tolist())])
            table_values = self.level_values[times[:, None], arms, batch.levels, batch.states].sum(axis=1)
            targets = self.instance.weights[times] * earned / self.scale + next_values - table_values
        rows = inputs(self.instance.rewards.shape, batch.states, batch.levels, times)
        errors = self.regression.step(rows, targets, batch.weights, self.settings.rate * fraction)
        self.replay.update(batch.which, errors)
        if not self.settings.target_every:
            for target, now in zip(self.target.network, self.policy.network):
                target += self.settings.tau * (now - target)

    def _best(self, state: NDArray[np.int32], time: int) -> float:
        """Return the target network's best value in a state: cached until the target network is replaced.

        With `target_every` 0 the cache is never emptied, because the target network hardly changes.
        """
        name = time.to_bytes(4, "little") + state.tobytes()
        if name not in self.known:
            self.known[name] = self.target.best(state, time)[0]
        return self.known[name]

    def _renew(self) -> None:
        """Replace the target network by a copy of the network."""
        self.target = self._copied(self.policy.network)
        self.known.clear()

    # ---------------------------------------------------------------- comparison of policies
    def snapshot(self) -> NetworkPolicy:
        """Return a copy of the current policy, which further training does not change."""
        return self._copied(self.policy.network)

    def trial(self, policy: BanditPolicy) -> NDArray[np.float64]:
        """Return the rewards of a policy in 20 episodes, float64 [_TRIALS], with the same random numbers for all policies."""
        instance = self.instance
        random = np.random.default_rng([int(self.instance.seed), 2])
        states = instance.initial[random.integers(len(instance.initial), size=_TRIALS)].copy()
        keys, total, earned = random.integers(0, 2**63, _TRIALS).astype(np.uint64), np.zeros(_TRIALS), np.empty(_TRIALS)
        for time, weight in enumerate(instance.weights):
            levels = instance.constraint.levels_of(policy.actions(states, time, keys))
            advance(self.thresholds, instance.rewards, states, levels, keys, time, earned)
            total += weight * earned
        return total
