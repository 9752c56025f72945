"""Instances that have no solution, for a reason that is cheap to see, are said to be infeasible by every solver."""

from __future__ import annotations

import numpy as np
import pytest

import corl
from corl.problems.vrp.feasibility import unservable
from corl.problems.vrp.instance import Vehicles, VrpInstance


@pytest.mark.parametrize("name", ["ruin-recreate", "pyvrp", "ortools"])
def test_infeasible(name):
    """A fleet that cannot carry everything, and a client that cannot be reached in time: in the words of `corl info`."""
    if name == "pyvrp":
        pytest.importorskip("pyvrp")
    points = np.array([[0, 0], [30, 40], [0, 100.0]])
    demand = np.array([0, 3, 3.0])
    few = VrpInstance("few", "EUC_2D", demand, Vehicles(np.array([5.0]), count=np.array([1])), points=points)
    latest = np.array([1000, 10, 1000.0])
    late = VrpInstance("late", "EUC_2D", demand, Vehicles(np.array([5.0])), points=points, earliest=np.zeros(3), latest=latest)
    for instance in (few, late):
        result = corl.solve(instance, solver=name, time_limit=5.0)
        assert (result.status, result.limit, result.objective) == ("infeasible", "infeasible", None)
        assert result.reason == unservable(instance) != ""
