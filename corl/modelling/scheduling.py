"""`SchedulingModel`: jobs of operations on machines."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from corl.errors import UsageError
from corl.modelling.common import Names, Solved, compiled, to_frame
from corl.modelling.workshop import Asked, whole

if TYPE_CHECKING:
    import pandas

    from corl.problems.jobshop.instance import JobShopInstance, Objective

__all__ = ["Operation", "Plan", "SchedulingModel"]

Choices = tuple[Hashable, int] | Mapping[Hashable, int]
"""A machine and how long it takes, or several machines of which one is taken."""
_OBJECTIVES: dict[str, Objective] = {
    "makespan": "makespan", "tardiness": "weighted_tardiness", "earliness": "earliness_tardiness",
}  # fmt: skip


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

    objective: "makespan", when the last job ends, "tardiness", how late jobs end, each late unit times the job's weight, or
    "earliness", that and how early they end. Times are integers of a unit of your own.
    """

    def __init__(self, objective: Literal["makespan", "tardiness", "earliness"] = "makespan", name: str = "model") -> None:
        if objective not in _OBJECTIVES:
            raise UsageError(f"{objective!r} is not known; accepted: {', '.join(_OBJECTIVES)}")
        self.name, self.objective = name, objective
        self._machines, self._jobs = Names("machine"), Names("job")
        self._rows: list[list[list[tuple[int, int]]]] = []
        self._dates: list[tuple[int, int | None, int]] = []
        self._asked = Asked()

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
        """A job: `[("saw", 3), {"mill": 2, "lathe": 5}]` is three hours of the saw, then the mill or the lathe.

        release: it does not start before, nor each operation before its `earliest`; due: it should end by then, which
        "tardiness" and "earliness" ask of every job; early: not before then (by default `due`), `earliness` being the weight of
        a unit; no_wait: each operation starts the moment the one before ends; family: what set-ups go by, the name by default.
        """
        if not operations:
            raise UsageError(f"job {name!r} has no operations; accepted: at least one")
        if self.objective != "makespan" and due is None:
            raise UsageError(f"job {name!r} has no due date; the objective is the {self.objective}")
        if early is not None and due is None:
            raise UsageError(f"job {name!r} has no due date; accepted: one beside `early`")
        if earliest and len(earliest) != len(operations):
            raise UsageError(f"job {name!r} has {len(operations)} operations; earliest: accepted: as many times")
        chains = [self._choices(name, step, each) for step, each in enumerate(operations)]
        self._jobs.add(name)
        self._rows.append([[(self._number(machine), duration) for machine, duration in chain] for chain in chains])
        self._dates.append((release, due, weight))
        self._asked.add_job(len(operations), early, earliness, no_wait, name if family is None else family, earliest)

    def set_setup(self, machine: Hashable, before: Hashable, after: Hashable, duration: int) -> None:
        """Setting a machine up from one family to another takes so long; before None: for its first operation.

        Without a family of its own a job is one. What is not said takes no time.
        """
        self._asked.setups[self._number(machine), before, after] = whole(duration, f"set-up of {machine!r}")

    def set_unavailable(self, machine: Hashable, begin: int, end: int | None = None) -> None:
        """A machine does nothing from `begin` to `end`, or with None from then on for good."""
        spell = whole(begin, f"machine {machine!r}: begin"), None if end is None else whole(end, f"machine {machine!r}: end")
        self._asked.spells.append((self._number(machine), *spell))

    def rescheduled(
        self, plan: Plan, now: int, *, down: Mapping[Hashable, int | None] | None = None, frozen_until: int | None = None
    ) -> SchedulingModel:
        """The model of what is left to decide at the time `now`: what has begun by `plan`, or begins before `frozen_until`, is as
        it is. The plan is one of this model, to which jobs may have been added since.

        down: machines that broke down, and until when (None: for good); what runs on one is lost and starts anew.
        """
        from corl.problems.jobshop.rescheduling import reschedule

        made = copy.deepcopy(self)
        known = sum(len(row) for row in self._rows[: len({each.job for each in plan.operations})])
        broken = [(self._machines[machine], until) for machine, until in (down or {}).items()]
        old = self._first(plan).instance()
        left = reschedule(old, plan.result.solution, now, down=broken, frozen_until=frozen_until).rules
        assert left is not None and left.fixed_start is not None and left.fixed_machine is not None
        made._asked.now, fixed = now, {}
        for i in range(known):
            if left.fixed_start[i] >= 0:
                fixed[i] = (int(left.fixed_machine[i]), int(left.fixed_start[i]))
        made._asked.fixed = fixed
        made._asked.take_spells(left.unavailable)
        return made

    def _first(self, plan: Plan) -> SchedulingModel:
        """The model of the jobs that a plan knows. Raises UsageError where these are not the first ones."""
        made, known = copy.deepcopy(self), list(dict.fromkeys(each.job for each in plan.operations))
        if not known or known != self._jobs.listed()[: len(known)]:
            raise UsageError("accepted: a plan of this model that has a solution")
        made._rows, made._dates = made._rows[: len(known)], made._dates[: len(known)]
        made._jobs.known = {name: k for k, name in enumerate(known)}
        made._asked.cut(len(known), sum(map(len, made._rows)))
        return made

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
                rules=self._asked.rules(self._rows, due, max(1, len(self._machines))),
            ),
            {"jobs": self._jobs, "job": self._jobs},
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
