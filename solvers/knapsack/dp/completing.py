"""Completion of a partly filled knapsack of an environment by a solver."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.knapsack.environment import KnapsackEnvironment
from corl.problems.knapsack.instance import KnapsackInstance
from corl.problems.knapsack.problem import Knapsack
from corl.run import Run
from corl.solver import Solver

__all__ = ["completion"]


def completion(solver: Solver, environment: Environment, row: int, iterations: int) -> list[NDArray[np.int64]]:
    """Return the accepted actions for each remaining step of an episode, by filling the rest of a row's knapsack with a solver.

    As long as items of the solver's solution remain, all of them are accepted, the densest first. Then items that still fit
    follow, one accepted item per step.

    Args:
        solver: A solver of the knapsack problem.
        environment: A KnapsackEnvironment.
        row: The row of the environment's pool.
        iterations: The number of iterations of the solver.

    Returns:
        int64 arrays, one for each step: the accepted items.

    Raises:
        UsageError: If the environment belongs to another problem.
    """
    if not isinstance(environment, KnapsackEnvironment):
        raise UsageError("it completes knapsacks; accepted: an environment of the problem knapsack")
    state = environment.state
    number, fitting = int(state.instance[row]), int(state.fitting[row])
    instance, items = environment.instances[number], state.open[row, :fitting].astype(np.int64)
    if not fitting:
        return []
    capacities_left = np.maximum(instance.capacities - state.used[row, : instance.m], 0.0)
    remaining = KnapsackInstance("rest", instance.values[items], instance.weights[:, items], capacities_left)
    run = Run(Knapsack(), remaining, iterations=iterations)
    solver.solve(remaining, run)
    chosen = items[np.sort(np.asarray(run.solution))]  # `open` is in the order of density
    used = state.used[row, : instance.m] + instance.weights[:, chosen].sum(axis=1)
    limits = state.limits[state.limits_start[number] :][: instance.m]
    additional = []
    for item in items[~np.isin(items, chosen)]:
        if (used + instance.weights[:, item] <= limits).all():
            used = used + instance.weights[:, item]
            additional.append(np.array([item]))
    return [*(chosen[k:] for k in range(len(chosen))), *additional]
