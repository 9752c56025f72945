"""corl.solvers.tsp.auto: the choice."""

import numpy as np
import pytest

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solvers.tsp import auto


def choice(n, symmetric=True, **limits):
    if symmetric:
        instance = TspInstance("x", "EUC_2D", points=np.zeros((n, 2)))
    else:
        instance = TspInstance("x", "EXPLICIT", matrix=np.random.default_rng(0).random((n, n)), symmetric=False)
    run = Run(Tsp(), instance, **limits)
    run.start()
    return auto._choose(instance, run)


@pytest.mark.parametrize(
    ("expected", "n", "symmetric", "limits"),
    [
        ("exact", 12, True, {"time_limit": 1.0}),
        ("exact", 5, False, {"iterations": 1}),
        ("eax", 200, True, {"time_limit": 10.0}),
        ("eax", 200, True, {"iterations": 100_000}),
        ("ils", 200, True, {"iterations": 10}),
        ("ils", 10_000, True, {"time_limit": 0.1}),
        ("ils", 100_000, True, {"time_limit": 1000.0}),
        ("ils", 50, False, {"time_limit": 10.0}),
    ],
)
def test_choice(expected, n, symmetric, limits):
    """exact for a dozen cities, eax where there is time for it, ils for the rest and for the ATSP."""
    assert choice(n, symmetric, **limits) == expected


@pytest.mark.parametrize(("n", "symmetric"), [(1, True), (8, False)])
def test_tells_what_it_chose(n, symmetric):
    """The run knows the name, and the tour is there."""
    matrix = np.random.default_rng(0).random((n, n))
    matrix = matrix if not symmetric else matrix + matrix.T
    instance = TspInstance("x", "EXPLICIT", matrix=matrix, symmetric=symmetric)
    solver = auto.Auto()
    solver.prepare(instance)
    run = Run(Tsp(), instance, time_limit=5.0)
    run.start()
    solver.solve(instance, run)
    assert run.chosen == "exact" and run.limit == "optimal"
