"""corl.solvers.jobshop.auto: the choice."""

import pytest

import corl
from corl.problems.jobshop.generators import flexible, taillard, tardiness
from corl.problems.jobshop.generators_rules import workshop
from corl.problems.jobshop.instance import from_jobs
from corl.solvers.jobshop.auto import choose


def flexible_tardiness(jobs, operations):
    """Jobs that are due at 10, on two machines."""
    rows = [[[(0, 5), (1, 6)]] * operations] * jobs
    return from_jobs(rows, 2, due=[10] * jobs, objective="weighted_tardiness")


def flexible_makespan(jobs):
    """Jobs of four operations on two machines."""
    return from_jobs([[[(0, 5), (1, 6)]] * 4] * jobs, 2)


@pytest.mark.parametrize(
    ("expected", "make", "time_limit", "iterations"),
    [
        ("cp-sat", lambda: taillard(jobs=6, machines=6), 10.0, None),
        ("tabu", lambda: taillard(jobs=6, machines=6), 0.5, None),
        ("tabu", lambda: taillard(), 10.0, None),
        ("tabu", lambda: taillard(), None, 100),
        ("cp-sat", lambda: flexible(jobs=4, machines=3, operations=5), 10.0, None),
        ("cp-sat", lambda: flexible_makespan(10), 10.0, None),
        ("tabu", lambda: flexible_makespan(11), 10.0, None),
        ("tabu", lambda: flexible(jobs=20, machines=10, operations=10), 10.0, None),
        ("tabu", lambda: tardiness(), 10.0, None),
        ("tabu", lambda: tardiness(), None, 10),
        ("cp-sat", lambda: tardiness(jobs=6), 10.0, None),
        ("cp-sat", lambda: flexible_tardiness(20, 4), 10.0, None),
        ("tabu", lambda: flexible_tardiness(30, 4), 10.0, None),
        ("tabu", lambda: flexible_tardiness(20, 4), None, 10),
        ("cp-sat", lambda: workshop(jobs=6, machines=8, ask="setups"), 10.0, None),
        ("tabu", lambda: workshop(jobs=10, machines=10, ask="setups"), 10.0, None),
        ("tabu", lambda: workshop(jobs=20, machines=10, ask="choices,setups,tardiness"), 10.0, None),
        ("tabu", lambda: workshop(jobs=6, machines=8, ask="setups"), None, 100),
        ("annealing", lambda: workshop(jobs=20, machines=10, ask="calendars,setups"), 10.0, None),
        ("dispatch", lambda: flexible_tardiness(3000, 4), 10.0, None),
        ("dispatch", lambda: taillard(jobs=100_000, machines=1), 10.0, None),
    ],
)
def test_choice(expected, make, time_limit, iterations):
    """cp-sat for small ones; tabu for the rest; dispatch for what is too large for both."""
    assert choose(make(), time_limit, iterations) == expected


def test_the_result_names_what_was_chosen():
    """corl.solve takes auto by default, and the result tells the solver that ran."""
    result = corl.solve(taillard(jobs=4, machines=4), time_limit=5.0)
    assert result.solver == "cp-sat" and result.status == "optimal" and result.verified
