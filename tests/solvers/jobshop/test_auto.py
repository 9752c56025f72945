"""corl.solvers.jobshop.auto: the choice."""

import pytest

import corl
from corl.problems.jobshop.generators import flexible, taillard, tardiness
from corl.solvers.jobshop.auto import choose


@pytest.mark.parametrize(
    ("expected", "instance", "time_limit", "iterations"),
    [
        ("cp-sat", taillard(jobs=6, machines=6), 10.0, None),
        ("tabu", taillard(jobs=6, machines=6), 0.5, None),
        ("tabu", taillard(), 10.0, None),
        ("tabu", taillard(), None, 100),
        ("cp-sat", flexible(jobs=4, machines=3, operations=5), 10.0, None),
        ("tabu", flexible(jobs=20, machines=10, operations=10), 10.0, None),
        ("cp-sat", tardiness(), 10.0, None),
        ("dispatch", tardiness(), None, 10),
        ("dispatch", tardiness(jobs=300, machines=100), 10.0, None),
        ("dispatch", taillard(jobs=100_000, machines=1), 10.0, None),
    ],
)
def test_choice(expected, instance, time_limit, iterations):
    """cp-sat for small ones and tardiness; tabu for the makespan; dispatch for what is too large for both."""
    assert choose(instance, time_limit, iterations) == expected


def test_the_result_names_what_was_chosen():
    """corl.solve takes auto by default, and the result tells the solver that ran."""
    result = corl.solve(taillard(jobs=4, machines=4), time_limit=5.0)
    assert result.solver == "cp-sat" and result.status == "optimal" and result.verified
