"""Constraint: what one kind of coupling must give."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.errors import Infeasible, InputError, UsageError
from corl.fields import Object
from corl.files.json_instances import Field, Record

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["LARGEST_INTEGER", "Constraint", "Fields", "Oracle", "PullConstraint", "Relaxation", "Rooms"]

LARGEST_INTEGER = 2**31 - 1
"""Of the numbers of a constraint in files."""
_MANY = 1_000  # rooms with which it pays to look at the same needs once
_AT_ONCE = 8  # situations between two looks at the clock

Fields = Mapping[str, Field] | Record
"""The numbers of a constraint in a file by their names here, which a file of another layout may call otherwise."""


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


class Rooms(NamedTuple):
    """The feasible actions as those that fit into one room at least: x is feasible if `needs`' x <= `sizes[v]` for some v."""

    needs: NDArray[np.int64]
    """[action_size, M] what each entry of an action takes, from 0."""
    sizes: NDArray[np.int64]
    """[V, M]"""


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
    form: ClassVar[Object]
    """Its numbers in files, without "kind"."""

    @property
    @abc.abstractmethod
    def action_size(self) -> int:
        """The length of an action."""

    @abc.abstractmethod
    def check_arms(self, levels: NDArray[np.int32], most: int) -> None:
        """Raise InputError where it does not fit arms with so many `levels` [J], held in arrays for `most` levels."""

    @abc.abstractmethod
    def check(self, action: NDArray[np.int8]) -> None:
        """The independent judge of one action: raises Infeasible, naming what is broken. Shares nothing with `oracle`."""

    def fits(self, actions: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Which of the actions [R, action_size] are feasible: by the rooms, where they can be listed, or else as `check` says."""
        from corl.problems.bandits.constraints.kernels import within_any

        if self._listed is None:
            return np.array([self._passes(action) for action in actions], np.bool_)
        needs, sizes = actions.astype(np.int64) @ self._listed.needs, self._listed.sizes
        if len(sizes) <= _MANY:
            return within_any(needs, sizes)  # type: ignore[no-any-return]
        unlike, back = np.unique(needs, axis=0, return_inverse=True)
        return within_any(unlike, sizes)[back.reshape(-1)]  # type: ignore[no-any-return]

    @cached_property
    def _listed(self) -> Rooms | None:
        try:
            return self.rooms()
        except UsageError:
            return None

    def _passes(self, action: NDArray[np.int8]) -> bool:
        seconds_left()
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
    def rooms(self) -> Rooms:
        """For kernels that build an action entry by entry. Raises UsageError where there are too many to list."""

    def touched(self) -> list[tuple[tuple[int, int], ...]]:
        """For each entry of an action pairs (arm, what is added to its level)."""
        return [((entry, 1),) for entry in range(self.action_size)]

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Its numbers, without "kind"."""

    @classmethod
    @abc.abstractmethod
    def from_json(cls, fields: Fields, arms: int) -> Constraint:
        """The inverse of `to_json`; raises InputError with the field's place."""

    @cached_property
    def oracle(self) -> Oracle:
        """What `make_oracle` made, in time (deadline.py)."""
        best = self.make_oracle()

        def patient(worth: NDArray[np.float64]) -> NDArray[np.int8]:
            found = [np.zeros((0, self.action_size), np.int8)]
            for first in range(0, len(worth), _AT_ONCE):
                seconds_left()
                found.append(best(worth[first : first + _AT_ONCE]))
            return np.concatenate(found)

        return patient

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

    def check_arms(self, levels: NDArray[np.int32], most: int) -> None:
        """See Constraint.check_arms."""
        if len(levels) != self.arms:
            raise InputError(f"is made for {self.arms} arms; there are {len(levels)}", field="constraint")
        if most != 2:
            raise InputError(f"{self.kind} takes arms with two levels, not {most}", field="constraint")

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
