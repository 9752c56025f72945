"""Constraint: what one kind of coupling must give."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from corl.problems.bandits.instance import BanditInstance

__all__ = ["Constraint", "Oracle", "PullConstraint", "Relaxation", "integers"]


class Relaxation(NamedTuple):
    """A polyhedron that holds the expected action of every randomised feasible action: the z >= 0 with `above` z <= `limit`.

    The chance that arm j is given level a > 0 is `chance[j * (A - 1) + a - 1]` z.
    """

    chance: csr_array
    """[J * (A - 1), Z]"""
    above: csr_array
    """[M, Z]"""
    limit: NDArray[np.float64]
    """[M]"""
    whole: NDArray[np.bool_] | None = None
    """[Z] which entries are integers where z is a feasible action; if these are, z is one. None: all."""


class Oracle(Protocol):
    """Finds the best feasible action for given worths of levels."""

    def __call__(self, worth: NDArray[np.float64]) -> NDArray[np.int8]:
        """worth float64 [R, J, A]: of giving arm j level a, in each of R situations. Returns R feasible actions with the
        highest sums of worth, int8 [R, action_size]; of equal ones always the same."""
        ...


class Constraint(abc.ABC):
    """A frozen dataclass of the numbers in the file. An action is an int8 array of `action_size` zeros and ones."""

    kind: ClassVar[str]
    """Its name in files."""

    @property
    @abc.abstractmethod
    def action_size(self) -> int:
        """The length of an action."""

    @abc.abstractmethod
    def check_arms(self, instance: BanditInstance) -> None:
        """Raise InputError where it does not fit the instance's arms."""

    @abc.abstractmethod
    def check(self, action: NDArray[np.int8]) -> None:
        """The independent judge of one action: raises Infeasible, naming what is broken. Shares nothing with `oracle`."""

    def fits(self, actions: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Which of the actions [R, action_size] are feasible: as `check` says, without its reasons and faster."""
        return np.array([self._passes(action) for action in actions], np.bool_)

    def _passes(self, action: NDArray[np.int8]) -> bool:
        try:
            self.check(action)
        except Infeasible:
            return False
        return True

    @abc.abstractmethod
    def given(self, actions: NDArray[np.int8]) -> NDArray[np.int8]:
        """Actions [R, action_size] -> the levels they give to the arms, int8 [R, J]."""

    @abc.abstractmethod
    def random(self, generator: np.random.Generator, count: int) -> NDArray[np.int8]:
        """Random feasible actions that cannot be extended, int8 [count, action_size]; every such action is possible."""

    @abc.abstractmethod
    def make_oracle(self) -> Oracle:
        """An exact maximiser; what can be enumerated is enumerated here, once."""

    @abc.abstractmethod
    def relaxation(self) -> Relaxation:
        """For bounds and prices."""

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Its numbers, without "kind"."""

    @classmethod
    @abc.abstractmethod
    def from_json(cls, values: Mapping[str, Any], arms: int) -> Constraint:
        """The inverse of `to_json`; raises InputError with the field."""

    @cached_property
    def oracle(self) -> Oracle:
        """What `make_oracle` made."""
        return self.make_oracle()

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # not what is cached

    def checked(self, action: Any) -> NDArray[np.int8]:
        """An action of anybody's making as int8 [action_size], feasible. Raises Infeasible."""
        array = np.asarray(action)
        if array.shape != (self.action_size,) or not np.isin(array, (0, 1)).all():
            raise Infeasible(f"an action has {self.action_size} zeros and ones, not {str(action)[:60]}")
        found = array.astype(np.int8)
        self.check(found)
        return found


class PullConstraint(Constraint):
    """One that says which arms may be pulled together: an action has a 0 or 1 for each arm, which is its level.

    Leaving any arm out of a feasible action is feasible too.
    """

    arms: int

    @property
    def action_size(self) -> int:
        """J."""
        return self.arms

    def check_arms(self, instance: BanditInstance) -> None:
        """See Constraint.check_arms."""
        if instance.arms != self.arms:
            raise InputError(f"is made for {self.arms} arms; there are {instance.arms}", field="constraint")
        if instance.transitions.shape[1] != 2:
            raise InputError(f"{self.kind} takes arms with two levels, not {instance.transitions.shape[1]}", field="constraint")

    def given(self, actions: NDArray[np.int8]) -> NDArray[np.int8]:
        """The actions themselves."""
        return actions

    def random(self, generator: np.random.Generator, count: int) -> NDArray[np.int8]:
        """The best actions for random worths."""
        gains = generator.standard_exponential((count, self.arms)) + 1e-9
        return self.oracle(np.stack([np.zeros_like(gains), gains], axis=2))

    @staticmethod
    def gains(worth: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a pull adds, float64 [R, J]; never negative (an arm that is not worth it is left alone)."""
        return np.ascontiguousarray(np.maximum(0.0, worth[:, :, 1] - worth[:, :, 0]))


def integers(values: Mapping[str, Any], field: str, count: int | None = None, least: int = 0) -> NDArray[np.int64]:
    """The list of integers in a field. Raises InputError with what is accepted."""
    found = values.get(field)
    accepted = f"accepted: a list of {'' if count is None else f'{count} '}integers from {least}"
    if not isinstance(found, list) or not all(type(x) is int and least <= x < 2**31 for x in found):
        raise InputError(accepted, field=f"constraint.{field}")
    if count is not None and len(found) != count:
        raise InputError(f"{len(found)} entries; {accepted}", field=f"constraint.{field}")
    return np.array(found, np.int64)
