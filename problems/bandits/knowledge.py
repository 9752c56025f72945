"""`Knowledge`: what is known of a bandit whose transition probabilities are unknown, at one moment of an episode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.bandits.instance import BanditInstance

__all__ = ["Knowledge", "estimated"]


@dataclass
class Knowledge:
    """The history of the episode so far, and of earlier logs the counts; J arms, A levels, S states.

    Beliefs depend on the counts of transitions alone. The order of the steps is kept for methods that learn step by step.
    """

    arms: int
    shape: tuple[int, int, int]
    """(J, A, S)"""
    states: list[NDArray[np.int32]] = field(default_factory=list)
    """The states of the arms at each time so far, int32 [J] each."""
    actions: list[NDArray[np.int8]] = field(default_factory=list)
    """The action of each step so far, int8 [action_size] each."""
    logged: NDArray[np.int32] = None  # type: ignore[assignment]  # zeros by default
    """[J, A, S, S] counts of transitions in earlier logs, by arm, level, state and next state."""

    def __post_init__(self) -> None:
        if self.logged is None:
            self.logged = np.zeros((*self.shape, self.shape[2]), np.int32)

    def counts(self, levels: NDArray[np.int8], time: int) -> NDArray[np.int32]:
        """Return the counts of transitions before `time`, earlier logs included, int32 [J, A, S, S].

        `levels`, int8 [T, J], are the levels of the arms in each step so far (Constraint.levels_of the actions).
        """
        counts = self.logged.copy()
        if time:
            _count(np.array(self.states[: time + 1]), levels[:time], counts)
        return counts


def estimated(instance: BanditInstance, knowledge: Knowledge) -> BanditInstance:
    """Return the remaining steps of an episode as an instance whose transition probabilities are estimates from the counts.

    To each count, 1 / S is added. Nothing else of `instance`'s probabilities is used.
    """
    time, constraint = len(knowledge.actions), instance.constraint
    taken = np.array(knowledge.actions, np.int8).reshape(time, constraint.action_size)
    counts = knowledge.counts(constraint.levels_of(taken), time) + np.where(
        instance.exists[..., None] & instance.exists[:, :, None], 1.0 / instance.transitions.shape[-1], 0.0
    )
    total = counts.sum(axis=3, keepdims=True)
    return BanditInstance(
        instance.name,
        np.where(total > 0.0, counts / np.where(total > 0.0, total, 1.0), 0.0),
        instance.rewards,
        constraint,
        knowledge.states[-1][None],
        instance.horizon - time,
        instance.discount,
        instance.states,
        instance.levels,
    )


@kernel
def _count(states: Any, levels: Any, counts: Any) -> None:
    """Add the transitions between the rows of `states` [T + 1, J], with `levels` [T, J], to `counts` [J, A, S, S], in place."""
    for time in range(len(levels)):
        for j in range(states.shape[1]):
            counts[j, levels[time, j], states[time, j], states[time + 1, j]] += 1
