"""What solvers claim of tiny instances - optimal, infeasible, unbounded, a bound - against enumeration, in eight families.

The makers of instances and the enumerations are those of the families' own tests; here every solver of the registry that
claims anything meets all of them. Claims are held to corl.tolerance: a bound or an optimum may be off by ROUNDING, 1e-6 of
its size, and no more. `memory` is in its own tests (enumeration is slow there), as are bounds of bandits, against dynamic
programming over joint states.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import corl
from corl import registry
from corl.problems.milp.instance import MilpInstance, from_triplets
from corl.problems.milp_branching.environment import BranchingEnvironment
from corl.problems.tsp.instance import TspInstance
from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.routing.edge_weights import COORDINATE_TYPES, edge_lengths
from corl.tolerance import agrees, reaches

TESTS = Path(__file__).resolve().parent.parent
KINDS = (*COORDINATE_TYPES, "EXPLICIT")
LEFT_OUT = {"policy", "tree-search", "muzero", "heatmap-mcts", "slim", "cp-agent", "nearest-neighbour", "greedy-edge"}
"""They claim nothing but objectives, which the judge has seen."""
OPTIONS = {"learned-branching": {"policy": "milp-auctions"}}
PROVERS = {"exact", "dp", "cp-sat", "branch-and-bound", "scip", "scip-relpscost", "scip-pscost", "scip-fullstrong", "highs",
           "learned-branching", "learned-reliability"}  # fmt: skip
ENGINES = {"ortools", "fast-tsp", "pyvrp"}
"""They search on until they are told to stop."""
FEW, MANY = 6, 2000
FEWER = {"flowshop": 200, "knapsack": 200, "jobshop": 200, "memory-static": 200, "milp": 200, "milp-branching": 200}
"""Families where two thousand take too long."""

Cases = Iterator[tuple[Any, float | None]]


def _module(path: str) -> ModuleType:
    """A conftest.py with makers and enumerations."""
    spec = importlib.util.spec_from_file_location("tiny_" + path.replace("/", "_").removesuffix(".py"), TESTS / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -------------------------------------------------------------------- instances with their optima; None: there is no solution
def _tsp(count: int) -> Cases:
    """Every edge-weight type; matrices with negative entries, symmetric and not."""
    graph = _module("problems/conftest.py").tiny_graph
    for seed in range(count):
        random, n = np.random.default_rng(seed), 1 + seed // 3 % 7
        kind = KINDS[seed // 2 % len(KINDS)] if seed % 2 else "EXPLICIT"
        points, matrix = graph(random, n, kind, -5 if seed % 3 == 2 else 0)
        symmetric = matrix is None or bool(seed // 2 % 2)
        if matrix is not None and symmetric:
            matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
        tours = (np.array((0, *rest)) for rest in itertools.permutations(range(1, n)))
        best = min(float(edge_lengths(kind, points, matrix, tour, np.roll(tour, -1)).sum()) for tour in tours)
        yield TspInstance(f"tiny-{seed}", kind, points, matrix, symmetric=symmetric), best


def _vrp(count: int) -> Cases:
    known = _module("solvers/vrp/conftest.py")
    for seed in range(count):
        instance = known.mixed_instance(seed)
        best = known.least_cost(instance)
        yield instance, best if math.isfinite(best) else None


def _orienteering(count: int) -> Cases:
    known = _module("problems/orienteering/conftest.py")
    for seed in range(count):
        instance = known.mixed_instance(seed)
        best = known._most(instance)
        yield instance, best if math.isfinite(best) else None


def _knapsack(count: int) -> Cases:
    known = _module("problems/knapsack/conftest.py")
    for seed in range(count):
        instance = known._random_instance(1 + seed % 9, 1 + seed % 3, seed, ("integer", "decimal", "real")[seed // 3 % 3])
        yield instance, known._most(instance)


def _flowshop(count: int) -> Cases:
    known = _module("problems/flowshop/conftest.py")
    for seed in range(count):
        instance = known._random_instance(known.KINDS[seed % len(known.KINDS)], 1 + seed // 6 % 5, 1 + seed // 30 % 4, seed)
        yield instance, float(known._least(instance))


def _jobshop(count: int) -> Cases:
    known = _module("problems/jobshop/conftest.py")
    for seed in range(count):
        instance = known._random_instance(known.KINDS[seed % len(known.KINDS)], 2, 2, seed)
        yield instance, float(known._least(instance))


def _static(count: int) -> Cases:
    known = _module("problems/memory_static/conftest.py")
    for seed in range(count):
        instance = known._random_instance(1 + seed % 5, seed, ("plain", "aligned", "fixed")[seed % 3])
        yield instance, float(known._lowest(instance))


def _milp(count: int) -> Cases:
    for seed in range(count):
        instance = _program(seed)
        yield instance, _optimum(instance)


def _branching(count: int) -> Cases:
    """The least tree of those that depth first can grow, whatever is branched on."""
    known, play = _module("problems/milp_branching/conftest.py"), _module("problems/conftest.py")
    for seed in range(count):
        instance = known.sample(seed, 4)
        environment = BranchingEnvironment([instance], 30)
        yield instance, -float(environment.reset([0], 0)[0] + play._best_rewards(environment))


def _program(seed: int) -> MilpInstance:
    """Four variables - integers from -1 to 2, some continuous, some of these without a limit - and up to three rows, some of
    them equations and some empty; often infeasible, sometimes unbounded."""
    random, kind = np.random.default_rng(seed), seed % 4
    m = int(random.integers(0, 4))
    dense = random.integers(-4, 5, (m, 4)).astype(float)
    dense[random.random(m) < 0.15] = 0.0
    rows, columns = np.nonzero(dense)
    low = random.integers(-6, 5, m).astype(float)
    high = low + random.integers(0, 6, m)
    low[random.random(m) < 0.2] = -np.inf
    integer = np.array([True, True, kind == 0, kind == 0])
    lower, upper = np.full(4, -1.0), np.full(4, 2.0)
    if kind >= 2:
        lower[3], upper[3] = (-np.inf, np.inf) if kind == 3 else (-np.inf, 2.0)
    return from_triplets(
        f"p{seed}", ("min", "max")[seed // 4 % 2], random.integers(-9, 10, 4), rows, columns, dense[rows, columns], low, high,
        lower=lower, upper=upper, integer=integer, offset=3.5,
    )  # fmt: skip


def _optimum(instance: MilpInstance) -> float | None:
    """Every choice of the integers, and linear programming for the rest; infinite where that is unbounded."""
    from scipy.optimize import linprog

    sign = -1.0 if instance.sense == "max" else 1.0
    dense = instance.matrix.toarray() if instance.m else np.zeros((0, instance.n))
    sides = np.concatenate([instance.row_upper, -instance.row_lower])
    rows, there = np.concatenate([dense, -dense]), np.isfinite(sides)
    values = []
    for whole in itertools.product(range(-1, 3), repeat=int(instance.integer.sum())):
        low, high = instance.lower.copy(), instance.upper.copy()
        low[instance.integer] = high[instance.integer] = whole
        found = linprog(sign * instance.c, rows[there], sides[there], bounds=np.stack([low, high], axis=1))
        if found.status == 4 or found.status == 3:
            feasible = linprog(0 * instance.c, rows[there], sides[there], bounds=np.stack([low, high], axis=1)).status == 0
            values += [-math.inf] if feasible else []
        elif found.status == 0:
            values.append(float(found.fun))
    return None if not values else sign * min(values) + instance.offset


FAMILIES: dict[str, Callable[[int], Cases]] = {
    "tsp": _tsp, "vrp": _vrp, "orienteering": _orienteering, "knapsack": _knapsack, "flowshop": _flowshop, "jobshop": _jobshop,
    "memory-static": _static, "milp": _milp, "milp-branching": _branching,
}  # fmt: skip
PAIRS = [(name, solver) for name in FAMILIES for solver in registry.solvers(name) if solver not in LEFT_OUT]
CASES = [
    pytest.param(name, solver, count, id=f"{name}-{solver}-{count}", marks=marks)
    for name, solver in PAIRS
    for count, marks in (
        [(MANY, pytest.mark.chance)] if solver in ENGINES else [(FEW, ()), (MANY, pytest.mark.long)]
    )
]  # fmt: skip


@cache
def cases(name: str, count: int) -> list[tuple[Any, float | None]]:
    """Instances with their optima: enumerated once for all solvers of a family."""
    return list(FAMILIES[name](count))


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


@pytest.mark.parametrize(("name", "solver", "count"), CASES)
def test_claims(name: str, solver: str, count: int):
    """No claim is false, and who proves anything proves most of these."""
    asked, options = registry.solver(name, solver), OPTIONS.get(solver, {})
    limit: dict[str, Any] = {"iterations": 50} if asked.iteration and solver not in PROVERS else {"time_limit": 20}
    if solver in ENGINES:
        limit = {"time_limit": 0.1}
    most = FEW if solver == "highs" and count == FEW else 40 if solver == "highs" else 500 if solver in ENGINES else count
    solved = proven = 0
    for instance, best in cases(name, min(count, FEWER.get(name, count)))[:most]:
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
