"""Instances in which what is measured elsewhere is nothing: no lengths, scores, weights, values, durations or room."""

from __future__ import annotations

import numpy as np
import pytest

import corl
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.tsp.instance import TspInstance

JOBSHOP = ("dispatch", "tabu", "annealing")


def _solved(problem, instance, solver):
    """The objective of a short run; None where such a solver is not there or counts no iterations."""
    try:
        return corl.solve(instance, problem=problem, solver=solver, iterations=60).objective
    except corl.UsageError:
        return corl.solve(instance, problem=problem, solver=solver, time_limit=5).objective


@pytest.mark.parametrize("solver", ["eax", "ils"])
@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_tours_without_length(solver, n):
    """All cities at one place, and all but one way without length."""
    matrix = np.zeros((n, n))
    assert _solved("tsp", TspInstance("zero", "EXPLICIT", matrix=matrix), solver) == 0
    assert _solved("tsp", TspInstance("point", "EUC_2D", points=np.ones((n, 2))), solver) == 0
    if n > 3:
        matrix[0, -1] = matrix[-1, 0] = 5.0
        assert _solved("tsp", TspInstance("one", "EXPLICIT", matrix=matrix), solver) == 0


@pytest.mark.parametrize("n", [2, 3, 12])
@pytest.mark.parametrize("limit", [0.0, 1.0])
@pytest.mark.parametrize("score", [0.0, 2.0])
def test_paths_without_length_score_or_limit(n, limit, score):
    """All nodes at one place: whatever the limit, all scores are collected."""
    scores = np.full(n, score)
    scores[[0, -1]] = 0.0
    graph = TspInstance("point", "EXACT_2D", points=np.ones((n, 2)))
    instance = OrienteeringInstance(graph, scores, limit, 0, n - 1)
    assert _solved("orienteering", instance, "ruin-recreate") == scores.sum()


@pytest.mark.parametrize("solver", ["dp", "greedy"])
@pytest.mark.parametrize("weights", [[0, 0, 0], [0, 0, 5], [1, 1, 1]])
@pytest.mark.parametrize("values", [[0, 0, 0], [0, 0, 3], [1, 1, 1]])
@pytest.mark.parametrize("capacity", [0, 10])
def test_knapsacks_without_weight_value_or_room(solver, weights, values, capacity):
    """What fits is taken, and nothing else is worth anything."""
    found = _solved("knapsack", {"problem": "knapsack", "capacities": [capacity], "weights": weights, "values": values}, solver)
    free = sum(value for value, weight in zip(values, weights) if weight == 0)
    assert found == (free if capacity == 0 else sum(values))


@pytest.mark.parametrize("solver", JOBSHOP)
@pytest.mark.parametrize("duration", [0, 3])
def test_operations_without_duration(solver, duration):
    """Of four operations one lasts, or none."""
    jobs = [{"operations": [[0, 0], [1, duration]]}, {"operations": [[1, 0], [0, 0]]}]
    assert _solved("jobshop", {"problem": "jobshop", "machines": 2, "jobs": jobs}, solver) == duration
