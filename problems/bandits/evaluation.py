"""The judge: the mean reward of a policy in the instance's episodes, whose random numbers are the same for every policy.

All it needs of a policy is an `Act`, a function of the arms' states and the time.
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
"""act(states [E, J], time, keys [E]) -> actions [E, action_size] for all episodes at one time. The random draws of a policy in an
episode depend only on the episode's key, so that its action is the same whichever other episodes are present."""


class Outcome(NamedTuple):
    """The rewards that a policy earned."""

    rewards: NDArray[np.float64]
    """[E] the weighted mean of each episode's expected rewards per step."""

    @property
    def mean(self) -> float:
        """The mean over the episodes."""
        return math.fsum(self.rewards) / len(self.rewards)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean over random episodes (Student's t); None for a single episode."""
        found = sample_mean(self.rewards)
        return None if found.low is None or found.high is None else (found.low, found.high)


def check(instance: BanditInstance, solution: Any) -> BanditPolicy:
    """Return the solution, if it is a policy for this number of arms, levels and states. Raises Infeasible for anything else.

    Its actions are checked by `simulate`.
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
    """Return the rewards of a policy. Its episodes are simulated once, and the outcome is kept, because policies do not change.

    A pickled policy contains its outcome, so that the parent does not simulate again what a worker has simulated for seconds.
    Raises as `simulate` does.
    """
    known = policy.__dict__.get("_outcome")
    if known is None or known[0] != instance.digest:
        known = policy.__dict__["_outcome"] = (instance.digest, simulate(instance, policy.actions))
    return known[1]


def simulate(instance: BanditInstance, act: Act) -> Outcome:
    """Play all episodes of the instance, side by side, and check every action.

    Raises:
        Infeasible: An action of another size, or one that the constraint forbids; it names the episode and the time.
        OutOfTime: See deadline.py.
    """
    keys, bounds = episode_keys(instance), thresholds(instance)
    states = instance.initial.copy()
    total, reward = np.zeros(instance.episodes), np.empty(instance.episodes)
    known: set[bytes] = set()
    for time, weight in enumerate(instance.weights):
        actions = act(states.copy(), time, keys)
        if np.shape(actions) != (instance.episodes, instance.constraint.action_size):
            raise Infeasible(f"time {time}: actions of shape {np.shape(actions)}; one is needed for each episode")
        for episode, action in enumerate(actions):
            if (name := action.tobytes()) not in known:
                seconds_left()
                try:
                    instance.constraint.checked(action)
                except Infeasible as error:
                    raise Infeasible(f"episode {episode}, time {time}: {error}") from error
                known.add(name)
        advance(bounds, instance.rewards, states, instance.constraint.levels_of(actions), keys, time, reward)
        total += weight * reward
    return Outcome(total)


def episode_keys(instance: BanditInstance) -> NDArray[np.uint64]:
    """Return the keys of the episodes' random numbers, uint64 [E]: functions of the instance's seed and the episode's number."""
    keys = [np.random.SeedSequence([instance.seed, e]).generate_state(1, np.uint64)[0] for e in range(instance.episodes)]
    return np.array(keys, np.uint64)
