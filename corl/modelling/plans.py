"""Plan: the solution of a SchedulingModel, with the names and dates of the model."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from corl.arguments import refusal
from corl.modelling.common import Names, Solved, to_frame
from corl.modelling.scheduling_times import Clock

if TYPE_CHECKING:
    import pandas

__all__ = ["Operation", "Plan"]

_COLUMNS = ("job", "step", "machine", "start", "end")


@dataclass(frozen=True)
class Operation:
    """One scheduled operation of a plan."""

    job: Hashable
    step: int
    """The number of the operation within its job, from 0."""
    machine: Hashable
    start: int
    end: int
    starts_at: datetime | None = None
    """The date of `start`; None if the model has no dates."""
    ends_at: datetime | None = None
    """The date of `end`; None if the model has no dates."""

    @property
    def row(self) -> dict[str, Any]:
        """The row of the operation in a table; `start` and `end` are dates if the model has dates."""
        start, end = (self.start, self.end) if self.starts_at is None else (self.starts_at, self.ends_at)
        return dict(zip(_COLUMNS, (self.job, self.step, self.machine, start, end)))

    def __str__(self) -> str:
        if self.starts_at is None or self.ends_at is None:
            return f"{self.job} {self.start}-{self.end}"
        return f"{self.job} {self.starts_at:%Y-%m-%d %H:%M} to {self.ends_at:%Y-%m-%d %H:%M}"


@dataclass(frozen=True)
class Plan(Solved):
    """The solution of a SchedulingModel: the machine and the times of every operation."""

    operations: tuple[Operation, ...]
    """The operations, job after job; empty without a solution."""
    machines: tuple[Hashable, ...]
    """The names of all machines, in the order of `SchedulingModel.add_machine`."""
    jobs: tuple[Hashable, ...]
    """The names of all jobs, in the order of their addition."""
    clock: Clock = field(default_factory=Clock)
    """The begin and the unit of the times."""

    def _lines(self) -> list[str]:
        return [f"{name}: {', '.join(map(str, self.machine(name))) or 'idle'}" for name in self.machines]

    def machine(self, name: Hashable) -> list[Operation]:
        """Return the operations of a machine, in order of time. Raises UsageError for an unknown machine."""
        Names("machine", self.machines).number("machine", name)
        return sorted((each for each in self.operations if each.machine == name), key=lambda each: (each.start, each.end))

    def job(self, name: Hashable) -> list[Operation]:
        """Return a job's operations, in order. Raises UsageError for an unknown job."""
        Names("job", self.jobs).number("job", name)
        return [each for each in self.operations if each.job == name]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each operation: job, step, machine, start, end; the last two are dates if the model has dates."""
        return [each.row for each in self.operations]

    def page(self, against: Plan | None = None) -> str:
        """Return an HTML page of the plan, see `Result.page`. Raises UsageError.

        With `against`, a plan of an earlier version of the model, operations are marked that have moved or are new.
        """
        self._solution()
        if against is None:
            return self.result.page()
        if not isinstance(against, Plan):
            raise refusal("against", against, "a Plan of the model")
        import numpy as np

        from corl.problems.jobshop.instance import Schedule

        before = {(each.job, each.step): each for each in against.operations}
        found = [before.get((each.job, each.step)) for each in self.operations]
        numbers = {machine: number for number, machine in enumerate(self.machines)}
        start = np.array([-1 if each is None or each.machine not in numbers else each.start for each in found], np.int64)
        machine = np.array([-1 if each is None else numbers.get(each.machine, -1) for each in found], np.int32)
        return self.result.page(against=Schedule(start, machine))

    def to_frame(self) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame. Raises UsageError if pandas is not installed."""
        return to_frame(self.rows(), _COLUMNS)
