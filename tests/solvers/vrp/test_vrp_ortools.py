"""OR-Tools as a solver of vehicle routing: feasible with every feature, and good on a handful of clients."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.problem import Vrp
from corl.run import Run
from corl.solvers.vrp.ortools import OrTools

FEATURES = ("plain", "exact", "matrix", "windows", "prizes", "depots", "fleet", "length", "duration", "fewest", "all")


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


def test_refusals():
    """Matrices that are too large are refused."""
    n = 3001
    large = VrpInstance("large", "EUC_2D", np.zeros(n), Vehicles(np.array([1.0])), points=np.zeros((n, 2)))
    assert "n x n" in OrTools().accepts(large)
