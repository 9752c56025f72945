"""The data of a SchedulingModel: named machines, jobs, set-ups and calendars."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

from corl.arguments import choice, entries, flag, integer, refusal, text
from corl.arguments import name as named
from corl.errors import UsageError, shown
from corl.modelling.common import Names
from corl.modelling.scheduling_constraints import ConstraintCollector
from corl.modelling.scheduling_resources import Needs, Stages
from corl.modelling.scheduling_times import Clock, Moment, Span

__all__ = ["LARGEST_WEIGHT", "PAIR", "Choices", "SchedulingData"]

Choices = tuple[Hashable, Span] | Mapping[Hashable, Span]
"""An operation: (machine, duration), or a dict from the machines that may process it to the durations there."""
PAIR = "(machine, duration) or {machine: duration}, durations integers from 0 or timedeltas"
LARGEST_WEIGHT = 10**6
_OBJECTIVES = ("makespan", "tardiness", "earliness")


class SchedulingData:
    """The part of SchedulingModel that describes the problem. Names are numbered in the order in which they are added."""

    def __init__(
        self,
        objective: Literal["makespan", "tardiness", "earliness"] = "makespan",
        name: str = "model",
        *,
        begin: Moment | None = None,
        unit: Literal["s", "min", "h", "day"] = "min",
        swap: bool = False,
    ) -> None:
        """Create a model without jobs. Raises UsageError.

        Args:
            objective: The objective, see SchedulingModel.
            name: The name of the instance.
            begin: The date of time 0; None: times are integers.
            unit: The unit of dates and timedeltas. Release dates and durations are rounded up to it, due dates down.
            swap: Whether jobs that block each other's next machines in a cycle may exchange them at the same time.
        """
        self._clock = Clock.checked(begin, unit)
        self.name, self.objective = text("name", name), choice("objective", objective, _OBJECTIVES)
        self._machines, self._jobs = Names("machine"), Names("job")
        self._rows: list[list[list[tuple[int, int]]]] = []  # job -> operation -> its possible (machine, duration)
        self._dates: list[tuple[int, int | None, int]] = []  # job -> (release, due, weight)
        self._constraints = ConstraintCollector(flag("swap", swap))
        self._declared, self._stages = False, Stages()  # _declared: whether add_machine was called

    def add_machine(self, name: Hashable) -> None:
        """Add a machine, before any job. Raises UsageError.

        Tables and pictures list machines in this order. Without a call of this method, every machine that an operation names is
        added automatically; with one, operations on other machines are refused.
        """
        if not self._declared and len(self._machines):
            raise UsageError(f"add_machine: {shown(name)} comes after machines were used; accepted: machines before jobs")
        if named("the name of a machine", name) in self._stages:
            raise UsageError(f"there is a stage {shown(name)} already; accepted: another name")
        self._machines.add(name)
        self._declared = True

    def add_stage(self, name: Hashable, machines: Sequence[Hashable]) -> None:
        """Add parallel machines, before any job: an operation on the machine `name` may run on any of them. Raises UsageError.

        If durations differ by machine, an operation names the machines themselves, as a dict.
        """
        if not self._declared and len(self._machines):
            raise UsageError(f"add_stage: {shown(name)} comes after machines were used; accepted: stages before jobs")
        for machine in self._stages.add(name, machines, self._machines):
            self.add_machine(machine)

    def add_resource(self, name: Hashable, capacity: int) -> None:
        """Add a resource, such as a tool or a group of workers, of which `capacity` units exist. Raises UsageError.

        Operations occupy the units that they need (`needs` of `add_job`) from their start to their end.
        """
        self._constraints.resources.add(name, capacity)

    def add_job(
        self,
        name: Hashable,
        operations: Sequence[Choices],
        *,
        release: Moment = 0,
        due: Moment | None = None,
        weight: int = 1,
        early: Moment | None = None,
        earliness: int = 1,
        no_wait: bool = False,
        blocking: bool = False,
        resumable: bool = False,
        family: Hashable = None,
        earliest: Sequence[Moment] = (),
        needs: Sequence[Needs] = (),
    ) -> None:
        """Add a job. Raises UsageError.

        Args:
            name: The name of the job.
            operations: The operations in order: (machine, duration), or {machine: duration} if there is a choice of machines.
                In `[("saw", 3), {"mill": 2, "lathe": 5}]`, the saw takes 3, then the mill takes 2 or the lathe 5.
            release: The earliest start of the job.
            due: The due date, which the objectives "tardiness" and "earliness" need.
            weight: The cost of each unit of tardiness.
            early: The time before which the job should not end; by default `due`.
            earliness: The cost of each unit of time by which the job ends before `early`.
            no_wait: Whether each operation must start when the previous operation ends.
            blocking: Whether the job stays on each machine until its next operation starts, because there is no room to wait.
            resumable: Whether the operations stop when their machine is unavailable, and continue after that.
            family: The family on which set-up times depend; by default the job's name.
            earliest: The earliest start of each operation.
            needs: The resources that each operation needs beside its machine: {resource: units}, {machine: {resource: units}} if
                that depends on the machine, or None.
        """
        job = self._jobs.new(name)
        of = f"job {shown(job)}"
        listed = entries(f"{of}: operations", operations, f"a list, each operation {PAIR}")
        if not listed:
            raise UsageError(f"{of} has no operations; accepted: at least one")
        if self.objective != "makespan" and due is None:
            raise UsageError(f"{of} has no due date; accepted: `due`, as the objective is the {self.objective}")
        if early is not None and due is None:
            raise UsageError(f"{of} has `early` but no due date; accepted: both, or no `early`")
        earliest_starts = [
            self._clock.moment(f"{of}: earliest", each) for each in entries(f"{of}: earliest", earliest, "a list of times")
        ]
        if earliest_starts and len(earliest_starts) != len(listed):
            raise UsageError(f"{of} has {len(listed)} operations; earliest: accepted: one time for each")
        dates = (
            self._clock.moment(f"{of}: release", release),
            None if due is None else self._clock.moment(f"{of}: due", due, down=True),
            integer(f"{of}: weight", weight, high=LARGEST_WEIGHT),
        )
        earliness_terms = (
            None if early is None else self._clock.moment(f"{of}: early", early),
            integer(f"{of}: earliness", earliness, high=LARGEST_WEIGHT),
        )
        stays = flag(f"{of}: blocking", blocking), flag(f"{of}: resumable", resumable)
        cannot_wait, family_name = flag(f"{of}: no_wait", no_wait), job if family is None else named(f"{of}: family", family)
        choices = [self._choices(f"{of}, operation {step}", each) for step, each in enumerate(listed)]
        rows = [[(self._number("", machine), duration) for machine, duration in pairs] for pairs in choices]
        units = self._constraints.resources.parsed(of, needs, len(listed), self._machines)
        self._jobs.add(job)
        self._rows.append(rows)
        self._constraints.resources.add_job(units)
        self._dates.append(dates)
        self._constraints.add_job(len(listed), *earliness_terms, cannot_wait, family_name, earliest_starts)
        self._constraints.add_stays(len(listed), *stays)

    def set_setup(self, machine: Hashable, before: Hashable, after: Hashable, duration: Span) -> None:
        """Set the set-up time of a machine between operations of the families `before` and `after`. Raises UsageError.

        Set-ups between other families take no time.

        Args:
            machine: The machine.
            before: The family of the earlier operation; None: before the machine's first operation.
            after: The family of the later operation. A job without a family is a family of its own, named like the job.
            duration: The set-up time.
        """
        of = f"set-up of {shown(machine)}"
        pair = None if before is None else named(f"{of}: before", before), named(f"{of}: after", after)
        length = self._clock.span(f"{of}: duration", duration)
        self._constraints.setups[self._number("machine", machine), *pair] = length

    def set_unavailable(self, machine: Hashable, begin: Moment, end: Moment | None = None) -> None:
        """Make a machine unavailable from `begin` to `end`; None: for ever from `begin` on. Raises UsageError."""
        of = f"machine {shown(machine)}"
        begin_time = self._clock.moment(f"{of}: begin", begin, down=True)
        end_time = None if end is None else self._clock.moment(f"{of}: end", end)
        if end_time is not None and end_time <= begin_time:
            raise refusal(f"{of}: end", end, f"an integer above its begin, {begin_time}, or None")
        self._constraints.unavailable.append((self._number("machine", machine), begin_time, end_time))

    def _choices(self, of: str, given: Any) -> list[tuple[Hashable, int]]:
        """Return (machine, duration) for each machine that can process an operation. Raises UsageError."""
        if not isinstance(given, Mapping) and (isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2):
            raise refusal(of, given, PAIR)
        pairs = list(given.items()) if isinstance(given, Mapping) else [tuple(given)]
        try:
            found = [(named("machine", machine), self._clock.span("duration", duration)) for machine, duration in pairs]
        except UsageError:
            found = []
        if not found:
            raise refusal(of, given, PAIR)
        found = self._stages.expanded(found)
        for machine, _ in found if self._declared else []:
            self._machines.number(of, machine)
        return found

    def _number(self, of: str, machine: Hashable) -> int:
        """Return the number of a machine; an unknown machine is added if `add_machine` was never called. Raises UsageError."""
        found = named(of, machine)
        new = not self._declared and found not in self._machines.known
        return self._machines.add(found) if new else self._machines.number(of, found)
