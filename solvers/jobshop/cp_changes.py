"""The costs of changes of an announced schedule in the CP-SAT model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.solvers.jobshop.cp_model import Model

__all__ = ["change_costs"]


def change_costs(problem: Model, horizon: int) -> Any:
    """Return the expression of the costs of changes, 0 if there are none.

    Args:
        problem: The model, with all operations.
        horizon: An upper bound of all times.
    """
    instance, model = problem.instance, problem.model
    changes = None if instance.rules is None else instance.rules.changes
    if changes is None:
        return 0
    cost: Any = 0
    for i, (start, machine) in enumerate(zip(changes.start.tolist(), changes.machine.tolist())):
        if start < 0:
            continue
        if changes.per_time:
            shift = model.new_int_var(0, max(horizon, start), "")
            model.add(shift >= problem.starts[i] - start)
            model.add(shift >= start - problem.starts[i])
            cost += changes.per_time * shift
        if changes.per_machine:
            cost += changes.per_machine * _elsewhere(problem, i, machine)
    return cost


def _elsewhere(problem: Model, operation: int, machine: int) -> Any:
    """Return an expression that is 1 if an operation is not on a machine, otherwise 0."""
    choices = problem.instance.choices(operation)
    if len(choices) == 1:
        return int(choices[0][0] != machine)
    return 1 - sum(literal for literal, (m, _) in zip(problem.literals[operation], choices) if m == machine)
