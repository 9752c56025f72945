"""ChangeCosts: what it costs to change a schedule that has been announced, as a part of the objective.

The measure is the number of operations whose machine changes, and the deviations of the starts, as in Rangsaritratsamee, Ferrell
and Kurz, Computers & Industrial Engineering 46 (2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance, Schedule

__all__ = ["ChangeCosts", "cost_of_changes", "moved"]

_MAX_TIME, _MAX_COST = 10**9, 10**6


@dataclass(frozen=True, eq=False)
class ChangeCosts:
    """An announced schedule of O operations, and the costs of deviating from it.

    Values are checked by the constructor of JobShopInstance, which raises InputError.
    """

    start: NDArray[np.int64]
    """int64 [O], the announced start of each operation; -1 if the operation was not in that schedule."""
    machine: NDArray[np.int64]
    """int64 [O], the announced machine of each operation; -1 as for `start`."""
    per_machine: int = 0
    """The cost of each operation that is on another machine."""
    per_time: int = 1
    """The cost of each unit of time by which an operation starts earlier or later."""

    def __post_init__(self) -> None:
        for name in ("start", "machine"):
            copy = np.array(getattr(self, name), order="C")
            copy = copy.astype(np.int64) if copy.dtype.kind in "iu" else copy
            copy.flags.writeable = False
            object.__setattr__(self, name, copy)

    def check(self, instance: JobShopInstance) -> None:
        """Raise InputError if a shape or a value does not fit the instance."""
        for name, high in (("start", _MAX_TIME), ("machine", instance.machines - 1)):
            value = getattr(self, name)
            if value.shape != (instance.operations,) or value.dtype.kind not in "iu":
                raise InputError(f"accepted: an array of {instance.operations:,} integers", field=f"changes.{name}")
            if ((value < -1) | (value > high)).any():
                bad = value[(value < -1) | (value > high)][0]
                raise InputError(f"{bad} is not accepted; accepted: -1 to {high:,}", field=f"changes.{name}")
        if ((self.start < 0) != (self.machine < 0)).any():
            raise InputError("accepted: start and machine of an operation, or neither", field="changes.machine")
        for name in ("per_machine", "per_time"):
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= _MAX_COST:
                raise InputError(
                    f"{value!r} is not accepted; accepted: an integer from 0 to {_MAX_COST:,}", field=f"changes.{name}"
                )


def moved(changes: ChangeCosts, schedule: Schedule) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which operations are on another machine, bool [O], and by how much each starts later (or earlier, if negative)."""
    known = changes.start >= 0
    return known & (schedule.machine != changes.machine), np.where(known, schedule.start - changes.start, 0)


def cost_of_changes(instance: JobShopInstance, schedule: Schedule) -> int:
    """Return the part of the objective value that a schedule pays for its changes; 0 if the instance has no such costs."""
    changes = None if instance.rules is None else instance.rules.changes
    if changes is None:
        return 0
    other_machine, later = moved(changes, schedule)
    return changes.per_machine * int(other_machine.sum()) + changes.per_time * int(np.abs(later).sum())
