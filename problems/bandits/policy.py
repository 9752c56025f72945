"""BanditPolicy: the interface of a solution of a bandit; and `policy_from_json`, which finds the class of a policy in a file.

Policies are made by solvers, so their classes belong to solvers, which nothing here imports. Yet whoever reads a solution's JSON
(`corl check`, a model, another program) needs the class that its "kind" names. It is found like problems and solvers: by the
entry point bandits.KIND of the group `corl.policies`, which is loaded when such a policy is read. A solver of another package
declares its own kinds of policies there.
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
"""The group of entry points PROBLEM.KIND = "module:PolicyClass"."""
_MOST = 100_000  # actions that a policy keeps


class ActionCache(dict[bytes, NDArray[np.int8]]):
    """A cache of actions: a policy with expensive actions is asked for each at least twice (to report, to verify)."""

    def __reduce__(self) -> tuple[type[ActionCache], tuple[()]]:
        return ActionCache, ()  # too large to send with a policy

    def keep(self, key: bytes, action: NDArray[np.int8]) -> None:
        """Keep an action; if there are too many, drop all others."""
        if len(self) >= _MOST:
            self.clear()
        self[key] = action


class BanditPolicy(abc.ABC):
    """A rule that chooses a feasible action for every state of an instance's arms. Frozen dataclasses; arrays are not changed."""

    kind: ClassVar[str]
    """The name in JSON."""
    instance: BanditInstance

    @abc.abstractmethod
    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """Return the actions in R situations, int8 [R, action_size].

        Args:
            states: int32 [R, J].
            time: The time, from 0, the same for all rows.
            keys: uint64 [R], from which a random policy draws, so that an episode does not depend on the others.
        """

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the policy's fields as JSON values, without "kind"."""

    @classmethod
    @abc.abstractmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> BanditPolicy:
        """Return the policy, as the inverse of `to_json`. Raises InputError, or Infeasible if it is for other arms."""

    def act(self, state: ArrayLike, time: int = 0, key: int = 0) -> NDArray[np.int8]:
        """Return the action, int8 [action_size], in one state of the arms [J], at a time of the episode."""
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
        InputError: The kind is unknown, or a field is.
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
