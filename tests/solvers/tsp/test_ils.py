"""Iterated local search: always a tour, never a lie about its length, the same for the same seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.tsp.evaluation import objective
from corl.problems.tsp.instance import COORDINATE_TYPES, TspInstance
from corl.problems.tsp.metric import metric_of
from corl.problems.tsp.problem import Tsp
from corl.rng import random_state
from corl.run import Run
from corl.solvers.tsp.ils.kicks import begin, chained_search, iterate
from corl.solvers.tsp.ils.solver import Ils
from corl.solvers.tsp.neighbours.candidates import neighbours


def _instance(kind, n, seed):
    rng = np.random.default_rng(seed)
    if kind == "EXPLICIT":
        half = np.triu(rng.integers(-5, 40, (n, n)).astype(float), 1)
        return TspInstance("m", kind, matrix=half + half.T)
    points = rng.integers(0, 12, (n, COORDINATE_TYPES[kind])) * 3.7  # some cities coincide
    return TspInstance("p", kind, points=points)


def _solve(instance, iterations, seed=0, **options):
    run = Run(Tsp(), instance, iterations=iterations, seed=seed)
    Ils(**options).solve(instance, run)
    return run


@pytest.mark.parametrize("kind", [*COORDINATE_TYPES, "EXPLICIT"])
@pytest.mark.parametrize("n", [8, 9, 60, 300])
def test_length_is_tracked_after_every_chunk(kind, n):
    """After any chunk the array is a tour, positions are its inverse, and the length kept is the tour's."""
    instance = _instance(kind, n, n)
    metric = metric_of(instance)
    near, lengths = neighbours(instance, metric, 6)
    search = chained_search(n, (4, 2, 1), random_state(5))
    order = np.random.default_rng(0).permutation(n).astype(np.int32)
    begin(search, order, objective(instance, order))
    search.cooling[:] = 0.3, 300.0
    for units in (1, 1, 2, 3, 40, 200):
        iterate(metric, near, lengths, search, 1e-9, n, 8, units)
        tour = search.local.tour
        assert search.length[0] == pytest.approx(objective(instance, tour.order), rel=1e-9, abs=1e-7)
        assert (tour.position[tour.order] == np.arange(n)).all()


@pytest.mark.parametrize("kind", ["EXACT_2D", "EXPLICIT"])
def test_chunks_do_not_matter(kind, monkeypatch):
    """The same iterations end in the same tour, whatever the size of the chunks."""
    instance = _instance(kind, 120, 3)
    results = []
    for most in (1, 7, 10**6):
        budget = Run.budget
        monkeypatch.setattr(Run, "budget", lambda self, cap=10**6, b=budget, m=most: b(self, min(cap, m)))
        results.append(_solve(instance, 300, seed=4).solution)
        monkeypatch.undo()
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()


@given(st.sampled_from([*COORDINATE_TYPES, "EXPLICIT"]), st.integers(1, 8), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_tiny_instances_are_solved(kind, n, seed):
    """Up to 8 cities the result is optimal, duplicates and negative distances included."""
    instance = _instance(kind, n, seed)
    run = _solve(instance, 200, bound=False)
    best = min(objective(instance, [0, *rest]) for rest in itertools.permutations(range(1, n)))
    assert run.objective == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [8, 10, 30, 200])
def test_equal_and_collinear_cities(n):
    """All cities in one place, or on one line."""
    assert _solve(TspInstance("e", "EUC_2D", points=np.ones((n, 2))), 50).objective == 0
    line = np.stack((np.random.default_rng(0).permutation(n), np.zeros(n)), 1)
    assert _solve(TspInstance("l", "EUC_2D", points=line), 2000).objective == 2 * (n - 1)


def test_close_to_the_bound():
    """300 uniform cities: within 2 % of the bound after a few thousand kicks, and better than greedy."""
    run = _solve(TspInstance("u", "EXACT_2D", points=np.random.default_rng(7).random((300, 2))), 3000)
    assert run.bound <= run.objective <= 1.02 * run.bound


def test_starts_from_the_users_tour():
    """A warm start is kept: what is reported is never worse."""
    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(7).random((200, 2)))
    good = _solve(instance, 500).solution
    run = Run(Tsp(), instance, iterations=3, warm_start=good)
    run.start()
    Ils().solve(instance, run)
    assert run.objective <= objective(instance, good)


@pytest.mark.parametrize("options", [{"candidates": 4}, {"breadth": (5,)}, {"stretch": 0}, {"heat": -1.0}, {"per_quadrant": -1}])
def test_options_are_checked(options):
    """Out of range: a UsageError that says what is accepted."""
    with pytest.raises(UsageError, match="accepted"):
        Ils(**options)
