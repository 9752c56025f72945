"""`ruin-recreate` with every rule: exact on small instances, feasible on larger ones, the same bits from the same seed."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from corl.problems.vrp.problem import Vrp
from corl.run import Run
from corl.solvers.vrp.ruin.construction import cost_of
from corl.solvers.vrp.ruin.search import Search
from corl.solvers.vrp.ruin.solver import RuinRecreate

cases = run_path(str(Path(__file__).parent / "rules_instances.py"))
RULES, MIXES, make_rules, least_cost = (cases[name] for name in ("RULES", "MIXES", "make_rules", "least_cost"))


def _solved(instance, iterations, seed=0):
    run = Run(Vrp(), instance, iterations=iterations, seed=seed)
    run.start()
    if not run.infeasible:
        RuinRecreate().solve(instance, run)
    return run


@pytest.mark.parametrize("name", [*RULES, *MIXES])
def test_small_instances_are_solved_to_the_optimum(name):
    """Five or six clients; an optimum that is infinite means that no solution is reported."""
    for seed in range(3):
        instance = make_rules(name, 5, seed)
        best, run = least_cost(instance), _solved(instance, 3000)
        if best == np.inf:
            assert run.solution is None
        else:
            assert run.objective == pytest.approx(best, rel=1e-9), (name, seed)


@pytest.mark.parametrize("name", [*RULES, *MIXES])
def test_the_plan_s_value_is_the_judge_s(name):
    """Thirty clients: what is reported is feasible, and the kernels' sum of costs is the judge's."""
    instance, run, search = _first_with_a_plan(name)
    search.cool(1.0, 0.05, 1.0)
    search.report()
    search.return_to_best()
    assert cost_of(search.data, search.plan) / instance.scale == pytest.approx(run.objective, rel=1e-9)
    assert _solved(instance, 1000).objective == _solved(instance, 1000).objective


def _first_with_a_plan(name):
    for seed in range(20):
        instance = make_rules(name, 30, seed)
        run = Run(Vrp(), instance, iterations=2000, seed=1)
        search = Search(instance, 20, 10, run)
        if not Vrp().infeasible(instance) and search.serve_all(5.0):
            return instance, run, search
    raise AssertionError("no plan for any of twenty random instances")
