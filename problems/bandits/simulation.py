"""Episodes of a policy: the judge's side. Every policy meets the same luck (common random numbers)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.bandits.instance import BanditInstance
from corl.rng import hashed

__all__ = ["Outcome", "advance", "episode_keys", "simulate", "thresholds"]

Acts = Callable[[NDArray[np.int32], int, NDArray[np.uint64]], NDArray[np.int8]]


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
        """95 %, over the luck of episodes (Student's t); None for a single one."""
        from scipy.stats import t

        count = len(self.rewards)
        if count < 2:
            return None
        half = float(t.ppf(0.975, count - 1)) * float(np.std(self.rewards, ddof=1)) / math.sqrt(count)
        return self.mean - half, self.mean + half


def simulate(instance: BanditInstance, acts: Acts) -> Outcome:
    """Play all episodes of the instance, side by side.

    `acts(states [E, J], time, keys [E])` gives an action for every episode, int8 [E, action_size]; each is checked.
    Raises Infeasible, naming the episode and the time.
    """
    from corl.errors import Infeasible

    keys, bounds = episode_keys(instance), thresholds(instance)
    states = instance.initial.copy()
    total, reward = np.zeros(instance.episodes), np.empty(instance.episodes)
    known: set[bytes] = set()
    for time, weight in enumerate(instance.weights):
        actions = acts(states.copy(), time, keys)
        if np.shape(actions) != (instance.episodes, instance.constraint.action_size):
            raise Infeasible(f"time {time}: actions of shape {np.shape(actions)}; one is needed for each episode")
        for episode, action in enumerate(actions):
            if (seen := action.tobytes()) not in known:
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


def thresholds(instance: BanditInstance) -> NDArray[np.float64]:
    """[J, A, S, S] the running sums of the transition probabilities: the next state is the first above a uniform draw.

    They are 2 from the last state with a positive probability on.
    """
    sums = np.cumsum(instance.transitions, axis=3)
    last = instance.transitions.shape[3] - 1 - np.argmax(instance.transitions[..., ::-1] > 0.0, axis=3)
    sums[np.arange(sums.shape[3]) >= last[..., None]] = 2.0
    return sums


@kernel
def advance(thresholds: Any, rewards: Any, states: Any, levels: Any, keys: Any, time: Any, earned: Any) -> None:
    """One step of all arms in R episodes: `states` [R, J] move in place; `earned` [R] is the expected reward of the step."""
    for r in range(len(states)):
        total = 0.0
        for j in range(states.shape[1]):
            level, state = levels[r, j], states[r, j]
            total += rewards[j, level, state]
            draw = hashed(keys[r], time, j)  # type: ignore[no-untyped-call]
            following = 0
            while thresholds[j, level, state, following] <= draw:
                following += 1
            states[r, j] = following
        earned[r] = total
