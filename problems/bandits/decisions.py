"""Conversion of a policy into the environment's actions (picks and commits) with which it plays an episode."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.bandits.environment import BanditEnvironment
from corl.problems.bandits.evaluation import check
from corl.problems.bandits.instance import BanditInstance

__all__ = ["decisions"]


def decisions(instance: BanditInstance, solution: Any, key: int = 0) -> NDArray[np.int64]:
    """Return the environment's actions with which a policy plays the episode of this key, int64, one after the other.

    Within a step, the picks are in the order in which the environment lists them. Raises Infeasible if `solution` is not a policy
    or takes an infeasible action.
    """
    policy, environment = check(instance, solution), BanditEnvironment([instance], 1)
    environment.reset([0], [0], [key])
    state, row, taken = environment.state, np.zeros(1, np.int64), list[int]()
    while (time := int(state.time[0])) < instance.horizon:
        arms = state.arm[:1, : instance.arms].copy()
        action = policy.actions(arms, time, state.key[:1])[0]
        instance.constraint.checked(action)
        listed = [int(pick) for pick in environment.actions(row)[0] if 0 <= pick < len(action)]
        wanted = [pick for pick in listed if action[pick]]
        wanted += [pick for pick in np.flatnonzero(action).tolist() if pick not in wanted]
        for pick in [*wanted, len(action)]:
            environment.step(row, row, np.array([pick]))
            taken.append(pick)
    return np.array(taken, np.int64)
