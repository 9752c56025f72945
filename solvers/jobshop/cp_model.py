"""The constraint model of a job shop for CP-SAT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from corl.problems.jobshop.evaluation import ends
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.solvers.jobshop.cp_changes import change_costs
from corl.solvers.jobshop.cp_rules import add_rules, earliness
from corl.solvers.jobshop.cp_stays import add_stay, add_stays, stays
from corl.solvers.jobshop.cp_task import Task

__all__ = ["Model"]

_CHECK_INTERVAL = 1000  # operations between two calls of `stopped`


class Model:
    """The CP-SAT model of an instance."""

    def __init__(self, instance: JobShopInstance) -> None:
        self.instance, self.model = instance, cp_model.CpModel()
        self.starts: list[Any] = []
        """For each operation, the variable of its start."""
        self.ends: list[Any] = []
        """For each operation, the variable or expression of its end."""
        self.literals: list[list[Any]] = []
        """For each operation, one literal for each of its machines; empty if it has only one machine."""
        self.intervals: list[Any] = []
        """For each operation, its interval variable, on whatever machine."""

    @classmethod
    def build(cls, instance: JobShopInstance, hint: Schedule | None, stopped: Callable[[], bool]) -> Model | None:
        """Return the model with the feasible schedule `hint` as a hint; None if `stopped` returns True before it is complete."""
        self = cls(instance)
        horizon = instance.horizon
        if hint is not None:
            horizon = max(horizon, int(ends(instance, hint).max()))
        on_machine: list[list[Task]] = [[] for _ in range(instance.machines)]
        job_ends = []
        for j, row in enumerate(instance.rows()):
            ready: Any = int(instance.release[j])
            for choices in row:
                if len(self.starts) % _CHECK_INTERVAL == 0 and stopped():
                    return None
                ready = self._operation(choices, ready, horizon, on_machine)
                self.ends.append(ready)
            job_ends.append(ready)
        blocked = [] if instance.rules is None else add_rules(self, on_machine, horizon, hint, stopped)
        if blocked is None:
            return None
        for machine, tasks in enumerate(on_machine):
            blocked_intervals = blocked[machine] if blocked else []
            self.model.add_no_overlap([task.interval for task in tasks if task.interval is not None] + blocked_intervals)
        add_stays(self, on_machine, horizon, hint)
        self._objective(job_ends, horizon)
        if hint is not None:
            self._hint(hint)
        return self

    def _operation(self, choices: list[tuple[int, int]], ready: Any, horizon: int, on_machine: list[list[Task]]) -> Any:
        """Add an operation that starts at `ready` or later; return its end, a variable or expression.

        Args:
            choices: (machine, duration) for each eligible machine.
            ready: The end of the job predecessor, or the release date.
            horizon: An upper bound of all times.
            on_machine: The tasks of each machine; the tasks of the operation are appended in place.
        """
        model, operation = self.model, len(self.starts)
        start = model.new_int_var(0, horizon, "")
        model.add(start >= ready)
        self.starts.append(start)
        if stays(self.instance.rules, operation):
            return add_stay(self, operation, choices, start, horizon, on_machine)
        if len(choices) == 1:
            ((machine, duration),) = choices
            interval = model.new_fixed_size_interval_var(start, duration, "")
            self.intervals.append(interval)
            end = start + duration
            on_machine[machine].append(Task(operation, start, end, interval, None, end, interval, interval))
            self.literals.append([])
            return start + duration
        durations = [duration for _, duration in choices]
        end = model.new_int_var(0, horizon, "")
        self.intervals.append(model.new_interval_var(start, model.new_int_var(min(durations), max(durations), ""), end, ""))
        literals = []
        for machine, duration in choices:
            literal = model.new_bool_var("")
            interval = model.new_optional_interval_var(start, duration, end, literal, "")
            on_machine[machine].append(Task(operation, start, end, interval, literal, end, interval, interval))
            literals.append(literal)
        model.add_exactly_one(literals)
        self.literals.append(literals)
        return end

    def _objective(self, ends: list[Any], horizon: int) -> None:
        """Add the objective; `ends` are the variables or expressions of the jobs' ends."""
        instance, model = self.instance, self.model
        if instance.objective == "makespan":
            makespan = model.new_int_var(0, horizon, "")
            for end in ends:
                model.add(makespan >= end)
            model.minimize(makespan + change_costs(self, horizon))
            return
        assert instance.due is not None
        tardiness = []
        for end, due in zip(ends, instance.due.tolist()):
            tardiness.append(model.new_int_var(0, horizon, ""))
            model.add(tardiness[-1] >= end - due)
        cost = change_costs(self, horizon) + sum(
            weight * variable for weight, variable in zip(instance.weight.tolist(), tardiness)
        )
        model.minimize(cost + earliness(model, instance, ends) if instance.objective == "earliness_tardiness" else cost)

    def _hint(self, hint: Schedule) -> None:
        for i, literals in enumerate(self.literals):
            self.model.add_hint(self.starts[i], int(hint.start[i]))
            for literal, (machine, _) in zip(literals, self.instance.choices(i) if literals else []):
                self.model.add_hint(literal, int(machine == hint.machine[i]))

    def schedule(self, value: Callable[[Any], int]) -> Schedule:
        """Return the Schedule of a solution of the model; `value` returns the value of a variable in it."""
        start = np.array([value(variable) for variable in self.starts], np.int64)
        machine = self.instance.choice_machine[self.instance.choice_first[:-1]].copy()
        for i, literals in enumerate(self.literals):
            for literal, (choice, _) in zip(literals, self.instance.choices(i) if literals else []):
                if value(literal):
                    machine[i] = choice
        return Schedule(start, machine)
