"""BanditPolicy, the interface of a solution of a bandit, and `policy_from_json`, which reads a policy from a solution's JSON.

The classes of policies belong to solvers, which no module of `problems` imports. A policy in JSON therefore names its "kind", and
its class is loaded from the entry point bandits.KIND of the group `corl.policies`. Solvers of other packages declare their own
kinds of policies in this group.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.deprecation import renamed
from corl.entry_points import declared, load
from corl.errors import InputError, UsageError
from corl.problems.bandits.instance import BanditInstance

__all__ = ["GROUP", "ActionCache", "BanditPolicy", "kinds", "policy_from_json", "read_array", "read_integer"]

GROUP = "corl.policies"
"""The group of the entry points of policies, PROBLEM.KIND = "module:PolicyClass"."""
_MAX_CACHED = 100_000  # actions in a policy's cache


class ActionCache(dict[bytes, NDArray[np.int8]]):
    """A cache of expensive actions: each is needed at least twice, when the policy is reported and when it is verified."""

    def __reduce__(self) -> tuple[type[ActionCache], tuple[()]]:
        return ActionCache, ()  # pickled without its contents, which are large

    def keep(self, key: bytes, action: NDArray[np.int8]) -> None:
        """Add an action; if the cache is full, empty it first."""
        if len(self) >= _MAX_CACHED:
            self.clear()
        self[key] = action


class BanditPolicy(abc.ABC):
    """A rule that chooses a feasible action for every state of an instance's arms.

    Subclasses are frozen dataclasses, whose arrays never change.
    """

    kind: ClassVar[str]
    """The policy's name in JSON and among the entry points."""
    instance: BanditInstance

    @abc.abstractmethod
    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """Return the actions for R states of the arms, int8 [R, action_size].

        Args:
            states: int32 [R, J], the states of the arms.
            time: The time of the episode, from 0, the same for all rows.
            keys: uint64 [R], the keys from which a random policy draws; row r may use only key r.
        """

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the policy's fields as JSON values, without "kind"."""

    @classmethod
    @abc.abstractmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> BanditPolicy:
        """Return the policy, as the inverse of `to_json`. Raises InputError, or Infeasible if the policy is for other arms."""

    def act(self, state: ArrayLike, time: int = 0, key: int = 0) -> NDArray[np.int8]:
        """Return the action, int8 [action_size], for the arms' states, integers [J], at a time of the episode, from 0."""
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
    """Return the declared kinds of policies, sorted."""
    return sorted(name for owner, _, name in (key.partition(".") for key in declared(GROUP)) if owner == "bandits")


def policy_from_json(instance: BanditInstance, values: Any) -> BanditPolicy:
    """Return the policy that `to_json` and its "kind" describe.

    Raises:
        InputError: The kind or a field is unknown, or the value of a field is invalid.
        Infeasible: The policy is for other arms.
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


def read_array(values: Mapping[str, Any], field: str) -> NDArray[np.float64]:
    """Return the array of finite numbers in a field. Raises InputError."""
    try:
        array = np.array(values.get(field), np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError("accepted: numbers in lists of equal lengths", field=f"policy.{field}") from error
    if not np.isfinite(array).all():  # None is NaN
        raise InputError("accepted: finite numbers in lists", field=f"policy.{field}")
    return array


def read_integer(values: Mapping[str, Any], field: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """Return the integer in a field. Raises InputError."""
    found = values.get(field)
    if type(found) is not int or not least <= found <= most:
        raise InputError(f"accepted: an integer from {least}{f' to {most}' if most < 2**63 - 1 else ''}", field=f"policy.{field}")
    return found


if not TYPE_CHECKING:  # to a type checker, an old name is an error
    __getattr__ = renamed(__name__, {"Memory": "ActionCache", "natural": "read_integer", "numbers": "read_array"})
