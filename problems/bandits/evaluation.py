"""The judge: the mean reward of a policy in the instance's episodes, whose random numbers are the same for every policy.

It asks a policy for actions and knows nothing else of it: an `Act` is a function of the arms' states and the time.
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
"""act(states [E, J], time, keys [E]) -> actions [E, action_size]: of all episodes at a time of theirs. What a random policy
draws in an episode depends on the episode's key alone, so that it is the same whichever episodes are beside it."""


class Outcome(NamedTuple):
    """What a policy earned."""

    rewards: NDArray[np.float64]
    """[E] the weighted mean of an episode's expected rewards a step."""

    @property
    def mean(self) -> float:
        """Over the episodes."""
        return math.fsum(self.rewards) / len(self.rewards)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 %, over the random numbers of episodes (Student's t); None for a single one."""
        found = sample_mean(self.rewards)
        return None if found.low is None or found.high is None else (found.low, found.high)


def check(instance: BanditInstance, solution: Any) -> BanditPolicy:
    """The solution, a policy for as many arms, levels and states. Raises Infeasible for anything else.

    Its actions are checked when it is played: see `simulate`.
    """
    if not isinstance(solution, BanditPolicy):
        raise Infeasible(f"{kind_of(solution)} is no policy")
    if solution.instance.rewards.shape != instance.rewards.shape:
        raise Infeasible("a policy for other arms")
    return solution


def objective(instance: BanditInstance, solution: Any) -> float:
    """The mean reward a step over the instance's episodes. Raises as `check` and `simulate` do."""
    return outcome_of(instance, check(instance, solution)).mean


def outcome_of(instance: BanditInstance, policy: BanditPolicy) -> Outcome:
    """What a policy earns; its episodes are simulated once, however often it is judged, for policies never change.

    A policy that is pickled takes that with it, so that what a worker has played for seconds is not played again by its parent.
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
            if (seen := action.tobytes()) not in known:
                seconds_left()
                try:
                    instance.constraint.checked(action)
                except Infeasible as error:
                    raise Infeasible(f"episode {episode}, time {time}: {error}") from error
                known.add(seen)
        advance(bounds, instance.rewards, states, instance.constraint.given(actions), keys, time, reward)
        total += weight * reward
    return Outcome(total)


def episode_keys(instance: BanditInstance) -> NDArray[np.uint64]:
    """[E] where the randomness of each episode comes from: a function of the instance's seed and the episode's number."""
    keys = [np.random.SeedSequence([instance.seed, e]).generate_state(1, np.uint64)[0] for e in range(instance.episodes)]
    return np.array(keys, np.uint64)
