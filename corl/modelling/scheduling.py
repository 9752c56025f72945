"""`SchedulingModel`: jobs of operations on machines."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from corl.arguments import choice, entries, flag, integer, refusal, text
from corl.arguments import name as named
from corl.errors import UsageError, shown
from corl.modelling.common import Names, Solved, compiled, solved, to_frame
from corl.modelling.scheduling_constraints import ConstraintCollector

if TYPE_CHECKING:
    import pandas

    from corl.problems.jobshop.instance import JobShopInstance, Objective

__all__ = ["Operation", "Plan", "SchedulingModel"]

Choices = tuple[Hashable, int] | Mapping[Hashable, int]
"""A machine and the duration on it, or several machines with durations, of which one is chosen."""
_PAIR = "(machine, duration) or {machine: duration}, durations integers from 0"
_HEAVIEST = 10**6
_OBJECTIVES: dict[str, Objective] = {
    "makespan": "makespan", "tardiness": "weighted_tardiness", "earliness": "earliness_tardiness",
}  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """One scheduled operation of a plan."""

    job: Hashable
    step: int
    """From 0."""
    machine: Hashable
    start: int
    end: int


@dataclass(frozen=True)
class Plan(Solved):
    """A schedule: the machine and the times of every operation."""

    operations: tuple[Operation, ...]
    """The operations, job after job; empty without a solution."""
    machines: tuple[Hashable, ...]
    """The names of all machines, in the order of their declaration."""
    jobs: tuple[Hashable, ...]

    def machine(self, name: Hashable) -> list[Operation]:
        """Return the operations of a machine, in order of time. Raises UsageError for an unknown machine."""
        Names("machine", self.machines).number("machine", name)
        return sorted((each for each in self.operations if each.machine == name), key=lambda each: (each.start, each.end))

    def job(self, name: Hashable) -> list[Operation]:
        """Return a job's operations, in order. Raises UsageError for an unknown job."""
        Names("job", self.jobs).number("job", name)
        return [each for each in self.operations if each.job == name]

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each operation: job, step, machine, start, end."""
        return to_frame([vars(each) for each in self.operations], ("job", "step", "machine", "start", "end"))


class SchedulingModel:
    """A model of jobs, which are sequences of operations on machines; a machine processes one operation at a time.

    The objective is "makespan", the end of the last job; "tardiness", the weighted sum of the delays after due dates; or
    "earliness", the tardiness plus the weighted sum of early ends. Times are integers of one unit.
    """

    def __init__(self, objective: Literal["makespan", "tardiness", "earliness"] = "makespan", name: str = "model") -> None:
        self.name, self.objective = text("name", name), choice("objective", objective, _OBJECTIVES)
        self._machines, self._jobs = Names("machine"), Names("job")
        self._rows: list[list[list[tuple[int, int]]]] = []
        self._dates: list[tuple[int, int | None, int]] = []
        self._constraints, self._declared = ConstraintCollector(), False

    def add_machine(self, name: Hashable) -> None:
        """Declare a machine. Tables and pictures list machines in this order, and undeclared machines are then refused.

        If no machine is declared, the machines are those of the operations, in the order in which they are first named.
        """
        if not self._declared and len(self._machines):
            raise UsageError(f"add_machine: {shown(name)} comes after machines were used; accepted: machines before jobs")
        self._machines.add(name)
        self._declared = True

    def add_job(
        self,
        name: Hashable,
        operations: Sequence[Choices],
        *,
        release: int = 0,
        due: int | None = None,
        weight: int = 1,
        early: int | None = None,
        earliness: int = 1,
        no_wait: bool = False,
        family: Hashable = None,
        earliest: Sequence[int] = (),
    ) -> None:
        """Add a job. Raises UsageError.

        Args:
            name: The name of the job.
            operations: In order, (machine, duration) or {machine: duration} if there is a choice: with
                `[("saw", 3), {"mill": 2, "lathe": 5}]` the saw takes 3, then the mill takes 2 or the lathe 5.
            release: The earliest start of the job.
            due: The due date, which the objectives "tardiness" and "earliness" need.
            weight: The cost of each unit of tardiness.
            early: The time before which the job should not end; by default `due`.
            earliness: The cost of each unit of earliness.
            no_wait: Whether each operation starts when the one before it ends.
            family: The family on which set-up times depend; by default the job's name.
            earliest: The earliest start of each operation.
        """
        job = self._jobs.new(name)
        of = f"job {shown(job)}"
        listed = entries(f"{of}: operations", operations, f"a list, each operation {_PAIR}")
        if not listed:
            raise UsageError(f"{of} has no operations; accepted: at least one")
        if self.objective != "makespan" and due is None:
            raise UsageError(f"{of} has no due date; accepted: `due`, as the objective is the {self.objective}")
        if early is not None and due is None:
            raise UsageError(f"{of} has `early` but no due date; accepted: both, or no `early`")
        begins = [integer(f"{of}: earliest", each) for each in entries(f"{of}: earliest", earliest, "a list of integers")]
        if begins and len(begins) != len(listed):
            raise UsageError(f"{of} has {len(listed)} operations; earliest: accepted: one time for each")
        dates = (
            integer(f"{of}: release", release),
            None if due is None else integer(f"{of}: due", due),
            integer(f"{of}: weight", weight, high=_HEAVIEST),
        )
        window = None if early is None else integer(f"{of}: early", early), integer(f"{of}: earliness", earliness, high=_HEAVIEST)
        waits, kind = flag(f"{of}: no_wait", no_wait), job if family is None else named(f"{of}: family", family)
        chains = [self._choices(f"{of}, operation {step}", each) for step, each in enumerate(listed)]
        self._jobs.add(job)
        self._rows.append([[(self._number("", machine), duration) for machine, duration in chain] for chain in chains])
        self._dates.append(dates)
        self._constraints.add_job(len(listed), *window, waits, kind, begins)

    def set_setup(self, machine: Hashable, before: Hashable, after: Hashable, duration: int) -> None:
        """Set the set-up time of a machine between two families; `before` None: before its first operation. Raises UsageError.

        A job without a family is a family of its own, named like the job. Other set-ups take no time.
        """
        of = f"set-up of {shown(machine)}"
        pair = None if before is None else named(f"{of}: before", before), named(f"{of}: after", after)
        length = integer(f"{of}: duration", duration)
        self._constraints.setups[self._number("machine", machine), *pair] = length

    def set_unavailable(self, machine: Hashable, begin: int, end: int | None = None) -> None:
        """Make a machine unavailable from `begin` to `end`; None: from `begin` on."""
        of = f"machine {shown(machine)}"
        first = integer(f"{of}: begin", begin)
        last = None if end is None else integer(f"{of}: end", end)
        if last is not None and last <= first:
            raise refusal(f"{of}: end", end, f"an integer above its begin, {first}, or None")
        self._constraints.unavailable.append((self._number("machine", machine), first, last))

    def rescheduled(
        self, plan: Plan, now: int, *, down: Mapping[Hashable, int | None] | None = None, frozen_until: int | None = None
    ) -> SchedulingModel:
        """Return the model of the remaining decisions at the time `now`.

        Operations that have started by then are fixed as in the plan. Raises UsageError.

        Args:
            plan: A plan of this model, to which jobs may have been added since.
            now: The current time.
            down: Broken machines: machine -> the time until which it is broken; None: for ever. An operation that runs on a
                broken machine is lost and starts again from scratch.
            frozen_until: Operations that start before this time are fixed too.
        """
        from corl.problems.jobshop.rescheduling import reschedule

        old = self._first(plan).instance()
        time = integer("now", now, self._constraints.now)
        frozen = None if frozen_until is None else integer("frozen_until", frozen_until, time)
        model, broken = copy.deepcopy(self), list[tuple[int, int | None]]()
        if down is not None and not isinstance(down, Mapping):
            raise refusal("down", down, "a dict from machines to times, or to None for ever")
        for machine, until in (down or {}).items():
            back = None if until is None else integer(f"down: machine {shown(machine)}", until, time + 1)
            broken.append((self._machines.number("down", machine), back))
        left = reschedule(old, plan.result.solution, time, down=broken, frozen_until=frozen).rules
        assert left is not None and left.fixed_start is not None and left.fixed_machine is not None
        model._constraints.now, fixed = time, {}
        for i in range(old.operations):
            if left.fixed_start[i] >= 0:
                fixed[i] = (int(left.fixed_machine[i]), int(left.fixed_start[i]))
        model._constraints.fixed = fixed
        model._constraints.set_unavailable(left.unavailable)
        return model

    def _first(self, plan: Plan) -> SchedulingModel:
        """Return the model restricted to the jobs of a plan. Raises UsageError if these are not the first jobs of this model."""
        accepted = "a plan of this model that has a solution"
        if not isinstance(plan, Plan):
            raise refusal("plan", plan, accepted)
        model, known = copy.deepcopy(self), list(dict.fromkeys(each.job for each in plan.operations))
        if not known or known != self._jobs.listed()[: len(known)]:
            raise UsageError(f"plan: its jobs are not the first jobs of this model, or it has none; accepted: {accepted}")
        model._rows, model._dates = model._rows[: len(known)], model._dates[: len(known)]
        model._jobs = Names("job", known)
        model._constraints.cut(len(known), sum(map(len, model._rows)))
        return model

    def _choices(self, of: str, given: Any) -> list[tuple[Hashable, int]]:
        """Return the machines that can process an operation, and the duration on each."""
        if not isinstance(given, Mapping) and (isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2):
            raise refusal(of, given, _PAIR)
        pairs = list(given.items()) if isinstance(given, Mapping) else [tuple(given)]
        try:
            found = [(named("machine", machine), integer("duration", duration)) for machine, duration in pairs]
        except UsageError:
            found = []
        if not found:
            raise refusal(of, given, _PAIR)
        for machine, _ in found if self._declared else []:
            self._machines.number(of, machine)
        return found

    def _number(self, of: str, machine: Hashable) -> int:
        """Return the number of a machine; a new machine gets the next one if none was declared."""
        found = named(of, machine)
        new = not self._declared and found not in self._machines.known
        return self._machines.add(found) if new else self._machines.number(of, found)

    def instance(self) -> JobShopInstance:
        """Return the instance of the model. Raises InputError."""
        from corl.problems.jobshop.instance import from_jobs

        release, due, weight = zip(*self._dates) if self._dates else ((), (), ())
        dated = bool(due) and None not in due
        return compiled(
            lambda: from_jobs(
                self._rows,
                max(1, len(self._machines)),
                name=self.name,
                release=release,
                due=due if dated else None,
                weight=weight,
                objective=_OBJECTIVES[self.objective],
                rules=self._constraints.rules(self._rows, due, max(1, len(self._machines))),
                job_names=self._jobs.texts(),
                machine_names=self._machines.texts(),
            ),
            {"jobs": self._jobs},
        )

    def solve(self, **options: Any) -> Plan:
        """Solve the instance with the options of `corl.solve`: `time_limit`, `solver` and others."""
        instance = self.instance()
        result = solved(instance, "jobshop", options)
        operations = () if result.solution is None else tuple(self._operations(result.solution))
        return Plan(result, operations, tuple(self._machines.listed()), tuple(self._jobs.listed()))

    def _operations(self, schedule: Any) -> list[Operation]:
        machines, found, at = self._machines.listed(), [], 0
        for job, chains in zip(self._jobs.listed(), self._rows):
            for step, chain in enumerate(chains):
                start, machine = int(schedule.start[at]), int(schedule.machine[at])
                found.append(Operation(job, step, machines[machine], start, start + dict(chain)[machine]))
                at += 1
        return found
