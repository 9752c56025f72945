"""CP-SAT takes every rule: on tiny instances its proven optimum is that of enumeration."""

from __future__ import annotations

import math

import pytest

import corl
from corl.problems.jobshop.generators_rules import workshop
from corl.problems.jobshop.problem import JobShop
from corl.run import Run
from corl.solvers.jobshop.cp_sat import CpSat
from support.families import jobshop_rules as cases


@pytest.mark.parametrize("name", cases.RULES)
def test_small_instances_are_proven(name):
    """Three seeds each, with and without a hint; where there is no solution, that is proven."""
    for seed in range(3):
        instance = cases.make_rules(name, seed)
        best = cases.least_cost(instance)
        for hint in (False, True):
            solver, run = CpSat(hint=hint), Run(JobShop(), instance, time_limit=60.0)
            solver.prepare(instance)  # compiling takes long on a busy machine
            run.start()
            solver.solve(instance, run)
            if best == math.inf:
                assert run.infeasible, (name, seed)
            else:
                assert run.objective == run.bound == best, (name, seed, hint)


def test_a_warm_start_with_set_ups_is_kept():
    """The user's schedule is the hint, arcs of the circuits and all."""
    instance = workshop(jobs=8, machines=4, ask="setups,calendars,running,tardiness", seed=1)
    first = corl.solve(instance, solver="annealing", iterations=2000, seed=1)
    again = corl.solve(instance, solver="cp-sat", time_limit=30.0, target=first.objective, warm_start=first)
    assert again.objective <= first.objective == again.trace[0][1]
