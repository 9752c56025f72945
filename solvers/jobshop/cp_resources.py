"""Renewable resources in the CP-SAT model: a cumulative constraint for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from corl.problems.jobshop.rules import SideConstraints

if TYPE_CHECKING:
    from corl.solvers.jobshop.cp_model import Model
    from corl.solvers.jobshop.cp_task import Task

__all__ = ["add_resources"]


def add_resources(problem: Model, rules: SideConstraints, on_machine: Sequence[Sequence[Task]]) -> None:
    """Add the resources to the model: at no time do operations occupy more units than there are.

    An operation that needs the same units on all its machines is one interval, otherwise one optional interval per machine.

    Args:
        problem: The model, with all operations.
        rules: The side constraints.
        on_machine: The tasks of each machine.
    """
    if rules.capacity is None or rules.demand is None:
        return
    instance = problem.instance
    tasks: list[dict[int, Any]] = [{} for _ in range(instance.operations)]  # of each operation: machine -> interval
    for machine, listed in enumerate(on_machine):
        for task in listed:
            tasks[task.operation][machine] = task.runs
    for r, capacity in enumerate(rules.capacity.tolist()):
        intervals, demands = [], []
        for i, of_operation in enumerate(tasks):
            choices = range(int(instance.choice_first[i]), int(instance.choice_first[i + 1]))
            units = [int(rules.demand[c, r]) if instance.choice_duration[c] else 0 for c in choices]
            if min(units) == max(units):
                needed = [(problem.intervals[i], units[0])]
            else:
                needed = [(of_operation[int(instance.choice_machine[c])], each) for c, each in zip(choices, units)]
            intervals += [interval for interval, each in needed if each]
            demands += [each for _, each in needed if each]
        if intervals:
            problem.model.add_cumulative(intervals, demands, capacity)
