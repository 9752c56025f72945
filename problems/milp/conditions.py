"""Conditions beside linear rows: semi-continuous variables, special ordered sets, and rows that hold only with an indicator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance

__all__ = ["Conditions", "OrderedSet", "activities", "outer_limits"]


@dataclass(frozen=True, eq=False)
class OrderedSet:
    """A special ordered set (Beale and Tomlin 1970): at most one member differs from 0 in kind 1, two neighbours in kind 2."""

    name: str
    kind: int
    """1 or 2."""
    columns: NDArray[np.int32]
    """[k] the members, in the order of their weights."""
    weights: NDArray[np.float64]
    """[k] increasing numbers; they only say the order."""


@dataclass(frozen=True, eq=False)
class Conditions:
    """What a program of n variables and m rows asks beside its linear rows. `check` says which limits each condition needs."""

    semicontinuous: NDArray[np.bool_]
    """[n] whether a variable may also be 0, outside its limits."""
    sets: tuple[OrderedSet, ...]
    indicator: NDArray[np.int32]
    """[m] the column of the binary variable that says whether the row must hold; -1: it always must."""
    active: NDArray[np.int8]
    """[m] the value of that variable, 0 or 1, with which the row must hold."""

    def check(self, instance: MilpInstance) -> None:
        """Raise InputError unless the conditions fit the instance and can be written as linear rows with finite coefficients.

        Semi-continuous variables and members of sets need finite limits; a row with an indicator must have finite limits of its
        activity on each side that it has.
        """
        if self.semicontinuous.shape != (instance.n,) or not self.indicator.shape == self.active.shape == (instance.m,):
            raise InputError("not accepted; accepted: a value for each variable and each row", field="conditions")
        self._check_limits(instance, np.flatnonzero(self.semicontinuous).tolist(), "is semi-continuous")
        if (crossed := self.semicontinuous & (instance.lower > instance.upper)).any():
            name = instance.names[int(crossed.argmax())]
            raise InputError(
                "its lower limit is above its upper one; accepted: a semi-continuous variable with a range", field=name
            )
        for ordered in self.sets:
            self._check_set(instance, ordered)
        self._check_indicators(instance)

    def _check_limits(self, instance: MilpInstance, columns: Sequence[int], what: str) -> None:
        for j in columns:
            if not (np.isfinite(instance.lower[j]) and np.isfinite(instance.upper[j])):
                raise InputError(f"variable {instance.names[j]} {what}, without a limit on both sides; accepted: finite limits",
                                 field=instance.names[j][:40])  # fmt: skip

    def _check_set(self, instance: MilpInstance, ordered: OrderedSet) -> None:
        field = ordered.name[:40]
        if ordered.kind not in (1, 2):
            raise InputError(f"the kind {ordered.kind} is not accepted; accepted: 1, 2", field=field)
        if len(set(ordered.columns.tolist())) < len(ordered.columns):
            raise InputError("a member given twice; accepted: different variables", field=field)
        if (np.diff(ordered.weights) <= 0.0).any():
            raise InputError("equal weights; accepted: a different weight for each member, which says its place", field=field)
        self._check_limits(instance, ordered.columns.tolist(), f"is in the set {ordered.name}")

    def _check_indicators(self, instance: MilpInstance) -> None:
        least, most = activities(instance)
        for i in np.flatnonzero(self.indicator >= 0).tolist():
            j, field = int(self.indicator[i]), instance.row_names[i][:40]
            if not (instance.integer[j] and instance.lower[j] >= 0.0 and instance.upper[j] <= 1.0):
                raise InputError(
                    f"its indicator {instance.names[j]} is not binary; accepted: an integer from 0 to 1", field=field
                )
            below, above = np.isfinite(instance.row_lower[i]), np.isfinite(instance.row_upper[i])
            if (below and not np.isfinite(least[i])) or (above and not np.isfinite(most[i])):
                raise InputError("it has an indicator and a term without limit; accepted: variables with limits", field=field)


def outer_limits(instance: MilpInstance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and largest value of each variable, float64 [n] each: 0 lies between them if it is semi-continuous."""
    if instance.conditions is None:
        return instance.lower, instance.upper
    free = instance.conditions.semicontinuous
    return (
        np.where(free, np.minimum(instance.lower, 0.0), instance.lower),
        np.where(free, np.maximum(instance.upper, 0.0), instance.upper),
    )


def activities(instance: MilpInstance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest sum of each row's terms that the limits of its variables permit, float64 [m] each."""
    lower, upper = outer_limits(instance)
    small, large = instance.value * lower[instance.column], instance.value * upper[instance.column]
    least = np.bincount(instance.row, np.minimum(small, large), instance.m)
    return least.astype(np.float64), np.bincount(instance.row, np.maximum(small, large), instance.m).astype(np.float64)
