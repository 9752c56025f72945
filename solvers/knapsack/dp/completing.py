"""Completion of a knapsack that a policy has partly filled, by a solver."""

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
    """Return for each step the items, int64 [k], any of which a solver's completion may take next.

    These are first all remaining items of the solver's solution, the densest first; then, one by one, items that still fit.
    Raises UsageError if `environment` is no knapsack's.
    """
    if not isinstance(environment, KnapsackEnvironment):
        raise UsageError("it completes knapsacks; accepted: an environment of the problem knapsack")
    state = environment.state
    number, fitting = int(state.instance[row]), int(state.fitting[row])
    instance, items = environment.instances[number], state.open[row, :fitting].astype(np.int64)
    if not fitting:
        return []
    left = np.maximum(instance.capacities - state.used[row, : instance.m], 0.0)
    rest = KnapsackInstance("rest", instance.values[items], instance.weights[:, items], left)
    run = Run(Knapsack(), rest, iterations=iterations)
    solver.solve(rest, run)
    chosen = items[np.sort(np.asarray(run.solution))]  # `open` is in the order of density
    used = state.used[row, : instance.m] + instance.weights[:, chosen].sum(axis=1)
    limits = state.limits[state.limits_start[number] :][: instance.m]
    more = []
    for item in items[~np.isin(items, chosen)]:
        if (used + instance.weights[:, item] <= limits).all():
            used = used + instance.weights[:, item]
            more.append(np.array([item]))
    return [*(chosen[k:] for k in range(len(chosen))), *more]
