"""The radial bound: never above the optimum, and tight where clients are few and far."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.solvers.vrp.bounds import radial_bound

FEATURES = ("plain", "exact", "matrix", "windows", "prizes", "depots", "fleet", "length", "duration", "fewest", "all", "ends")


@pytest.mark.parametrize("feature", FEATURES)
def test_below_the_optimum(make, least, feature):
    """With any feature it is at most the optimum of five clients, by enumeration, and more than nothing."""
    for seed in range(3):
        instance = make(feature, 5, seed)
        assert 0.0 < radial_bound(instance) <= least(instance)


def test_tight_for_full_vehicles():
    """Clients that fill a vehicle each are served one by one: the bound is the optimum but for roundings."""
    points = np.array([[0, 0], [300, 400], [0, 1000], [800, 600.0]])
    instance = VrpInstance("far", "EXACT_2D", np.array([0, 5, 5, 5.0]), Vehicles(np.array([5.0])), points=points)
    assert radial_bound(instance) == pytest.approx(2 * 500 + 2 * 1000 + 2 * 1000, rel=1e-3)


def test_a_matrix_without_triangle_inequality():
    """A detour that is shorter than the direct way counts."""
    matrix = np.array([[0, 1, 100], [1, 0, 1], [100, 1, 0.0]])
    instance = VrpInstance("detour", "EXPLICIT", np.array([0, 1, 1.0]), Vehicles(np.array([2.0])), matrix=matrix)
    assert radial_bound(instance) == pytest.approx((2 + 4) / 2, rel=1e-6)
