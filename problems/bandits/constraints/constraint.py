"""Constraint: the interface of constraints on the actions that may be given to the arms in one step.

An action is an int8 array of `action_size` zeros and ones. Its entries are pulls of arms or, for `Interventions`, interventions.
An action gives each arm a level (see BanditInstance): 0 leaves the arm alone; of an arm with two levels, 1 is a pull.
"""

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
"""The largest integer that is accepted in the fields of a constraint in a file."""
_DEDUPLICATE_ABOVE = 1_000  # with more rooms than this, `fits` compares equal needs with them only once
_AT_ONCE = 8  # maximisations between two checks of the deadline

Fields = Mapping[str, Field] | Record
"""Name of a constraint's field -> its value in a file, where a foreign layout may use another name."""


class Relaxation(NamedTuple):
    """A polyhedron that contains the expectation of every random feasible action: z >= 0 with `inequalities` @ z <= `limit`."""

    chance: csr_array
    """float64 [J * (A - 1), Z]. Row j * (A - 1) + a - 1 times z is the probability that arm j is given level a > 0."""
    inequalities: csr_array
    """float64 [M, Z], the coefficients of the M inequalities."""
    limit: NDArray[np.float64]
    """[M] the right-hand sides of the inequalities."""
    whole: NDArray[np.bool_] | None = None
    """[Z] z represents a feasible action if and only if all entries of z marked here are integers; None: all are marked."""


class Rooms(NamedTuple):
    """The feasible actions in terms of rooms, vectors of M available resources.

    An action x is feasible if it fits into some room v: x @ `needs` <= `sizes[v]`.
    """

    needs: NDArray[np.int64]
    """[action_size, M] the amount of each resource that each entry of an action uses, at least 0."""
    sizes: NDArray[np.int64]
    """[V, M] the amount of each resource in each room."""


class Oracle(Protocol):
    """A function that finds the best feasible action, given the value of each level of each arm."""

    def __call__(self, level_values: NDArray[np.float64]) -> NDArray[np.int8]:
        """Return for each of R tables of values the feasible action with the largest sum, int8 [R, action_size].

        Ties are broken deterministically. `level_values`, float64 [R, J, A], has the value of giving arm j level a.
        """
        ...


class Constraint(abc.ABC):
    """A constraint on actions. Subclasses are frozen dataclasses whose fields are stored in files."""

    kind: ClassVar[str]
    """The name of the class in files."""
    form: ClassVar[Object]
    """The schema of the fields in files, without "kind"."""

    @property
    @abc.abstractmethod
    def action_size(self) -> int:
        """The length of an action."""

    @abc.abstractmethod
    def check_arms(self, levels: NDArray[np.int32], most: int) -> None:
        """Raise InputError if the constraint is not for arms with these numbers of levels, int32 [J]; `most` is the largest."""

    @abc.abstractmethod
    def check(self, action: NDArray[np.int8]) -> None:
        """Raise Infeasible, naming the violation, if an action is infeasible. The judge's code, shared with no oracle."""

    def fits(self, actions: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Return which actions [R, action_size] are feasible, bool [R]: by rooms, or by `check` if there are too many rooms."""
        from corl.problems.bandits.constraints.kernels import within_any

        if self._rooms_or_none is None:
            return np.array([self._passes(action) for action in actions], np.bool_)
        needs, sizes = actions.astype(np.int64) @ self._rooms_or_none.needs, self._rooms_or_none.sizes
        if len(sizes) <= _DEDUPLICATE_ABOVE:
            return within_any(needs, sizes)  # type: ignore[no-any-return]
        distinct, inverse = np.unique(needs, axis=0, return_inverse=True)
        return within_any(distinct, sizes)[inverse.reshape(-1)]  # type: ignore[no-any-return]

    @cached_property
    def _rooms_or_none(self) -> Rooms | None:
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
        """Return random maximal feasible actions, int8 [count, action_size]; every maximal action has a positive probability."""

    @abc.abstractmethod
    def make_oracle(self) -> Oracle:
        """Return an exact maximiser over the feasible actions. Whatever it enumerates is enumerated once, in this call."""

    @abc.abstractmethod
    def relaxation(self) -> Relaxation:
        """Return the relaxation, for the fluid bound, its prices, and integer programs."""

    @abc.abstractmethod
    def rooms(self) -> Rooms:
        """Return the rooms, by which kernels check partial actions. Raises UsageError if there are too many to list."""

    def touched(self) -> list[tuple[tuple[int, int], ...]]:
        """Return for each entry of an action the pairs (arm, increment of that arm's level)."""
        return [((entry, 1),) for entry in range(self.action_size)]

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values, without "kind"."""

    @classmethod
    @abc.abstractmethod
    def from_json(cls, fields: Fields, arms: int) -> Constraint:
        """Return the constraint, as the inverse of `to_json`. Raises InputError with the place of the invalid field."""

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
        """Return an action as int8 [action_size], after checking its shape, entries and feasibility. Raises Infeasible."""
        array = np.asarray(action)
        if array.shape != (self.action_size,) or not np.isin(array, (0, 1)).all():
            raise Infeasible(f"an action has {self.action_size} zeros and ones, not {str(action)[:60]}")
        found = array.astype(np.int8)
        self.check(found)
        return found


class PullConstraint(Constraint):
    """A constraint on which arms may be pulled together. Entry j of an action is the level of arm j, 0 or 1.

    Every subset of a feasible set of pulls is feasible.
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
        """See Constraint.random. Returns the best actions for random positive gains."""
        gains = generator.standard_exponential((count, self.arms)) + 1e-9
        return self.oracle(np.stack([np.zeros_like(gains), gains], axis=2))

    @staticmethod
    def gains(level_values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gain of each pull, float64 [R, J]; negative gains are raised to 0, at which no oracle pulls an arm."""
        return np.ascontiguousarray(np.maximum(0.0, level_values[:, :, 1] - level_values[:, :, 0]))
