"""The limit `patience` ends every anytime solver of every family: soon after its last improvement, long before the time limit."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from families import family, small

import corl
from corl import registry

PATIENCE = 0.02  # seconds
NEVER = 120.0  # seconds: only a run that does not heed its patience comes to this time limit
GENERIC = {"muzero", "online", "policy", "tree-search"}
"""They need a checkpoint, or a stream of requests."""
NETWORKS = {"cp-agent", "heatmap-mcts", "iterative-dqn", "learned-branching", "sequoia", "slim"}
"""They load a network, or learn one: in the long suite alone."""
OWN_ENDS = {"patience", "optimal", "infeasible", "finished"}
"""What ends a run that heeds its patience: some solvers end by themselves before."""
PAIRS = [
    pytest.param(problem, solver, marks=[pytest.mark.long] if solver in NETWORKS else [], id=f"{problem}-{solver}")
    for problem in registry.problems()
    for solver in registry.solvers(problem)
    if solver not in GENERIC | {"auto"}
]


@cache
def _candidates(problem: str) -> list[Any]:
    """Instances of a problem, first one that keeps solvers busy for seconds.

    Of the bandits only small ones: their first solution, a policy that has been simulated, may take minutes.
    """
    name, options = getattr(family(problem), "BUSY", ("", {})) if problem != "bandits" else ("", {})
    busy = [registry.problem(problem).generators[name](**options)] if name else []
    return [*busy, *small(problem)]


@pytest.mark.parametrize(("problem", "solver"), PAIRS)
def test_patience_ends_a_solver(problem: str, solver: str):
    """Of a run of two minutes; solvers that report nothing before their end refuse it."""
    method = registry.solver(problem, solver)
    if solver in ("pyvrp", "fast-tsp"):
        pytest.importorskip(solver.replace("-", "_"))
    instance = next((each for each in _candidates(problem) if not method().accepts(each)), None)
    if instance is None:
        pytest.skip("it takes none of the instances")
    if method.reports_at_end:
        with pytest.raises(corl.UsageError, match="reports no solution before its end, so patience cannot end it"):
            corl.solve(instance, problem=problem, solver=solver, time_limit=NEVER, patience=PATIENCE)
        return
    result = corl.solve(instance, problem=problem, solver=solver, time_limit=NEVER, patience=PATIENCE)
    assert result.limit in OWN_ENDS, result.limit
    assert result.solution is not None or result.limit != "patience"


UNPROVEN = {
    "jobshop": ("taillard", {"jobs": 20, "machines": 15}), "tsp": ("uniform", {"size": 200}), "vrp": ("x", {"size": 100}),
}  # fmt: skip
"""Problem -> a generator and its arguments: instances whose bounds, without exact methods, stay below the optimum."""


@pytest.mark.parametrize(("problem", "solver"), [("jobshop", "tabu"), ("tsp", "ils"), ("vrp", "ruin-recreate")])
def test_patience_is_what_ends_it(problem: str, solver: str):
    """Solvers that never end by themselves: without patience, these runs would last until their time limit."""
    name, options = UNPROVEN[problem]
    instance = registry.problem(problem).generators[name](**options)
    result = corl.solve(instance, problem=problem, solver=solver, time_limit=NEVER, patience=PATIENCE)
    assert result.limit == "patience" and result.status == "feasible"
