"""ConstraintCollector: the constraints of a SchedulingModel other than durations and dates.

They become the field `rules` (a SideConstraints) of the instance.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corl.errors import UsageError, hint, shown
from corl.modelling.scheduling_resources import ResourceCollector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.jobshop.rules import SideConstraints

__all__ = ["ConstraintCollector"]


class ConstraintCollector:
    """Collects constraints of jobs and machines, and converts them to the rules of an instance."""

    def __init__(self, swap: bool = False) -> None:
        """Create a collector without constraints; `swap` as in SideConstraints."""
        self._swap = swap
        self.setups: dict[tuple[int, Hashable, Hashable], int] = {}
        """(machine, earlier family or None for the first operation, later family) -> set-up time."""
        self.unavailable: list[tuple[int, int, int | None]] = []
        """(machine, begin, end) of each period in which a machine is unavailable; the end is None if it never ends."""
        self.now = 0
        """The current time: no further operation can start earlier."""
        self.fixed: dict[int, tuple[int, int]] = {}
        """Operation (numbered over all jobs) -> its fixed machine and start."""
        self.resources = ResourceCollector()
        self.announced: dict[int, tuple[int, int]] = {}
        """Operation -> its machine and start in the plan whose changes cost something."""
        self.change_costs: tuple[int, int] | None = None
        """The cost of each operation on another machine, and of each unit of time of a shifted start; None: no costs."""
        self._early: list[int | None] = []  # per job, as the next two
        self._earliness: list[int] = []
        self._families: list[Hashable] = []
        self._no_wait: list[bool] = []  # per operation of all jobs, as the next ones
        self._blocking: list[bool] = []
        self._resumable: list[bool] = []
        self._earliest: list[int] = []

    def add_job(
        self, operations: int, early: int | None, earliness: int, no_wait: bool, family: Hashable, earliest: Sequence[int]
    ) -> None:
        """Add the constraints of a job; `operations` is their number, the other arguments are as in `SchedulingModel.add_job`."""
        self._early.append(early)
        self._earliness.append(earliness)
        self._families.append(family)
        self._no_wait += [False] + [no_wait] * (operations - 1)
        self._earliest += earliest or [0] * operations

    def add_stays(self, operations: int, blocking: bool, resumable: bool) -> None:
        """Add how the operations of a job stay on their machines; the arguments are those of `add_job`."""
        self._blocking += [blocking] * (operations - 1) + [False]
        self._resumable += [resumable] * operations

    def cut(self, jobs: int, operations: int) -> None:
        """Keep only the first `jobs` jobs, which have `operations` operations in all."""
        for of_jobs in (self._early, self._earliness, self._families):
            del of_jobs[jobs:]
        for of_operations in (self._no_wait, self._blocking, self._resumable, self._earliest):
            del of_operations[operations:]
        self.resources.cut(jobs)

    def set_unavailable(self, unavailable: Any) -> None:
        """Replace the periods in which machines are unavailable.

        `unavailable`: int [periods, 3] as in SideConstraints, (machine, begin, end) in each row; None: there are none.
        """
        from corl.problems.jobshop.rules import FOREVER

        rows = [] if unavailable is None else unavailable.tolist()
        self.unavailable = [(machine, begin, None if end == FOREVER else end) for machine, begin, end in rows]

    def rules(self, rows: Sequence[Sequence[Any]], due: Sequence[int | None], machines: int) -> SideConstraints | None:
        """Return the rules; None if there are no constraints. Raises UsageError for a set-up with a family that no job has.

        Args:
            rows: For each job, its operations.
            due: The due date of each job.
            machines: The number of machines.
        """
        import numpy as np

        from corl.problems.jobshop.change_costs import ChangeCosts
        from corl.problems.jobshop.rules import FOREVER, SideConstraints

        found: dict[str, Any] = {"now": self.now} if self.now else {}
        if any(self._earliest):
            found["earliest"] = np.array(self._earliest)
        if any(self._no_wait):
            found["no_wait"] = np.array(self._no_wait, bool)
        if any(self._blocking):
            found |= {"blocking": np.array(self._blocking, bool), "swap": self._swap}
        if any(self._resumable):
            found["resumable"] = np.array(self._resumable, bool)
        if self.unavailable:
            found["unavailable"] = np.array(_merged(self.unavailable, FOREVER), np.int64)
        if self.setups:
            found |= self._setups([len(row) for row in rows], machines)
        if None not in due and any(each is not None for each in self._early):
            found["early"] = np.array([due_date if each is None else each for each, due_date in zip(self._early, due)])
        if None not in due and any(each != 1 for each in self._earliness):
            found["earliness"] = np.array(self._earliness)
        if self.fixed:
            found["fixed_machine"], found["fixed_start"] = self._pairs(self.fixed)
        if self.change_costs is not None:
            machine, start = self._pairs(self.announced)
            found["changes"] = ChangeCosts(start, machine, *self.change_costs)
        found |= self.resources.rules(rows)
        return SideConstraints(**found) if found else None

    def _pairs(self, given: Mapping[int, tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return two arrays, int64 [operations]: the parts of a pair for each operation, -1 if it has none."""
        import numpy as np

        pairs = np.array([given.get(i, (-1, -1)) for i in range(len(self._earliest))], np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _setups(self, lengths: Sequence[int], machines: int) -> dict[str, Any]:
        """Return the fields of the rules for set-ups; `lengths`: the number of operations of each job. Raises UsageError."""
        import numpy as np

        families = {name: k for k, name in enumerate(dict.fromkeys(self._families))}
        for _, *pair in self.setups:
            for name in pair:
                if name is not None and name not in families:
                    near = hint(str(name), map(str, families))
                    raise UsageError(f"set-up: there is no family {shown(name)}{near}; accepted: a family that a job has")
        between = np.zeros((machines, len(families), len(families)), np.int64)
        first = np.zeros((machines, len(families)), np.int64)
        for (machine, before, after), duration in self.setups.items():
            if before is None:
                first[machine, families[after]] = duration
            else:
                between[machine, families[before], families[after]] = duration
        numbers = np.array([families[name] for name in self._families])
        return {"setups": between, "first_setups": first, "family": np.repeat(numbers, lengths)}


def _merged(periods: Sequence[tuple[int, int, int | None]], forever: int) -> list[tuple[int, int, int]]:
    """Return (machine, begin, end) sorted by machine and time; overlapping periods of a machine are merged."""
    found: list[tuple[int, int, int]] = []
    for machine, begin, end in sorted((machine, begin, forever if end is None else end) for machine, begin, end in periods):
        if found and found[-1][0] == machine and begin < found[-1][2]:
            found[-1] = machine, found[-1][1], max(end, found[-1][2])
        else:
            found.append((machine, begin, end))
    return found
