"""Policies by a table of what levels are worth, and random ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.errors import Infeasible
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policy import BanditPolicy, natural, numbers

__all__ = ["IterativePolicy", "RandomPolicy", "SamplingPolicy", "TablePolicy", "check_table"]


def _worth_of_rows(
    worth: NDArray[np.float64], states: NDArray[np.int32], time: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The tables [U, J, A] of the different rows of `states` [R, J] at a time, and int64 [R], the one of each row."""
    unlike, back = np.unique(states, axis=0, return_inverse=True)
    table = worth[min(time, len(worth) - 1)]
    return table[np.arange(states.shape[1])[None, :], :, unlike], back.reshape(-1)


@dataclass(frozen=True, eq=False)
class TablePolicy(BanditPolicy):
    """Takes the feasible action whose levels are worth most together."""

    instance: BanditInstance
    worth: NDArray[np.float64]
    """[T or 1, J, A, S] of giving an arm in a state a level, at a time (of the last one from then on)."""

    kind = "table"

    def __post_init__(self) -> None:
        check_table(self.instance, self.worth)

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions; draws nothing."""
        worth, back = _worth_of_rows(self.worth, states, time)
        return self.instance.constraint.oracle(worth)[back]

    def to_json(self) -> dict[str, Any]:
        """`worth`."""
        return {"worth": self.worth.tolist()}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> TablePolicy:
        """See BanditPolicy.from_json."""
        return cls(instance, numbers(values, "worth"))


@dataclass(frozen=True, eq=False)
class IterativePolicy(BanditPolicy):
    """Pick by pick: what adds most to the worth of the action so far and leaves it feasible, until nothing adds anything.

    (The iterative myopic baseline of Xu, Wilder, Khalil & Tambe, ICLR 2025.)
    """

    instance: BanditInstance
    worth: NDArray[np.float64]
    """[T or 1, J, A, S] as in TablePolicy."""

    kind = "iterative"

    def __post_init__(self) -> None:
        check_table(self.instance, self.worth)

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions; draws nothing."""
        worth, back = _worth_of_rows(self.worth, states, time)
        return np.array([self._built(each) for each in worth])[back]

    def _built(self, worth: NDArray[np.float64]) -> NDArray[np.int8]:
        """The action for one table [J, A]."""
        seconds_left()
        constraint, arms = self.instance.constraint, np.arange(len(worth))
        action = np.zeros(constraint.action_size, np.int8)
        earned = worth[:, 0].sum()
        while len(free := np.flatnonzero(action == 0)):
            further = np.repeat(action[None], len(free), axis=0)
            further[np.arange(len(free)), free] = 1
            totals = np.where(constraint.fits(further), worth[arms, constraint.given(further)].sum(axis=1), -np.inf)
            best = int(np.argmax(totals))
            if not totals[best] > earned:
                break
            action, earned = further[best], totals[best]
        return action

    def to_json(self) -> dict[str, Any]:
        """`worth`."""
        return {"worth": self.worth.tolist()}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> IterativePolicy:
        """See BanditPolicy.from_json."""
        return cls(instance, numbers(values, "worth"))


@dataclass(frozen=True, eq=False)
class RandomPolicy(BanditPolicy):
    """A random feasible action that cannot be extended, anew in every step."""

    instance: BanditInstance
    seed: int = 0

    kind = "random"

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions."""
        draw = self.instance.constraint.random
        return np.concatenate([draw(np.random.default_rng([self.seed, int(key), time]), 1) for key in keys])

    def to_json(self) -> dict[str, Any]:
        """`seed`."""
        return {"seed": self.seed}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> RandomPolicy:
        """See BanditPolicy.from_json."""
        return cls(instance, natural(values, "seed"))


@dataclass(frozen=True, eq=False)
class SamplingPolicy(BanditPolicy):
    """The best by a table of so many random feasible actions."""

    instance: BanditInstance
    worth: NDArray[np.float64]
    """[J, A, S]"""
    samples: int = 100
    seed: int = 0

    kind = "sampling"

    def __post_init__(self) -> None:
        check_table(self.instance, self.worth[None])

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions."""
        constraint, arms, found = self.instance.constraint, np.arange(self.instance.arms), []
        for state, key in zip(states, keys):
            generator = np.random.default_rng([self.seed, int(key), time])
            drawn = constraint.random(generator, self.samples)
            worth = self.worth[arms[None, :], constraint.given(drawn), state[None, :]].sum(axis=1)
            found.append(drawn[np.argmax(worth)])
        return np.array(found)

    def to_json(self) -> dict[str, Any]:
        """`worth`, `samples`, `seed`."""
        return {"worth": self.worth.tolist(), "samples": self.samples, "seed": self.seed}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> SamplingPolicy:
        """See BanditPolicy.from_json."""
        return cls(instance, numbers(values, "worth"), natural(values, "samples", 1, 100_000), natural(values, "seed"))


def check_table(instance: BanditInstance, worth: NDArray[np.float64]) -> None:
    """Raise Infeasible where `worth` is no table [T or 1, J, A, S] of the instance's arms."""
    shape = (instance.arms, *instance.rewards.shape[1:])
    if worth.ndim != 4 or worth.shape[1:] != shape or len(worth) < 1 or not np.isfinite(worth).all():
        raise Infeasible(f"worth: accepted: finite numbers of shape [times, {', '.join(map(str, shape))}]")
