"""`SchedulingModel`: a job shop with named jobs and machines."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from corl.arguments import entries, integer, refusal
from corl.errors import UsageError, shown
from corl.modelling.common import Names, compiled, solved
from corl.modelling.plans import Operation, Plan
from corl.modelling.scheduling_data import LARGEST_WEIGHT, PAIR, Choices, SchedulingData
from corl.modelling.scheduling_frame import Table
from corl.modelling.scheduling_times import Moment

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance, Objective

__all__ = ["Operation", "Plan", "SchedulingModel"]

_OBJECTIVES: dict[str, Objective] = {
    "makespan": "makespan", "tardiness": "weighted_tardiness", "earliness": "earliness_tardiness",
}  # fmt: skip


class SchedulingModel(SchedulingData):
    """A model of jobs, which are sequences of operations on machines; a machine processes one operation at a time.

    The objective is "makespan", the end of the last job; "tardiness", the weighted sum of the jobs' delays after their due dates;
    or "earliness", which adds the weighted sum of the times by which jobs end too early. Times are integers in any unit. A model
    with a `begin` also takes dates (datetime, pandas' Timestamp, ISO texts), and its plans have dates.
    """

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
        `start_change`, the objective of the copy includes what changes of the plan cost; the solvers cp-sat, annealing and
        dispatch support these costs.

        Args:
            plan: A plan of this model; jobs may have been added to the model since.
            now: The current time.
            down: Broken machine -> the time until which it is broken; None: for ever. An operation that is running on a broken
                machine starts again from scratch, or continues later if its job is resumable.
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
                integer("machine_change", 0 if machine_change is None else machine_change, high=LARGEST_WEIGHT),
                integer("start_change", 0 if start_change is None else start_change, high=LARGEST_WEIGHT),
            )
            pairs = zip(plan.result.solution.machine.tolist(), plan.result.solution.start.tolist())
            model._constraints.announced = dict(enumerate(pairs))
        model._add_rush_orders(rush, time, integer("priority", priority, 1, LARGEST_WEIGHT))
        return model

    def _add_rush_orders(self, rush: Any, now: int, priority: int) -> None:
        """Add jobs that arrive now, and are due as soon as they can end. Raises UsageError; see `rescheduled`."""
        if rush is not None and not isinstance(rush, Mapping):
            raise refusal("rush", rush, "a dict from jobs to their operations")
        if rush and self.objective == "makespan":
            raise UsageError("rush: the makespan knows no priorities; accepted: a model of the tardiness or the earliness")
        weight = min(LARGEST_WEIGHT, priority * max((weight for *_, weight in self._dates), default=1))
        for job, operations in (rush or {}).items():
            listed = entries(f"rush: job {shown(job)}", operations, f"a list, each operation {PAIR}")
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
