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


@pytest.mark.chance
def test_soft_windows():
    """At the soft window of the first client costs 16; at once, or in the other order, costs more or as much."""
    clients = [
        {"id": 1, "soft_window": [10, 12], "early_cost": 2, "late_cost": 1, "service": 2},
        {"id": 2, "soft_window": [None, 5], "late_cost": 3},
    ]
    matrix = [[0, 4, 6], [4, 0, 3], [6, 3, 0]]
    given = {"problem": "vrp", "matrix": matrix, "depots": [{"id": 0}], "clients": clients, "vehicles": [{"count": 1}]}
    instance = Vrp().adapt(given)
    run = Run(Vrp(), instance, time_limit=20.0, target=16.0)
    run.start()
    OrTools().solve(instance, run)
    assert run.objective == 16.0
    hourly = Vrp().adapt(given | {"periods": [{"from": 0}]})
    assert "travel times that depend on the hour" in OrTools().accepts(hourly)


def test_refusals():
    """Matrices that are too large are refused."""
    n = 3001
    large = VrpInstance("large", "EUC_2D", np.zeros(n), Vehicles(np.array([1.0])), points=np.zeros((n, 2)))
    assert "n x n" in OrTools().accepts(large)
