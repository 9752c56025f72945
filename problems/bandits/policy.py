"""BanditPolicy: what a solution of a bandit must give; and the door by which its kinds are found, `policy_from_json`.

Policies are made by solvers, so their classes are solvers' code, which nothing here imports. Yet whoever reads a solution's JSON
(`corl check`, a model, another program) must take its actions again, with the class that its "kind" names. That class is found
as problems and solvers are: by the entry point bandits.KIND of the group `corl.policies`, loaded when such a policy is read and
not before. A solver from elsewhere declares its own kinds of policies there.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.entry_points import declared, load
from corl.errors import InputError, UsageError
from corl.problems.bandits.instance import BanditInstance

__all__ = ["GROUP", "BanditPolicy", "Memory", "kinds", "natural", "numbers", "policy_from_json"]

GROUP = "corl.policies"
"""The group of entry points PROBLEM.KIND = "module:PolicyClass"."""
_MOST = 100_000  # actions that a policy remembers


class Memory(dict[bytes, NDArray[np.int8]]):
    """Actions that have been found: a policy whose actions are dear is asked for each twice or more (to judge, to verify)."""

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        return Memory, ()  # too much to send with a policy

    def keep(self, key: bytes, action: NDArray[np.int8]) -> None:
        """Remember an action, and nothing else where that is too much."""
        if len(self) >= _MOST:
            self.clear()
        self[key] = action


class BanditPolicy(abc.ABC):
    """Chooses a feasible action for every state of an instance's arms. Frozen dataclasses whose numbers are never changed."""

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

    @classmethod
    @abc.abstractmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> BanditPolicy:
        """The inverse of `to_json`. Raises InputError, or Infeasible where it is of other arms."""

    def act(self, state: ArrayLike, time: int = 0, key: int = 0) -> NDArray[np.int8]:
        """The action int8 [action_size] in one state of the arms [J], at a time of the episode."""
        states = np.asarray(state)
        if states.shape != (self.instance.arms,) or states.dtype.kind not in "iu":
            raise UsageError(f"state: accepted: {self.instance.arms} integers, a state for each arm")
        if ((states < 0) | (states >= self.instance.states)).any():
            raise UsageError("state: an arm has no such state")
        if time < 0:
            raise UsageError(f"time is {time}; accepted: an integer from 0")
        action: NDArray[np.int8] = self.actions(states.astype(np.int32)[None], time, np.array([key], np.uint64))[0]
        return action

    def __deepcopy__(self, memo: dict[int, Any]) -> BanditPolicy:
        return self


def kinds() -> list[str]:
    """The kinds of policies that there are, sorted."""
    return sorted(name for owner, _, name in (key.partition(".") for key in declared(GROUP)) if owner == "bandits")


def policy_from_json(instance: BanditInstance, values: Any) -> BanditPolicy:
    """The policy that `to_json` and its "kind" describe.

    Raises:
        InputError: No such kind, or fields that it does not have.
        Infeasible: A policy of other arms.
        UsageError: The class of that kind cannot be loaded.
    """
    name = values.get("kind") if isinstance(values, Mapping) else None
    if not isinstance(name, str) or name not in kinds():
        raise InputError(f"accepted: an object with kind {', '.join(kinds())}", field="policy")
    kind: type[BanditPolicy] = load(declared(GROUP)[f"bandits.{name}"], type)
    policy = kind.from_json(instance, values)
    if extra := set(values) - set(policy.to_json()) - {"kind"}:
        raise InputError(f"a {name} policy has no {sorted(extra)[0]!r}", field="policy")
    return policy


def numbers(values: Mapping[str, Any], field: str) -> NDArray[np.float64]:
    """The array of finite numbers in a field. Raises InputError."""
    try:
        array = np.array(values.get(field), np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError("accepted: numbers in lists of equal lengths", field=f"policy.{field}") from error
    if not np.isfinite(array).all():  # None is NaN
        raise InputError("accepted: finite numbers in lists", field=f"policy.{field}")
    return array


def natural(values: Mapping[str, Any], field: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """The integer in a field. Raises InputError."""
    found = values.get(field)
    if type(found) is not int or not least <= found <= most:
        raise InputError(f"accepted: an integer from {least}{f' to {most}' if most < 2**63 - 1 else ''}", field=f"policy.{field}")
    return found
