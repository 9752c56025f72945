"""Many days of one instance, played by a learner in one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.transitions import thresholds
from corl.rng import hashed
from corl.solvers.bandits.online.learner import METHODS, Learner, choose, last_plan, learn_by_q, plan

__all__ = ["Days", "simulate_days"]


class Days(NamedTuple):
    """What a learner earned and did on R days of T steps."""

    rewards: NDArray[np.float64]
    """[R, T] the expected reward of each step, given the states and the pulls."""
    pulls: NDArray[np.int32]
    """[R, J] how often each arm was pulled."""
    actions: NDArray[np.int8]
    """[R, T, J] the pulls of each step, if they were asked for; otherwise [R, 0, J]."""
    counts: NDArray[np.int32]
    """[R, J, 2, S, S] the transitions of each day, and those in the logs before it."""


def simulate_days(
    instance: BanditInstance,
    learner: Learner,
    keys: Sequence[int],
    *,
    logged: NDArray[np.int32] | None = None,
    record: bool = False,
) -> Days:
    """Play the days `Problem.realised_instance(instance, key)` for each key, one after the other.

    Args:
        instance: The instance.
        learner: A learner for it (`make_learner`), which forgets each day.
        keys: The keys of the days.
        logged: int32 [J, 2, S, S], the transitions in logs of earlier days, which are known at the beginning of each day and
            counted in `Days.counts`; None: there are none.
        record: Whether `Days.actions` is filled.
    """
    from corl.problems.bandits.environment import episode_of
    from corl.problems.bandits.evaluation import episode_keys

    days = [episode_of(instance, key) for key in keys]
    initial = np.concatenate([day.initial for day in days])
    day_keys = np.concatenate([episode_keys(day) for day in days])
    runs, (arms, _, size), steps = len(days), instance.rewards.shape, instance.horizon
    found = Days(
        np.zeros((runs, steps)),
        np.zeros((runs, arms), np.int32),
        np.zeros((runs, steps if record else 0, arms), np.int8),
        np.zeros((runs, arms, 2, size, size), np.int32),
    )
    if logged is not None:
        found.counts[:] = logged
    _simulate(learner, thresholds(instance), initial, day_keys, *found)
    return found


_WIQL, _PLANLESS = METHODS["wiql"], METHODS["random"]


@kernel
def _simulate(learner: Any, limits: Any, initial: Any, keys: Any, rewards: Any, pulls: Any, actions: Any, counts: Any) -> None:
    """Fill the arrays of `Days`, in place; `limits` are `transitions.thresholds`."""
    runs, steps = rewards.shape
    _, arms, _, size, _ = counts.shape
    q, visits = np.zeros((arms, size, 2)), np.zeros((arms, size, 2), np.int32)
    values, action = np.zeros((arms, size)), np.zeros(arms, np.int8)
    last_pull, following = np.empty(arms, np.int32), np.empty(arms, np.int32)
    for r in range(runs):
        states = initial[r].copy()
        q[:], visits[:], last_pull[:] = 0.0, 0, -1
        planned = -1
        for time in range(steps):
            if learner.method != _WIQL and learner.method != _PLANLESS and last_plan(learner, time) > planned:
                planned = time
                plan(learner, counts[r], states, time, values)
            choose(learner, values, q, states, time, last_pull, action)
            _advance(learner, limits, keys[r], time, states, action, following, counts[r], last_pull, pulls[r], rewards[r])
            if learner.method == _WIQL:
                learn_by_q(learner, visits, q, states, action, following)
            if actions.shape[1]:
                actions[r, time] = action
            states[:] = following


@kernel
def _advance(
    learner: Any, limits: Any, key: Any, time: Any, states: Any, action: Any, following: Any, counts: Any, last_pull: Any,
    pulls: Any, rewards: Any,
) -> None:  # fmt: skip
    """Move the arms by one step, and record rewards, transitions and pulls, in place; the next states go to `following` [J]."""
    total = 0.0
    for j in range(len(states)):
        s, a = states[j], action[j]
        draw, after = hashed(key, time, j), 0
        while limits[j, a, s, after] <= draw:
            after += 1
        following[j] = after
        total += learner.rewards[j, a, s]
        counts[j, a, s, after] += 1
        if a:
            last_pull[j] = time
            pulls[j] += 1
    rewards[time] = total
