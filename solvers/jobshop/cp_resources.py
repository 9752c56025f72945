"""Renewable resources in the CP-SAT model: a cumulative constraint for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from corl.problems.jobshop.rules import SideConstraints

if TYPE_CHECKING:
    from corl.solvers.jobshop.cp_model import Model
    from corl.solvers.jobshop.cp_task import Task

__all__ = ["add_resources"]


def add_resources(problem: Model, rules: SideConstraints, on_machine: Sequence[Sequence[Task]], horizon: int) -> None:
    """Add the resources to the model: at no time do operations occupy more units than there are.

    An operation that needs the same units on all its machines is one interval, otherwise one optional interval per machine. An
    interval ends when the operation ends, with the breaks at which it stops; the job may block its machine after that.

    Args:
        problem: The model, with all operations.
        rules: The side constraints.
        on_machine: The tasks of each machine.
        horizon: An upper bound of all times.
    """
    if rules.capacity is None or rules.demand is None:
        return
    instance = problem.instance
    tasks: list[dict[int, Task]] = [{} for _ in range(instance.operations)]  # of each operation: machine -> task
    for machine, listed in enumerate(on_machine):
        for task in listed:
            tasks[task.operation][machine] = task
    for r, capacity in enumerate(rules.capacity.tolist()):
        intervals, demands = [], []
        for i, of_operation in enumerate(tasks):
            choices = range(int(instance.choice_first[i]), int(instance.choice_first[i + 1]))
            units = [int(rules.demand[c, r]) if instance.choice_duration[c] else 0 for c in choices]
            if min(units) == max(units):
                needed = [(next(iter(of_operation.values()))._replace(interval=problem.intervals[i], literal=None), units[0])]
            else:
                needed = [(of_operation[int(instance.choice_machine[c])], each) for c, each in zip(choices, units)]
            intervals += [_processed(problem, task, horizon) for task, each in needed if each]
            demands += [each for _, each in needed if each]
        if intervals:
            problem.model.add_cumulative(intervals, demands, capacity)


def _processed(problem: Model, task: Task, horizon: int) -> Any:
    """Return the interval from the start of an operation to its end, optional if the task has a literal."""
    if task.interval is not None:
        return task.interval
    size = problem.model.new_int_var(0, horizon, "")
    if task.literal is None:
        return problem.model.new_interval_var(task.start, size, task.end, "")
    return problem.model.new_optional_interval_var(task.start, size, task.end, task.literal, "")
