"""Policies: what a solution of a bandit is. Each can be asked for an action, written as JSON, and read again."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.errors import Infeasible, InputError, UsageError
from corl.problems.bandits.instance import BanditInstance

__all__ = ["KINDS", "BanditPolicy", "RandomPolicy", "SamplingPolicy", "TablePolicy", "from_json"]


class BanditPolicy(abc.ABC):
    """Chooses a feasible action for every state of an instance's arms."""

    kind: ClassVar[str]
    """Its name in JSON."""
    instance: BanditInstance

    @abc.abstractmethod
    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """The actions in R situations: states [R, J] at a time -> int8 [R, action_size].

        keys [R]: where a random policy draws from, so that an episode does not depend on those beside it.
        """

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Its numbers, without "kind"."""

    def act(self, state: ArrayLike, time: int = 0, key: int = 0) -> NDArray[np.int8]:
        """The action int8 [action_size] in one state of the arms [J], at a time of the episode."""
        states = np.asarray(state)
        if states.shape != (self.instance.arms,) or states.dtype.kind not in "iu":
            raise UsageError(f"state: accepted: {self.instance.arms} integers, a state for each arm")
        if ((states < 0) | (states >= self.instance.states)).any():
            raise UsageError("state: an arm has no such state")
        action: NDArray[np.int8] = self.actions(states.astype(np.int32)[None], time, np.array([key], np.uint64))[0]
        return action


@dataclass(frozen=True, eq=False)
class TablePolicy(BanditPolicy):
    """Takes the feasible action whose levels are worth most together."""

    instance: BanditInstance
    worth: NDArray[np.float64]
    """[T or 1, J, A, S] of giving an arm in a state a level, at a time (of the last one from then on)."""

    kind = "table"

    def __post_init__(self) -> None:
        shape = (self.instance.arms, *self.instance.rewards.shape[1:])
        if self.worth.ndim != 4 or self.worth.shape[1:] != shape or len(self.worth) < 1 or not np.isfinite(self.worth).all():
            raise Infeasible(f"worth: accepted: finite numbers of shape [times, {', '.join(map(str, shape))}]")

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions; draws nothing."""
        unlike, back = np.unique(states, axis=0, return_inverse=True)
        table = self.worth[min(time, len(self.worth) - 1)]
        worth = table[np.arange(self.instance.arms)[None, :], :, unlike]
        return self.instance.constraint.oracle(worth)[back.reshape(-1)]

    def to_json(self) -> dict[str, Any]:
        """`worth`."""
        return {"worth": self.worth.tolist()}


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


@dataclass(frozen=True, eq=False)
class SamplingPolicy(BanditPolicy):
    """The best by a table of so many random feasible actions."""

    instance: BanditInstance
    worth: NDArray[np.float64]
    """[J, A, S]"""
    samples: int = 100
    seed: int = 0

    kind = "sampling"

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


KINDS = (TablePolicy, RandomPolicy, SamplingPolicy)


def from_json(instance: BanditInstance, values: Any) -> BanditPolicy:
    """The policy that `to_json` and its "kind" describe. Raises InputError, or Infeasible where it is of other arms."""
    if not isinstance(values, Mapping) or values.get("kind") not in [kind.kind for kind in KINDS]:
        raise InputError(f"accepted: an object with kind {', '.join(kind.kind for kind in KINDS)}", field="policy")
    kind = next(each for each in KINDS if each.kind == values["kind"])
    given = {name: value for name, value in values.items() if name != "kind"}
    try:
        if "worth" in given:
            given["worth"] = np.array(given["worth"], np.float64)
        for name in ("seed", "samples"):
            if name in given and (type(given[name]) is not int or given[name] < 0):
                raise InputError("accepted: an integer from 0", field=f"policy.{name}")
        return kind(instance, **given)
    except (TypeError, ValueError) as error:
        raise InputError(f"no {kind.kind} policy: {error}", field="policy") from error
