"""What solvers claim of tiny instances - optimal, infeasible, unbounded, a bound - against enumeration, where a family has one.

Instances and enumerations are those of support/families; here every solver of the registry that
claims anything meets all of them. Claims are held to corl.tolerance: a bound or an optimum may be off by ROUNDING, 1e-6 of
its size, and no more. `memory` is in its own tests (enumeration is slow there), as are bounds of bandits, against dynamic
programming over joint states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from families import family

import corl
from corl import registry
from corl.problems.tsp.instance import TspInstance
from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.tolerance import agrees, reaches

LEFT_OUT = {"policy", "tree-search", "muzero", "online", "heatmap-mcts", "slim", "cp-agent", "nearest-neighbour", "greedy-edge"}
"""They claim nothing but objectives, which the judge has seen."""
OPTIONS = {"learned-branching": {"policy": "milp-auctions"}}
PROVERS = {"exact", "dp", "cp-sat", "branch-and-bound", "scip", "scip-relpscost", "scip-pscost", "scip-fullstrong", "highs",
           "learned-branching"}  # fmt: skip
ENGINES = {"ortools", "fast-tsp", "pyvrp"}
"""They search on until they are told to stop."""
FEW, MANY = 6, 2000
MOST = {"highs": 40, "ortools": 500, "fast-tsp": 500, "pyvrp": 500}
"""Engines that take a process for each, or are stopped by a clock."""

FAMILIES = [name for name in registry.problems() if hasattr(family(name), "solved")]
PAIRS = [(name, solver) for name in FAMILIES for solver in registry.solvers(name) if solver not in LEFT_OUT]
CASES = [
    pytest.param(name, solver, min(count, most), id=f"{name}-{solver}-{count}", marks=marks)
    for name, solver in PAIRS
    for most in [min(getattr(family(name), "MANY_CLAIMS", MANY), MOST.get(solver, MANY))]
    for count, marks in (
        [(MANY, pytest.mark.chance)] if solver in ENGINES else [(FEW, ()), (MANY, pytest.mark.long)]
    )
]  # fmt: skip


@cache
def cases(name: str, count: int) -> list[tuple[Any, float | None]]:
    """Instances with their optima: enumerated once for all solvers of a family."""
    return [family(name).solved(seed) for seed in range(count)]  # type: ignore[union-attr]


def check_claims(result: corl.Result, best: float | None) -> None:
    """`best`: the optimum; None where there is no solution, infinite where solutions get better without end."""
    said = f"{result.status}, {result.objective}, bound {result.bound} of {result.data.name}, whose optimum is {best}"
    if best is None:
        assert result.status in ("infeasible", "no_solution") and result.objective is None, said
        return
    other = "max" if result.sense == "min" else "min"
    assert result.status != "infeasible", said
    assert (result.status == "unbounded") <= math.isinf(best), said
    assert result.bound is None or reaches(result.bound, best, result.sense), said
    assert result.objective is None or reaches(result.objective, best, other), said
    assert result.status != "optimal" or agrees(result.objective, best), said


@pytest.mark.parametrize(("name", "solver", "count"), CASES, indirect=["count"])
def test_claims(name: str, solver: str, count: int):
    """No claim is false, and who proves anything proves most of these."""
    asked, options = registry.solver(name, solver), OPTIONS.get(solver, {})
    limit: dict[str, Any] = {"iterations": 50} if asked.iteration and solver not in PROVERS else {"time_limit": 20}
    if solver in ENGINES:
        limit = {"time_limit": 0.1}
    solved = proven = 0
    for instance, best in cases(name, count):
        if asked(**options).accepts(instance):  # asymmetric, continuous, without limits ...
            continue
        if solver in ENGINES:
            limit["target"] = best
        result = corl.solve(instance, problem=name, solver=solver, **limit, **options)
        check_claims(result, best)
        solved += 1
        proven += result.status in ("optimal", "infeasible", "unbounded")
    assert solved or count < 10
    assert solver not in PROVERS or proven == solved


def _in_space() -> tuple[VrpInstance, float]:
    """One client above the depot and one below it, too far from each other for one vehicle; seen from above they are together."""
    points = np.array([[0.0, 0, 0], [0, 0, 30], [0, 0, -30]])
    vehicles = Vehicles(np.array([9.0]), max_distance=np.array([100.0]))
    return VrpInstance("space", "EUC_3D", np.array([0.0, 1, 1]), vehicles, points=points), 120.0


def _no_vehicles() -> tuple[VrpInstance, float]:
    """Nobody comes, and nobody must be visited; types without a vehicle are of no use to an engine."""
    none, points = Vehicles(np.array([9.0, 5.0]), count=np.array([0, 0])), np.zeros((3, 2))
    prize, required = np.array([0.0, 3, 4]), np.zeros(3, bool)
    return VrpInstance("none", "EUC_2D", np.array([0.0, 1, 1]), none, points=points, prize=prize, required=required), 7.0


def _one_of_two_types() -> tuple[VrpInstance, float]:
    """The first type, of which there is none, would be cheaper."""
    vehicles = Vehicles(np.array([9.0, 9.0]), count=np.array([0, 1]), unit_cost=np.array([1.0, 2.0]))
    return VrpInstance("one", "EUC_2D", np.array([0.0, 1]), vehicles, points=np.array([[0.0, 0], [3, 4]])), 20.0


@pytest.mark.parametrize("make", [_in_space, _no_vehicles, _one_of_two_types])
@pytest.mark.parametrize("solver", ["ruin-recreate", "ortools", "pyvrp"])
def test_odd_fleets_and_spaces(solver: str, make: Callable[[], tuple[VrpInstance, float]]):
    """What enumeration found first, each by itself."""
    if solver == "pyvrp":
        pytest.importorskip("pyvrp")
    instance, best = make()
    limit: dict[str, Any] = {"time_limit": 20} if solver == "ortools" else {"iterations": 50}
    assert corl.solve(instance, solver=solver, target=best, **limit).objective == best


def test_a_false_claim_is_seen():
    """The check itself, on claims that are off by more than rounding."""
    matrix = np.array([[0.0, 2, 3], [2, 0, 4], [3, 4, 0]])
    result = corl.solve(TspInstance("tiny", "EXPLICIT", matrix=matrix), solver="exact", time_limit=20)
    check_claims(result, 9.0)
    for best in (None, 9.1, 8.9, math.inf):
        with pytest.raises(AssertionError):
            check_claims(result, best)
