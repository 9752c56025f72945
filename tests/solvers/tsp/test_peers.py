"""corl.solvers.tsp.ortools and fast_tsp: engines of others behind our interface."""

import threading
from importlib.util import find_spec

import numpy as np
import pytest

import corl
from corl.errors import UsageError
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solvers.tsp.fast_tsp import FastTsp
from corl.solvers.tsp.ortools import OrTools

needs_fast_tsp = pytest.mark.skipif(find_spec("fast_tsp") is None, reason="fast-tsp (extra peers) is not installed")
ENGINES = [OrTools, pytest.param(FastTsp, marks=needs_fast_tsp)]


def uniform(n, kind="EXACT_2D"):
    return TspInstance("uniform", kind, points=np.random.default_rng(n).random((n, 2)) * 1000)


def solve(solver, instance, stop_after=None, **limits):
    solver.prepare(instance)
    run = Run(Tsp(), instance, **limits)
    run.start()
    if stop_after is not None:
        threading.Timer(stop_after, run.stop).start()
    solver.solve(instance, run)
    return run


@pytest.mark.chance
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 100])
def test_reports_a_tour(engine, n):
    """Every size gives a tour that the judge accepts, and from 100 cities on one far better than a random one."""
    enough = Tsp().evaluate(uniform(n), np.arange(n)) * (0.5 if n == 100 else 1.0)
    limit = 1.0 if engine is FastTsp else 60.0  # fast-tsp says nothing before its time is over
    run = solve(engine(), uniform(n), time_limit=limit, target=enough if n > 3 else None)
    assert run.objective is not None and run.objective <= enough
    if n <= 3:
        assert not run.should_stop


@pytest.mark.chance
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("matrix", [np.zeros((6, 6)), np.where(np.eye(6) > 0, 0, -3.0), np.where(np.eye(6) > 0, 0, 1e12)])
def test_odd_distances(engine, matrix):
    """All distances zero, negative or huge: the length reported is the true one."""
    run = solve(engine(), TspInstance("odd", "EXPLICIT", matrix=matrix), time_limit=60.0, target=6 * matrix[0, 1])
    assert run.objective == 6 * matrix[0, 1]


@pytest.mark.chance
def test_ortools_takes_asymmetric_instances():
    """On a directed ring of cheap arcs it finds the ring."""
    n = 20
    matrix = np.full((n, n), 100.0)
    ring = np.random.default_rng(0).permutation(n)
    matrix[ring, np.roll(ring, -1)] = 1.0
    run = solve(OrTools(), TspInstance("ring", "EXPLICIT", matrix=matrix, symmetric=False), time_limit=60.0, target=n)
    assert run.objective == n


@pytest.mark.chance
@pytest.mark.parametrize("engine", ENGINES)
def test_ends_when_stopped(engine):
    """A stop from outside ends an engine that has a minute left."""
    run = solve(engine(), uniform(300), stop_after=0.3, time_limit=60.0)
    assert run.limit in ("interrupted", "finished") and run.elapsed < 30.0


@pytest.mark.chance
def test_ortools_begins_from_a_warm_start():
    """A tour given is the first incumbent, and the engine improves it."""
    instance = uniform(60)
    given = corl.solve(instance, solver="nearest-neighbour")
    better = solve(OrTools(), instance, time_limit=60.0, warm_start=given.solution, target=0.99 * given.objective)
    assert better.trace[0][1] == given.objective and better.limit == "target"


def test_refusals():
    """What the engines cannot take is refused with the reason; unknown options too."""
    big = TspInstance("big", "EUC_2D", points=np.zeros((20_000, 2)))
    matrix = np.arange(25.0).reshape(5, 5)
    assert "matrix" in OrTools().accepts(big) and "matrix" in FastTsp().accepts(big)
    assert "symmetric" in FastTsp().accepts(TspInstance("a", "EXPLICIT", matrix=matrix, symmetric=False))
    with pytest.raises(UsageError, match="GUIDED_LOCAL_SEARCH"):
        OrTools(metaheuristic="LUCK")
    with pytest.raises(UsageError, match="alpha"):
        FastTsp(candidates="beta")


def test_missing_package_names_the_extra(monkeypatch):
    """Without fast-tsp the message says what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r'in a checkout pip install "\.\[peers\]"'):
        FastTsp().prepare(uniform(5))
