"""The constraint model of a job shop for CP-SAT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from corl.problems.jobshop.instance import JobShopInstance, Schedule

__all__ = ["Model"]

_ASK_EVERY = 1000  # operations between two looks at the clock


class Model:
    """start[i] and, where there is a choice, one literal for each machine of operation i."""

    def __init__(self, instance: JobShopInstance) -> None:
        self.instance, self.model = instance, cp_model.CpModel()
        self.starts: list[Any] = []
        self.literals: list[list[Any]] = []
        """For each operation, a literal for each of its machines; none where it has one machine."""

    @classmethod
    def build(cls, instance: JobShopInstance, hint: Schedule | None, stopped: Callable[[], bool]) -> Model | None:
        """The model, with a feasible schedule as a hint; None where `stopped` says so before it is whole."""
        self = cls(instance)
        horizon = instance.horizon
        if hint is not None:
            horizon = max(horizon, int((hint.start + instance.longest).max()))
        on_machine: list[list[Any]] = [[] for _ in range(instance.machines)]
        ends = []
        for j, row in enumerate(instance.rows()):
            ready: Any = int(instance.release[j])
            for choices in row:
                if len(self.starts) % _ASK_EVERY == 0 and stopped():
                    return None
                ready = self._operation(choices, ready, horizon, on_machine)
            ends.append(ready)
        for intervals in on_machine:
            self.model.add_no_overlap(intervals)
        self._objective(ends, horizon)
        if hint is not None:
            self._hint(hint)
        return self

    def _operation(self, choices: list[tuple[int, int]], ready: Any, horizon: int, on_machine: list[list[Any]]) -> Any:
        """Add an operation that starts at `ready` or later; returns its end."""
        model = self.model
        start = model.new_int_var(0, horizon, "")
        model.add(start >= ready)
        self.starts.append(start)
        if len(choices) == 1:
            ((machine, duration),) = choices
            on_machine[machine].append(model.new_fixed_size_interval_var(start, duration, ""))
            self.literals.append([])
            return start + duration
        durations = [duration for _, duration in choices]
        end = model.new_int_var(0, horizon, "")
        model.new_interval_var(start, model.new_int_var(min(durations), max(durations), ""), end, "")
        literals = []
        for machine, duration in choices:
            literal = model.new_bool_var("")
            interval = model.new_optional_interval_var(start, duration, end, literal, "")
            on_machine[machine].append(interval)
            literals.append(literal)
        model.add_exactly_one(literals)
        self.literals.append(literals)
        return end

    def _objective(self, ends: list[Any], horizon: int) -> None:
        instance, model = self.instance, self.model
        if instance.objective == "makespan":
            makespan = model.new_int_var(0, horizon, "")
            for end in ends:
                model.add(makespan >= end)
            model.minimize(makespan)
            return
        assert instance.due is not None
        late = []
        for end, due in zip(ends, instance.due.tolist()):
            late.append(model.new_int_var(0, horizon, ""))
            model.add(late[-1] >= end - due)
        model.minimize(sum(weight * var for weight, var in zip(instance.weight.tolist(), late)))

    def _hint(self, hint: Schedule) -> None:
        for i, literals in enumerate(self.literals):
            self.model.add_hint(self.starts[i], int(hint.start[i]))
            for literal, (machine, _) in zip(literals, self.instance.choices(i) if literals else []):
                self.model.add_hint(literal, int(machine == hint.machine[i]))

    def schedule(self, value: Callable[[Any], int]) -> Schedule:
        """The Schedule of an assignment, given as the value of each variable."""
        start = np.array([value(variable) for variable in self.starts], np.int64)
        machine = self.instance.choice_machine[self.instance.choice_first[:-1]].copy()
        for i, literals in enumerate(self.literals):
            for literal, (choice, _) in zip(literals, self.instance.choices(i) if literals else []):
                if value(literal):
                    machine[i] = choice
        return Schedule(start, machine)
