"""`SchedulingModel`: jobs of operations on machines."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from corl.errors import UsageError
from corl.modelling.common import Names, Solved, compiled, to_frame

if TYPE_CHECKING:
    import pandas

    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["Operation", "Plan", "SchedulingModel"]

Choices = tuple[Hashable, int] | Mapping[Hashable, int]
"""A machine and how long it takes, or several machines of which one is taken."""


@dataclass(frozen=True)
class Operation:
    """One operation in a plan."""

    job: Hashable
    step: int
    """From 0."""
    machine: Hashable
    start: int
    end: int


@dataclass(frozen=True)
class Plan(Solved):
    """When and where every operation runs."""

    operations: tuple[Operation, ...]
    """Job after job; empty without a solution."""

    def machine(self, name: Hashable) -> list[Operation]:
        """What a machine does, in order of time."""
        return sorted((each for each in self.operations if each.machine == name), key=lambda each: (each.start, each.end))

    def job(self, name: Hashable) -> list[Operation]:
        """A job's operations, in order."""
        return [each for each in self.operations if each.job == name]

    def to_frame(self) -> pandas.DataFrame:
        """A row for each operation: job, step, machine, start, end."""
        return to_frame([vars(each) for each in self.operations])


class SchedulingModel:
    """Jobs are chains of operations; each takes a machine for a while, a machine does one at a time.

    objective: "makespan", when the last job ends, or "tardiness", how late jobs end, each late unit times the job's weight.
    Times are integers of a unit of your own.
    """

    def __init__(self, objective: Literal["makespan", "tardiness"] = "makespan", name: str = "model") -> None:
        if objective not in ("makespan", "tardiness"):
            raise UsageError(f"{objective!r} is not known; accepted: makespan, tardiness")
        self.name, self.objective = name, objective
        self._machines, self._jobs = Names("machine"), Names("job")
        self._rows: list[list[list[tuple[int, int]]]] = []
        self._dates: list[tuple[int, int | None, int]] = []

    def add_job(
        self, name: Hashable, operations: Sequence[Choices], *, release: int = 0, due: int | None = None, weight: int = 1
    ) -> None:
        """A job: `[("saw", 3), {"mill": 2, "lathe": 5}]` is three hours of the saw, then the mill or the lathe.

        release: it does not start before; due: it should end by then, which "tardiness" asks of every job.
        """
        if not operations:
            raise UsageError(f"job {name!r} has no operations; accepted: at least one")
        if self.objective == "tardiness" and due is None:
            raise UsageError(f"job {name!r} has no due date; the objective is the tardiness")
        chains = [self._choices(name, step, each) for step, each in enumerate(operations)]
        self._jobs.add(name)
        self._rows.append([[(self._number(machine), duration) for machine, duration in chain] for chain in chains])
        self._dates.append((release, due, weight))

    def _choices(self, job: Hashable, step: int, given: Choices) -> list[tuple[Hashable, int]]:
        pairs = list(given.items()) if isinstance(given, Mapping) else [tuple(given)]
        for pair in pairs:
            if len(pair) != 2 or isinstance(pair[1], bool) or not isinstance(pair[1], int) or pair[1] < 0:
                wanted = "accepted: (machine, duration) or {machine: duration}, durations integers from 0"
                raise UsageError(f"job {job!r}, operation {step}: {given!r}; {wanted}")
        return pairs  # type: ignore[return-value]

    def _number(self, machine: Hashable) -> int:
        return self._machines[machine] if machine in self._machines.known else self._machines.add(machine)

    def instance(self) -> JobShopInstance:
        """What the model compiles to. Raises InputError."""
        from corl.problems.jobshop.instance import from_jobs

        release, due, weight = zip(*self._dates) if self._dates else ((), (), ())
        late = self.objective == "tardiness"
        return compiled(
            lambda: from_jobs(
                self._rows,
                max(1, len(self._machines)),
                name=self.name,
                release=release,
                due=due if late else None,
                weight=weight,
                objective="weighted_tardiness" if late else "makespan",
            ),
            {"jobs": self._jobs},
        )

    def solve(self, **options: Any) -> Plan:
        """As `corl.solve` of the instance: `time_limit`, `solver` and what else it takes."""
        from corl.solving import solve

        instance = self.instance()
        result = solve(instance, problem="jobshop", **options)
        return Plan(result, () if result.solution is None else tuple(self._operations(result.solution)))

    def _operations(self, schedule: Any) -> list[Operation]:
        machines, found, at = self._machines.listed(), [], 0
        for job, chains in zip(self._jobs.listed(), self._rows):
            for step, chain in enumerate(chains):
                start, machine = int(schedule.start[at]), int(schedule.machine[at])
                found.append(Operation(job, step, machines[machine], start, start + dict(chain)[machine]))
                at += 1
        return found
