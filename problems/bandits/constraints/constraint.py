"""Constraint: the interface of the kinds of coupling between arms."""

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
"""The limit on the numbers of a constraint in files."""
_MANY = 1_000  # rooms above which equal needs are compared with them only once
_AT_ONCE = 8  # situations between two time checks

Fields = Mapping[str, Field] | Record
"""The fields of a constraint in a file, by their names here; another layout may call them otherwise."""


class Relaxation(NamedTuple):
    """A polyhedron that contains the expected action of every randomised feasible action: z >= 0 with `above` z <= `limit`.

    The probability that arm j is given level a > 0 is `chance[j * (A - 1) + a - 1]` z.
    """

    chance: csr_array
    """[J * (A - 1), Z]"""
    above: csr_array
    """[M, Z]"""
    limit: NDArray[np.float64]
    """[M]"""
    whole: NDArray[np.bool_] | None = None
    """[Z] the entries of z that are integers if z is a feasible action; conversely, if they are, z is one. None: all."""


class Rooms(NamedTuple):
    """The feasible actions as those that fit into some room: x is feasible if x `needs` <= `sizes[v]` for some v."""

    needs: NDArray[np.int64]
    """[action_size, M] the resources that each entry of an action takes, at least 0."""
    sizes: NDArray[np.int64]
    """[V, M] the resources of each room."""


class Oracle(Protocol):
    """A function that finds the best feasible action for given values of levels."""

    def __call__(self, level_values: NDArray[np.float64]) -> NDArray[np.int8]:
        """Return R feasible actions with the largest sums of values, int8 [R, action_size]; ties are always broken the same way.

        level_values: float64 [R, J, A], of giving arm j level a, in each of R situations.
        """
        ...


class Constraint(abc.ABC):
    """A constraint: a frozen dataclass of the fields in the file. An action is an int8 array of `action_size` zeros and ones."""

    kind: ClassVar[str]
    """The name in files."""
    form: ClassVar[Object]
    """The fields in files, without "kind"."""

    @property
    @abc.abstractmethod
    def action_size(self) -> int:
        """The length of an action."""

    @abc.abstractmethod
    def check_arms(self, levels: NDArray[np.int32], most: int) -> None:
        """Raise InputError if it does not fit arms with `levels` [J] levels, of at most `most`."""

    @abc.abstractmethod
    def check(self, action: NDArray[np.int8]) -> None:
        """Raise Infeasible, naming the violation, if an action is infeasible: the judge, which shares nothing with `oracle`."""

    def fits(self, actions: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Return which actions [R, action_size] are feasible, bool [R]: by rooms, or by `check` if they cannot be listed."""
        from corl.problems.bandits.constraints.kernels import within_any

        if self._listed is None:
            return np.array([self._passes(action) for action in actions], np.bool_)
        needs, sizes = actions.astype(np.int64) @ self._listed.needs, self._listed.sizes
        if len(sizes) <= _MANY:
            return within_any(needs, sizes)  # type: ignore[no-any-return]
        distinct, back = np.unique(needs, axis=0, return_inverse=True)
        return within_any(distinct, sizes)[back.reshape(-1)]  # type: ignore[no-any-return]

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
    def levels_of(self, actions: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the levels that actions [R, action_size] give to the arms, int8 [R, J]."""

    @abc.abstractmethod
    def random(self, generator: np.random.Generator, count: int) -> NDArray[np.int8]:
        """Return random feasible actions that cannot be extended, int8 [count, action_size]; each such action is possible."""

    @abc.abstractmethod
    def make_oracle(self) -> Oracle:
        """Return an exact maximiser; anything that is enumerated is enumerated here, once."""

    @abc.abstractmethod
    def relaxation(self) -> Relaxation:
        """Return the relaxation, for bounds and prices."""

    @abc.abstractmethod
    def rooms(self) -> Rooms:
        """Return the rooms, for kernels that build an action entry by entry. Raises UsageError if there are too many to list."""

    def touched(self) -> list[tuple[tuple[int, int], ...]]:
        """Return for each entry of an action the pairs (arm, increment of its level)."""
        return [((entry, 1),) for entry in range(self.action_size)]

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values, without "kind"."""

    @classmethod
    @abc.abstractmethod
    def from_json(cls, fields: Fields, arms: int) -> Constraint:
        """Return the constraint, as the inverse of `to_json`. Raises InputError with the field's place."""

    @cached_property
    def oracle(self) -> Oracle:
        """The maximiser of `make_oracle`, which respects deadlines (corl.deadline)."""
        best = self.make_oracle()

        def in_time(level_values: NDArray[np.float64]) -> NDArray[np.int8]:
            found = [np.zeros((0, self.action_size), np.int8)]
            for first in range(0, len(level_values), _AT_ONCE):
                seconds_left()
                found.append(best(level_values[first : first + _AT_ONCE]))
            return np.concatenate(found)

        return in_time

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # without caches

    def checked(self, action: Any) -> NDArray[np.int8]:
        """Return any action as int8 [action_size]. Raises Infeasible if it is malformed or infeasible."""
        array = np.asarray(action)
        if array.shape != (self.action_size,) or not np.isin(array, (0, 1)).all():
            raise Infeasible(f"an action has {self.action_size} zeros and ones, not {str(action)[:60]}")
        found = array.astype(np.int8)
        self.check(found)
        return found


class PullConstraint(Constraint):
    """A constraint on which arms may be pulled together: an action has a 0 or 1 for each arm, which is its level.

    Dropping any arm from a feasible action keeps it feasible.
    """

    arms: int

    @property
    def action_size(self) -> int:
        """J, the number of arms."""
        return self.arms

    def check_arms(self, levels: NDArray[np.int32], most: int) -> None:
        """See Constraint.check_arms."""
        if len(levels) != self.arms:
            raise InputError(f"is for {self.arms} arms; there are {len(levels)}", field="constraint")
        if most != 2:
            raise InputError(f"{self.kind} takes arms with two levels, not {most}", field="constraint")

    def levels_of(self, actions: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the actions themselves."""
        return actions

    def random(self, generator: np.random.Generator, count: int) -> NDArray[np.int8]:
        """Return the best actions for random gains. See Constraint.random."""
        gains = generator.standard_exponential((count, self.arms)) + 1e-9
        return self.oracle(np.stack([np.zeros_like(gains), gains], axis=2))

    @staticmethod
    def gains(level_values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gain of each pull, float64 [R, J], at least 0: an arm with a negative gain is not pulled."""
        return np.ascontiguousarray(np.maximum(0.0, level_values[:, :, 1] - level_values[:, :, 0]))
