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


@pytest.mark.parametrize("name", ["ruin-recreate", "pyvrp"])
@pytest.mark.parametrize("late", [False, True])
def test_clients_that_no_route_serves_alone(name, late):
    """Two that only go together, in one order, are served; and where their windows forbid that, the instance is infeasible."""
    if name == "pyvrp":
        pytest.importorskip("pyvrp")
    matrix = [[0, 8, 4], [5, 0, 5], [9, 3, 0]]  # at most 12 in all: 4 to the second client, 3 to the first, 5 home
    clients = [{"id": 1, "window": [0, 14 if late else 15]}, {"id": 2, "service": 8}]
    given = {"problem": "vrp", "matrix": matrix, "depots": [{"id": 0}], "clients": clients, "vehicles": [{"max_distance": 12}]}
    result = corl.solve(corl.problem("vrp").adapt(given), solver=name, iterations=50)
    assert (result.status, result.objective) == (("infeasible", None) if late else ("feasible", 12.0))
