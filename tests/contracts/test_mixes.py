"""Every solver on random mixes of all the rules of a family: tiny instances, whose optimum enumeration knows.

A failure is an error (a solution that the judge refuses is one in tests), a run that does not end within its iterations, a wrong
status, no solution where there is one, an objective below the optimum, and a bound above it. The makers and the enumerations are
in tests/support/mixes; of families with few rules those of test_tiny.py.
"""

from __future__ import annotations

import importlib
import math
from functools import cache
from typing import Any

import pytest
import test_tiny
from families import family

import corl
from corl import registry
from support.mixes import Mix

FAMILIES = {name: family(name) for name in registry.problems()}
MADE = {name: each.MIXES for name, each in FAMILIES.items() if hasattr(each, "MIXES")}
"""Families with a maker of mixes, and how many of them are in the gate."""
TINY = {name: each.TINY_MIXES for name, each in FAMILIES.items() if hasattr(each, "TINY_MIXES")}
"""Those whose tiny instances serve as mixes."""
NETWORKS = {
    "policy", "tree-search", "muzero", "online", "heatmap-mcts", "slim", "cp-agent", "sequoia", "iterative-dqn",
    "learned-branching",
}  # fmt: skip
"""They load a network, or learn one: in the long suite alone, on fewer instances."""
ENDLESS = {"ortools", "fast-tsp"}
"""Engines that know no iterations and search on until they are told to stop."""
ITERATIONS = {"ruin-recreate": 1500, "pyvrp": 300, "annealing": 1000}
OPTIONS = {"learned-branching": {"policy": "milp-auctions"}}
NEVER = 600.0  # seconds: a limit that no run of an engine without iterations comes near
INCOMPLETE = {"dispatch"}
"""They build a few schedules and may find none."""


@cache
def mixes(name: str, count: int) -> list[Mix]:
    """The first mixes of a family."""
    if name in TINY:
        return [Mix(*each) for each in test_tiny.cases(name, count)]
    return list(map(importlib.import_module(f"support.mixes.{name.replace('-', '_')}").make, range(count)))


def fault(result: corl.Result, best: float | None, complete: bool = True) -> str:
    """What is wrong with a result; "" if nothing is. complete: whether a solution must be found where there is one."""
    if best is None or not math.isnan(best):
        try:
            test_tiny.check_claims(result, best)
        except AssertionError as error:
            return str(error).partition("\n")[0]
    if best is not None and result.status == "no_solution" and complete:
        return f"no solution of {result.data.name}, whose optimum is {best}"
    return "" if result.discarded == 0 else f"{result.discarded} false reports"


def check(name: str, solver: str, count: int, limit: dict[str, Any]) -> None:
    """Solve the first `count` mixes that the solver accepts, and list what went wrong."""
    method, faults, solved = registry.solver(name, solver), [], 0
    options = OPTIONS.get(solver, {})
    for seed, mix in enumerate(mixes(name, count)):
        if method(**options).accepts(mix.instance):
            continue
        print(f"mix {seed} of {name} with {solver}: {', '.join(mix.rules)}", flush=True)  # shown where it does not return
        target = {"target": mix.best} if solver in ENDLESS and mix.best is not None else {}
        try:
            found = corl.solve(mix.instance, problem=name, solver=solver, seed=seed, **limit, **options, **target)
            wrong = fault(found, mix.best, solver not in INCOMPLETE)
        except corl.UsageError as error:
            if "policy" not in str(error):  # no policy is shipped for this kind
                raise
            continue
        except corl.SolverError as error:
            wrong = str(error)
        solved += 1
        faults += [f"mix {seed} ({', '.join(mix.rules)}): {wrong}"] if wrong else []
    assert not faults, f"{len(faults)} of {solved}: " + "; ".join(faults[:5])
    assert solved or solver in NETWORKS


def limit_of(name: str, solver: str) -> dict[str, Any]:
    """Iterations where the solver counts them, else a limit in seconds that it does not reach."""
    if solver in ENDLESS:
        return {"time_limit": 0.1}
    counted = registry.solver(name, solver).iteration
    return {"iterations": ITERATIONS.get(solver, 100)} if counted else {"time_limit": NEVER}


PAIRS = [(name, solver) for name in (*MADE, *TINY) for solver in registry.solvers(name)]
QUICK = [(name, solver) for name, solver in PAIRS if solver not in NETWORKS | ENDLESS]
MANY = [
    pytest.param(name, solver, min(getattr(FAMILIES[name], "MANY_MIXES", 1000), most), id=f"{name}-{solver}")
    for name, solver in PAIRS
    for most in [100 if solver in NETWORKS else 200 if solver in ENDLESS else 40 if solver == "highs" else 4000]
]


@pytest.mark.parametrize(("name", "solver"), QUICK)
def test_mixes(name: str, solver: str):
    """A few of every family, with every solver that needs no network and ends by itself."""
    if solver == "pyvrp":
        pytest.importorskip("pyvrp")
    check(name, solver, 4 if solver == "highs" else (MADE | TINY)[name], limit_of(name, solver))


@pytest.mark.long
@pytest.mark.parametrize(("name", "solver", "count"), MANY, indirect=["count"])
def test_many_mixes(name: str, solver: str, count: int):
    """Many, with every solver."""
    if solver in ENDLESS | {"pyvrp"}:
        pytest.importorskip("fast_tsp" if solver == "fast-tsp" else solver)
    check(name, solver, count, limit_of(name, solver))


def test_a_fault_is_seen():
    """The check itself: of a job of 3 after now = 2, claims that are wrong in every way."""
    instance = importlib.import_module("support.mixes.jobshop").make(1).instance
    result = corl.solve(instance, problem="jobshop", solver="cp-sat", time_limit=NEVER)
    best = result.objective
    assert result.status == "optimal" and fault(result, best) == ""
    for wrong in (best - 1, best + 1, None, math.inf):
        assert fault(result, wrong)
