"""Every run ends by its iterations alone: smallest and degenerate instances, few iterations, no limit of time.

A run that does not return is given up by name (support/tiers.py); the instance is the last line that it printed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from families import family
from kinds import no_network

import corl
from corl import registry
from corl.errors import UsageError

NETWORKS = {"policy", "tree-search", "muzero", "heatmap-mcts", "slim", "cp-agent", "sequoia", "iterative-dqn"}
"""They load a network, or learn one: in the long suite alone."""
SMALLEST: dict[str, Callable[[], list[Any]]] = {
    name: family(name).smallest  # type: ignore[union-attr]
    for name in registry.problems()
    if hasattr(family(name), "smallest")
}
CASES = [
    pytest.param(name, solver, marks=[pytest.mark.long] if solver in NETWORKS else [])
    for name in SMALLEST
    for solver in registry.solvers(name)
    if registry.solver(name, solver).iteration
]


@pytest.mark.parametrize(("name", "solver"), CASES)
def test_iterations_alone_end_a_run(name: str, solver: str):
    """After 1, 3 and 60 iterations, with a solution after the last at the latest."""
    if solver == "pyvrp":
        pytest.importorskip("pyvrp")
    method = registry.solver(name, solver)
    for number, instance in enumerate(SMALLEST[name]()):
        if method().accepts(instance):
            continue
        for iterations in (1, 3, 60):
            print(f"{solver} with {iterations} iterations on instance {number} of {name}", flush=True)
            try:
                result = corl.solve(instance, problem=name, solver=solver, iterations=iterations)
            except UsageError as error:
                if no_network(error):
                    break
                raise
        else:
            assert result.status in ("optimal", "feasible"), (number, result.status, result.reason)
