"""A policy as a game: the picks and commits by which it plays an episode."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.bandits.environment import BanditEnvironment
from corl.problems.bandits.policy import BanditPolicy

__all__ = ["decisions"]


def decisions(policy: BanditPolicy, environment: BanditEnvironment) -> NDArray[np.int64]:
    """The actions, int64 [..], by which a policy plays row 0 to its end: of a step those picks first that are listed first."""
    state, row, taken = environment.state, np.zeros(1, np.int64), list[int]()
    instance = environment.instances[int(state.instance[0])]
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
