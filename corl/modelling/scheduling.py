"""`SchedulingModel`: a job shop with named jobs and machines."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from corl.arguments import choice, entries, flag, integer, refusal, text
from corl.arguments import name as named
from corl.errors import UsageError, shown
from corl.modelling.common import Names, compiled, solved
from corl.modelling.plans import Operation, Plan
from corl.modelling.scheduling_constraints import ConstraintCollector
from corl.modelling.scheduling_frame import Table
from corl.modelling.scheduling_resources import Needs, Stages
from corl.modelling.scheduling_times import Clock, Moment, Span

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance, Objective

__all__ = ["Operation", "Plan", "SchedulingModel"]

Choices = tuple[Hashable, Span] | Mapping[Hashable, Span]
"""An operation: (machine, duration), or a dict from the machines that may process it to the durations there."""
_PAIR = "(machine, duration) or {machine: duration}, durations integers from 0 or timedeltas"
_LARGEST_WEIGHT = 10**6
_OBJECTIVES: dict[str, Objective] = {
    "makespan": "makespan", "tardiness": "weighted_tardiness", "earliness": "earliness_tardiness",
}  # fmt: skip


class SchedulingModel:
    """A model of jobs, which are sequences of operations on machines; a machine processes one operation at a time.

    The objective is "makespan", the end of the last job; "tardiness", the weighted sum of the jobs' delays after their due dates;
    or "earliness", which adds the weighted sum of the times by which jobs end too early. Times are integers in any unit. A model
    with a `begin` also takes dates (datetime, pandas' Timestamp, ISO texts), and its plans have dates.
    """

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
            objective: The objective, see above.
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

    @classmethod
    def from_frame(
        cls,
        operations: Any,
        objective: Literal["makespan", "tardiness", "earliness"] = "makespan",
        name: str = "model",
        *,
        begin: Moment | None = None,
        unit: Literal["s", "min", "h", "day"] = "min",
        columns: Mapping[str, str] | None = None,
    ) -> SchedulingModel:
        """Return a model of the operations in a table. Raises UsageError, naming row and column.

        Columns are found by their names in any spelling, such as "Job", "job_id" or "Order" for `job`; others are ignored. Rows
        with the same job and operation are the choices of machines of one operation.

        - job: a name.
        - operation: the position in the job, a number; or a name, in the order of the rows. Without this column every row is an
          operation, in the order of the rows.
        - machine: a name, a list of names, or names separated by `|`.
        - duration: a number or a timedelta; a list if it differs by machine.
        - release, due, weight, family: as in `add_job`; the same in all rows of a job, or empty.

        Args:
            operations: A pandas or polars DataFrame, a dict of columns, or a list of dicts.
            objective: The objective of the model.
            name: The name of the instance.
            begin: The date of time 0; by default the earliest release, if releases are dates. An earlier release means `begin`.
            unit: The unit of times, see `SchedulingModel`.
            columns: Field -> name of its column, if that is not found: {"job": "Auftrag"}.
        """
        table = Table(operations, columns)
        model = cls(objective, name, begin=table.first_date() if begin is None else begin, unit=unit)
        for job, arguments in table.jobs(model._clock).items():
            model.add_job(job, **arguments)
        return model

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
        listed = entries(f"{of}: operations", operations, f"a list, each operation {_PAIR}")
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
            integer(f"{of}: weight", weight, high=_LARGEST_WEIGHT),
        )
        earliness_terms = (
            None if early is None else self._clock.moment(f"{of}: early", early),
            integer(f"{of}: earliness", earliness, high=_LARGEST_WEIGHT),
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

    def rescheduled(
        self,
        plan: Plan,
        now: Moment,
        *,
        down: Mapping[Hashable, Moment | None] | None = None,
        frozen_until: Moment | None = None,
        rush: Mapping[Hashable, Sequence[Choices]] | None = None,
        priority: int = 10,
        machine_change: int | None = None,
        start_change: int | None = None,
    ) -> SchedulingModel:
        """Return a copy of the model for the decisions that remain at the time `now`. Raises UsageError.

        Operations that start before `now` in the plan are fixed to the plan's machines and times. With `machine_change` or
        `start_change`, the objective of the copy includes what changes of the plan cost; the solvers cp-sat and annealing support
        these costs.

        Args:
            plan: A plan of this model; jobs may have been added to the model since.
            now: The current time.
            down: Broken machine -> the time until which it is broken; None: for ever. An operation that is running on a broken
                machine must start again from scratch.
            frozen_until: Operations that start before this time in the plan are fixed, too; None: before `now`.
            rush: Rush orders, jobs that arrive now: job -> operations, as in `add_job`. They are due as soon as they can end, and
                need an objective with due dates.
            priority: The weight of rush orders, as a multiple of the largest weight of the other jobs.
            machine_change: The cost of each operation that moves to another machine; None: nothing.
            start_change: The cost of each unit of time by which an operation starts earlier or later; None: nothing.
        """
        from corl.problems.jobshop.rescheduling import reschedule

        planned = self._first(plan).instance()
        time = self._clock.moment("now", now, self._constraints.now)
        frozen = None if frozen_until is None else self._clock.moment("frozen_until", frozen_until, time)
        model, broken = copy.deepcopy(self), list[tuple[int, int | None]]()
        if down is not None and not isinstance(down, Mapping):
            raise refusal("down", down, "a dict from machines to times, or to None for ever")
        for machine, until in (down or {}).items():
            end = None if until is None else self._clock.moment(f"down: machine {shown(machine)}", until, time + 1)
            broken.append((self._machines.number("down", machine), end))
        rules = reschedule(planned, plan.result.solution, time, down=broken, frozen_until=frozen).rules
        assert rules is not None and rules.fixed_start is not None and rules.fixed_machine is not None
        model._constraints.now, fixed = time, {}
        for i in range(planned.operations):
            if rules.fixed_start[i] >= 0:
                fixed[i] = (int(rules.fixed_machine[i]), int(rules.fixed_start[i]))
        model._constraints.fixed = fixed
        model._constraints.set_unavailable(rules.unavailable)
        model._constraints.change_costs = None
        if machine_change is not None or start_change is not None:
            model._constraints.change_costs = (
                integer("machine_change", 0 if machine_change is None else machine_change, high=_LARGEST_WEIGHT),
                integer("start_change", 0 if start_change is None else start_change, high=_LARGEST_WEIGHT),
            )
            pairs = zip(plan.result.solution.machine.tolist(), plan.result.solution.start.tolist())
            model._constraints.announced = dict(enumerate(pairs))
        model._add_rush_orders(rush, time, integer("priority", priority, 1, _LARGEST_WEIGHT))
        return model

    def _add_rush_orders(self, rush: Any, now: int, priority: int) -> None:
        """Add jobs that arrive now, and are due as soon as they can end. Raises UsageError; see `rescheduled`."""
        if rush is not None and not isinstance(rush, Mapping):
            raise refusal("rush", rush, "a dict from jobs to their operations")
        if rush and self.objective == "makespan":
            raise UsageError("rush: the makespan knows no priorities; accepted: a model of the tardiness or the earliness")
        weight = min(_LARGEST_WEIGHT, priority * max((weight for *_, weight in self._dates), default=1))
        for job, operations in (rush or {}).items():
            listed = entries(f"rush: job {shown(job)}", operations, f"a list, each operation {_PAIR}")
            choices = [self._choices(f"rush: job {shown(job)}, operation {step}", each) for step, each in enumerate(listed)]
            soonest = now + sum(min(duration for _, duration in pairs) for pairs in choices)
            self.add_job(job, listed, release=now, due=soonest, weight=weight, earliness=0)

    def _first(self, plan: Plan) -> SchedulingModel:
        """Return the model with only the jobs of a plan. Raises UsageError if they are not the first jobs of this model."""
        accepted = "a plan of this model that has a solution"
        if not isinstance(plan, Plan):
            raise refusal("plan", plan, accepted)
        model, planned = copy.deepcopy(self), list(dict.fromkeys(each.job for each in plan.operations))
        if not planned or planned != self._jobs.listed()[: len(planned)]:
            raise UsageError(f"plan: its jobs are not the first jobs of this model, or it has none; accepted: {accepted}")
        model._rows, model._dates = model._rows[: len(planned)], model._dates[: len(planned)]
        model._jobs = Names("job", planned)
        model._constraints.cut(len(planned), sum(map(len, model._rows)))
        return model

    def _choices(self, of: str, given: Any) -> list[tuple[Hashable, int]]:
        """Return (machine, duration) for each machine that can process an operation. Raises UsageError."""
        if not isinstance(given, Mapping) and (isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2):
            raise refusal(of, given, _PAIR)
        pairs = list(given.items()) if isinstance(given, Mapping) else [tuple(given)]
        try:
            found = [(named("machine", machine), self._clock.span("duration", duration)) for machine, duration in pairs]
        except UsageError:
            found = []
        if not found:
            raise refusal(of, given, _PAIR)
        found = self._stages.expanded(found)
        for machine, _ in found if self._declared else []:
            self._machines.number(of, machine)
        return found

    def _number(self, of: str, machine: Hashable) -> int:
        """Return the number of a machine; an unknown machine is added if `add_machine` was never called. Raises UsageError."""
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
        operations = () if result.solution is None else tuple(self._operations(instance, result.solution))
        return Plan(result, operations, tuple(self._machines.listed()), tuple(self._jobs.listed()), self._clock)

    def _operations(self, instance: JobShopInstance, schedule: Any) -> list[Operation]:
        """Return the operations of a schedule with the names of jobs and machines."""
        from corl.problems.jobshop.evaluation import ends

        names, date = self._machines.listed(), self._clock.date
        times = zip(schedule.machine.tolist(), schedule.start.tolist(), ends(instance, schedule).tolist())
        steps = ((job, step) for job, choices in zip(self._jobs.listed(), self._rows) for step in range(len(choices)))
        return [
            Operation(*step, names[machine], start, end, date(start), date(end))
            for step, (machine, start, end) in zip(steps, times)
        ]
