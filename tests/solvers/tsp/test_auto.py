"""corl.solvers.tsp.auto: the choice."""

import numpy as np
import pytest

import corl
from corl.problems.tsp.instance import TspInstance
from corl.solvers.tsp.auto import choose


@pytest.mark.parametrize(
    ("expected", "n", "symmetric", "time_limit", "iterations"),
    [
        ("exact", 12, True, 1.0, None),
        ("ils", 5, False, None, 1),
        ("eax", 200, True, 10.0, None),
        ("eax", 200, True, None, 100_000),
        ("ils", 200, True, None, 10),
        ("ils", 10_000, True, 1.0, None),
        ("eax", 10_000, True, 5.0, None),
        ("ils", 100_000, True, 1000.0, None),
        ("ils", 50, False, 10.0, None),
    ],
)
def test_choice(expected, n, symmetric, time_limit, iterations):
    """exact for a dozen cities, eax where there is time for it, ils for the rest and for the ATSP."""
    if symmetric:
        instance = TspInstance("x", "EUC_2D", points=np.zeros((n, 2)))
    else:
        instance = TspInstance("x", "EXPLICIT", matrix=np.random.default_rng(0).random((n, n)), symmetric=False)
    assert choose(instance, time_limit, iterations) == expected


@pytest.mark.parametrize(("n", "symmetric"), [(1, True), (8, False)])
def test_the_result_names_what_was_chosen(n, symmetric):
    """corl.solve takes auto by default, and the result tells the solver that ran."""
    matrix = np.random.default_rng(0).random((n, n))
    result = corl.solve(matrix if not symmetric else matrix + matrix.T, problem="tsp", time_limit=5.0)
    assert result.solver == "exact" and result.status == "optimal" and result.limit == "optimal"
