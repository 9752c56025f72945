"""Policies that maximise a table of level values, and random policies.

A level value is the value that some arm contributes if it is in some state and gets some level at some time. The value of an
action is the sum over the arms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.errors import Infeasible
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policy import BanditPolicy, read_array, read_integer

__all__ = ["IterativePolicy", "RandomPolicy", "SamplingPolicy", "TablePolicy", "check_table"]


def _values_of_rows(
    level_values: NDArray[np.float64], states: NDArray[np.int32], time: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the level values [U, J, A] at a time of the U different rows of `states` [R, J], and each row's index in U, [R]."""
    distinct, inverse = np.unique(states, axis=0, return_inverse=True)
    table = level_values[min(time, len(level_values) - 1)]
    return table[np.arange(states.shape[1])[None, :], :, distinct], inverse.reshape(-1)


@dataclass(frozen=True, eq=False)
class TablePolicy(BanditPolicy):
    """Take the feasible action with the largest sum of level values."""

    instance: BanditInstance
    level_values: NDArray[np.float64]
    """[T or 1, J, A, S], "worth" in JSON; the last row of axis 0 also holds for later times."""

    kind = "table"

    def __post_init__(self) -> None:
        check_table(self.instance, self.level_values)

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions; uses no random numbers."""
        level_values, inverse = _values_of_rows(self.level_values, states, time)
        return self.instance.constraint.oracle(level_values)[inverse]

    def to_json(self) -> dict[str, Any]:
        """Return `worth`."""
        return {"worth": self.level_values.tolist()}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> TablePolicy:
        """See BanditPolicy.from_json."""
        return cls(instance, read_array(values, "worth"))


@dataclass(frozen=True, eq=False)
class IterativePolicy(BanditPolicy):
    """Build an action greedily: add the feasible entry that raises the sum of level values most, until none raises it.

    This is the iterative myopic baseline of Xu, Wilder, Khalil & Tambe (ICLR 2025).
    """

    instance: BanditInstance
    level_values: NDArray[np.float64]
    """[T or 1, J, A, S] as in TablePolicy."""

    kind = "iterative"

    def __post_init__(self) -> None:
        check_table(self.instance, self.level_values)

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions; uses no random numbers."""
        level_values, inverse = _values_of_rows(self.level_values, states, time)
        return np.array([self._built(each) for each in level_values])[inverse]

    def _built(self, level_values: NDArray[np.float64]) -> NDArray[np.int8]:
        """Return the action for one table of level values [J, A]."""
        seconds_left()
        constraint, arms = self.instance.constraint, np.arange(len(level_values))
        action = np.zeros(constraint.action_size, np.int8)
        value = level_values[:, 0].sum()
        while len(unset := np.flatnonzero(action == 0)):
            candidates = np.repeat(action[None], len(unset), axis=0)
            candidates[np.arange(len(unset)), unset] = 1
            totals = np.where(
                constraint.fits(candidates), level_values[arms, constraint.levels_of(candidates)].sum(axis=1), -np.inf
            )
            best = int(np.argmax(totals))
            if not totals[best] > value:
                break
            action, value = candidates[best], totals[best]
        return action

    def to_json(self) -> dict[str, Any]:
        """Return `worth`."""
        return {"worth": self.level_values.tolist()}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> IterativePolicy:
        """See BanditPolicy.from_json."""
        return cls(instance, read_array(values, "worth"))


@dataclass(frozen=True, eq=False)
class RandomPolicy(BanditPolicy):
    """Take a random maximal feasible action in every step."""

    instance: BanditInstance
    seed: int = 0

    kind = "random"

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions."""
        draw = self.instance.constraint.random
        return np.concatenate([draw(np.random.default_rng([self.seed, int(key), time]), 1) for key in keys])

    def to_json(self) -> dict[str, Any]:
        """Return `seed`."""
        return {"seed": self.seed}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> RandomPolicy:
        """See BanditPolicy.from_json."""
        return cls(instance, read_integer(values, "seed"))


@dataclass(frozen=True, eq=False)
class SamplingPolicy(BanditPolicy):
    """Take the best of `samples` random maximal feasible actions, by a table of level values."""

    instance: BanditInstance
    level_values: NDArray[np.float64]
    """[J, A, S], "worth" in JSON; the same at all times."""
    samples: int = 100
    seed: int = 0

    kind = "sampling"

    def __post_init__(self) -> None:
        check_table(self.instance, self.level_values[None])

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions."""
        constraint, arms, found = self.instance.constraint, np.arange(self.instance.arms), []
        for state, key in zip(states, keys):
            generator = np.random.default_rng([self.seed, int(key), time])
            drawn = constraint.random(generator, self.samples)
            level_values = self.level_values[arms[None, :], constraint.levels_of(drawn), state[None, :]].sum(axis=1)
            found.append(drawn[np.argmax(level_values)])
        return np.array(found)

    def to_json(self) -> dict[str, Any]:
        """Return `worth`, `samples` and `seed`."""
        return {"worth": self.level_values.tolist(), "samples": self.samples, "seed": self.seed}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> SamplingPolicy:
        """See BanditPolicy.from_json."""
        return cls(
            instance, read_array(values, "worth"), read_integer(values, "samples", 1, 100_000), read_integer(values, "seed")
        )


def check_table(instance: BanditInstance, level_values: NDArray[np.float64]) -> None:
    """Raise Infeasible if `level_values` is not a table [T or 1, J, A, S] for the instance's arms."""
    shape = (instance.arms, *instance.rewards.shape[1:])
    if level_values.ndim != 4 or level_values.shape[1:] != shape or len(level_values) < 1 or not np.isfinite(level_values).all():
        raise Infeasible(f"worth: accepted: finite numbers of shape [times, {', '.join(map(str, shape))}]")
