"""OR-Tools as a solver of vehicle routing: feasible with every feature, and good on a handful of clients."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.problem import Vrp
from corl.run import Run
from corl.solvers.vrp.ortools import OrTools

FEATURES = ("plain", "exact", "matrix", "windows", "prizes", "depots", "fleet", "length", "duration", "fewest", "all")


@pytest.mark.chance
@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature(make, least, feature):
    """What it reports of five clients is feasible (the run checks), and no better than the optimum by enumeration."""
    instance = make(feature, 5, 1)
    optimum = least(instance)
    run = Run(Vrp(), instance, time_limit=20.0, target=optimum * (1 + 1e-9))
    run.start()
    OrTools().solve(instance, run)
    assert run.objective is not None
    assert optimum * (1 - 1e-9) <= run.objective <= 1.5 * optimum


@pytest.mark.chance
def test_a_depot_that_no_vehicle_uses():
    """It is no client: nobody visits it, near the others as it is."""
    points = np.array([[0, 0], [5, 5], [10, 0], [10, 10], [0, 10.0]])
    instance = VrpInstance(
        "unused", "EUC_2D", np.array([0, 0, 1, 1, 1.0]), Vehicles(np.array([9.0]), start=np.array([0])), points=points, depots=2
    )
    run = Run(Vrp(), instance, time_limit=20.0, target=40.0)
    run.start()
    OrTools().solve(instance, run)
    assert run.objective == 40.0


def test_refusals():
    """Matrices that are too large are refused."""
    n = 3001
    large = VrpInstance("large", "EUC_2D", np.zeros(n), Vehicles(np.array([1.0])), points=np.zeros((n, 2)))
    assert "n x n" in OrTools().accepts(large)
