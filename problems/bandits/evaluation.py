"""The judge: simulates a policy in the instance's episodes and returns its mean reward.

The episodes' random numbers are the same for every policy. The simulation calls only the policy's method `actions`, an `Act`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.errors import Infeasible, kind_of
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policy import BanditPolicy
from corl.problems.bandits.transitions import advance, thresholds
from corl.statistics import sample_mean

__all__ = ["Act", "Outcome", "check", "episode_keys", "objective", "outcome_of", "simulate"]

Act = Callable[[NDArray[np.int32], int, NDArray[np.uint64]], NDArray[np.int8]]
"""act(states int32 [E, J], time, keys uint64 [E]) -> actions int8 [E, action_size], for E episodes of J arms at one time.

A random policy draws for each episode from that episode's key alone, so that an action never depends on the other episodes.
"""


class Outcome(NamedTuple):
    """The rewards that a policy earned."""

    rewards: NDArray[np.float64]
    """[E] per episode: the mean of the steps' expected rewards, weighted by `BanditInstance.weights`."""

    @property
    def mean(self) -> float:
        """The mean over the episodes."""
        return math.fsum(self.rewards) / len(self.rewards)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the mean over random episodes (Student's t); None for a single episode."""
        found = sample_mean(self.rewards)
        return None if found.low is None or found.high is None else (found.low, found.high)


def check(instance: BanditInstance, solution: Any) -> BanditPolicy:
    """Return the solution, if it is a policy for this number of arms, levels and states. Raises Infeasible for anything else.

    The policy's actions are not checked here, but in `simulate`.
    """
    if not isinstance(solution, BanditPolicy):
        raise Infeasible(f"{kind_of(solution)} is no policy")
    if solution.instance.rewards.shape != instance.rewards.shape:
        raise Infeasible("a policy for other arms")
    return solution


def objective(instance: BanditInstance, solution: Any) -> float:
    """Return the mean reward per step over the instance's episodes. Raises as `check` and `simulate` do."""
    return outcome_of(instance, check(instance, solution)).mean


def outcome_of(instance: BanditInstance, policy: BanditPolicy) -> Outcome:
    """Return the rewards of a policy: from its cache, or by `simulate`, whose exceptions it raises.

    The cache is part of the pickled policy, so that a parent process need not repeat a worker's simulation, which takes seconds.
    """
    cached = policy.__dict__.get("_outcome")
    if cached is None or cached[0] != instance.digest:
        cached = policy.__dict__["_outcome"] = (instance.digest, simulate(instance, policy.actions))
    return cached[1]


def simulate(instance: BanditInstance, act: Act) -> Outcome:
    """Play all episodes of the instance, side by side, and check every action.

    Raises:
        Infeasible: An action has the wrong shape or violates the constraint; the message names the episode and the time.
        OutOfTime: The deadline passed (`corl.deadline`).
    """
    keys, bounds = episode_keys(instance), thresholds(instance)
    states = instance.initial.copy()
    total, reward = np.zeros(instance.episodes), np.empty(instance.episodes)
    feasible_actions: set[bytes] = set()
    for time, weight in enumerate(instance.weights):
        actions = act(states.copy(), time, keys)
        if np.shape(actions) != (instance.episodes, instance.constraint.action_size):
            raise Infeasible(f"time {time}: actions of shape {np.shape(actions)}; one is needed for each episode")
        for episode, action in enumerate(actions):
            if (name := action.tobytes()) not in feasible_actions:
                seconds_left()
                try:
                    instance.constraint.checked(action)
                except Infeasible as error:
                    raise Infeasible(f"episode {episode}, time {time}: {error}") from error
                feasible_actions.add(name)
        advance(bounds, instance.rewards, states, instance.constraint.levels_of(actions), keys, time, reward)
        total += weight * reward
    return Outcome(total)


def episode_keys(instance: BanditInstance) -> NDArray[np.uint64]:
    """Return the keys of the episodes' random numbers, uint64 [E]: functions of the instance's seed and the episode's number."""
    keys = [np.random.SeedSequence([instance.seed, e]).generate_state(1, np.uint64)[0] for e in range(instance.episodes)]
    return np.array(keys, np.uint64)
