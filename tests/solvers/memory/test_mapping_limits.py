"""Time limits on large programs: no solver takes over 0.2 s of processor time beyond its limit."""

from __future__ import annotations

import pytest

from corl.problems.memory.evaluation import run_plan
from corl.problems.memory.generators import dag
from corl.solvers.memory.bounds import quick_bound
from corl.solvers.memory.constructions import by_priority
from corl.solvers.memory.layout import plan_of, program_of
from corl.solvers.memory.relaxation import relaxation

SOLVERS = ["all-slow", "greedy-keep", "xla-like", "learned-priority", "annealing", "policy"]
LIMITS = [0.1, pytest.param(1.0, marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def large():
    """5,000 operations, 17,000 accesses."""
    return dag(ops=5000)


@pytest.mark.chance
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_large_programs(overtime, large, solver, limit):
    """One plan of the compiler-like greedy takes a second here, one of the network two."""
    assert overtime(large, solver, limit) < 0.2


@pytest.mark.chance
@pytest.mark.parametrize("solver", ["all-slow", "annealing"])
def test_the_linear_program(overtime, solver):
    """Just below the size from which on no linear program is solved: this one would take 2 s."""
    assert overtime(dag(ops=570, reach=100), solver, 0.1) < 0.2


def test_a_construction_cut_short_is_a_plan(large):
    """Wherever it is stopped, what is there is a plan that takes what it says; more time makes it no worse."""
    program, values = program_of(large), []
    for most in (0, 3, 30):
        looks = iter(range(most))
        value, layout = by_priority(program, 0.5, 1.0, True, stop=lambda looks=looks: next(looks, None) is None)
        assert run_plan(large, plan_of(program, layout)).total == pytest.approx(value, rel=1e-12)
        values.append(value)
    assert 1e-6 * quick_bound(large) < values[2] < values[1] < values[0]


def test_no_time_for_the_linear_program():
    """Nothing is proven by a relaxation that was not solved."""
    instance = dag(ops=60)
    assert relaxation(instance, remaining=lambda: 0.0) is None
    left = iter([1.0] * 100 + [0.4] * 1000)
    assert relaxation(instance, remaining=lambda: next(left)) is None  # it took longer to come to the engine than there is left
    assert relaxation(instance) is not None
