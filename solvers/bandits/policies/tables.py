"""Policies by a table of values of levels, and random ones."""

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
    """Return the tables [U, J, A] of the different rows of `states` [R, J] at a time, and the table of each row, int64 [R]."""
    distinct, inverse = np.unique(states, axis=0, return_inverse=True)
    table = level_values[min(time, len(level_values) - 1)]
    return table[np.arange(states.shape[1])[None, :], :, distinct], inverse.reshape(-1)


@dataclass(frozen=True, eq=False)
class TablePolicy(BanditPolicy):
    """Take the feasible action with the largest sum of level values."""

    instance: BanditInstance
    level_values: NDArray[np.float64]
    """[T or 1, J, A, S] the value of a level in a state at a time (the last row also for later times); "worth" in JSON."""

    kind = "table"

    def __post_init__(self) -> None:
        check_table(self.instance, self.level_values)

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions; draws nothing."""
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
    """Build an action pick by pick: each adds most to the sum of level values and keeps it feasible, until none adds anything.

    (The iterative myopic baseline of Xu, Wilder, Khalil & Tambe, ICLR 2025.)
    """

    instance: BanditInstance
    level_values: NDArray[np.float64]
    """[T or 1, J, A, S] as in TablePolicy."""

    kind = "iterative"

    def __post_init__(self) -> None:
        check_table(self.instance, self.level_values)

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions; draws nothing."""
        level_values, inverse = _values_of_rows(self.level_values, states, time)
        return np.array([self._built(each) for each in level_values])[inverse]

    def _built(self, level_values: NDArray[np.float64]) -> NDArray[np.int8]:
        """Return the action for one table [J, A]."""
        seconds_left()
        constraint, arms = self.instance.constraint, np.arange(len(level_values))
        action = np.zeros(constraint.action_size, np.int8)
        earned = level_values[:, 0].sum()
        while len(free := np.flatnonzero(action == 0)):
            further = np.repeat(action[None], len(free), axis=0)
            further[np.arange(len(free)), free] = 1
            totals = np.where(constraint.fits(further), level_values[arms, constraint.levels_of(further)].sum(axis=1), -np.inf)
            best = int(np.argmax(totals))
            if not totals[best] > earned:
                break
            action, earned = further[best], totals[best]
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
    """Take a random feasible action that cannot be extended, in every step."""

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
    """Take the best of `samples` random feasible actions, by a table."""

    instance: BanditInstance
    level_values: NDArray[np.float64]
    """[J, A, S] values of levels, "worth" in JSON."""
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
