"""Incomplete tours as warm starts: the order is kept, missing cities are inserted at the cheapest place."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import corl
from corl.errors import Infeasible
from corl.problems.tsp.evaluation import objective
from corl.problems.tsp.partial import completed_tour


@pytest.mark.parametrize("seed", range(4))
def test_the_order_is_kept_and_every_insertion_is_the_cheapest(seed):
    """Against all positions in plain Python; also with distances that differ by direction."""
    random = np.random.default_rng(seed)
    matrix = random.integers(1, 90, (9, 9)).astype(float)
    instance = corl.registry.problem("tsp").adapt(matrix)
    given = random.permutation(9)[:6]
    found, note = completed_tour(instance, given, as_json=False)
    assert [city for city in found if city in given] == given.tolist() and not note
    tour = given.tolist()
    for city in sorted(set(range(9)) - set(tour)):
        options = [[*tour[: k + 1], city, *tour[k + 1 :]] for k in range(len(tour))]
        tour = min(options, key=lambda each: sum(matrix[a, b] for a, b in zip(each, each[1:] + each[:1])))
    assert objective(instance, found) == pytest.approx(objective(instance, tour))


def test_every_solver_starts_from_it(caplog):
    """One warning for cities that are unknown; half of the cities are needed."""
    day = corl.generate("tsp", size=30, seed=1)
    good = corl.solve(day, time_limit=1).solution
    for solver in ("ils", "2-opt") if "2-opt" in corl.registry.solvers("tsp") else ("ils",):
        with caplog.at_level(logging.WARNING):
            assert corl.solve(day, solver=solver, iterations=1, warm_start=good[5:].tolist()).objective > 0
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        corl.solve(day, solver="ils", iterations=1, warm_start=[*good[5:].tolist(), 77, int(good[9])])
    assert [each.getMessage() for each in caplog.records] == [
        "warm_start: left out: 2 visits to cities that are unknown or visited before"
    ]
    with pytest.raises(corl.UsageError, match="warm_start: city"):
        corl.solve(day, solver="ils", iterations=1, warm_start=good[:14].tolist())
    with pytest.raises(Infeasible, match="list of cities"):
        completed_tour(day, [[1]], as_json=False)
