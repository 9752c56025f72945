"""corl.solvers.tsp.exact.solver: proofs that hold."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solvers.tsp.exact.cuts import Relaxation, sides_below
from corl.solvers.tsp.exact.solver import Exact

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "tsp" / "tsplib"


def run_exact(instance, seconds=60.0, **options):
    solver = Exact(**options)
    solver.prepare(instance)
    run = Run(Tsp(), instance, time_limit=seconds)
    run.start()
    solver.solve(instance, run)
    return run


def brute_force(matrix):
    n = len(matrix)
    return min(sum(matrix[t[k - 1], t[k]] for k in range(n)) for t in ((0, *p) for p in permutations(range(1, n))))


@st.composite
def matrices(draw):
    n = draw(st.integers(1, 7))
    values = st.integers(-20, 20) if draw(st.booleans()) else st.floats(-1e3, 1e3)
    flat = draw(st.lists(values, min_size=n * n, max_size=n * n))
    matrix = np.array(flat, float).reshape(n, n)
    if draw(st.booleans()):
        matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    return matrix


@given(matrices())
@settings(deadline=None, max_examples=100)
def test_dynamic_programme_equals_brute_force(matrix):
    """Up to 7 cities, with negative, equal and asymmetric distances, the programme finds the optimum and says so."""
    instance = TspInstance("m", "EXPLICIT", matrix=matrix, symmetric=bool(np.array_equal(matrix, matrix.T)))
    run = run_exact(instance)
    assert run.objective == pytest.approx(brute_force(matrix) if len(matrix) > 1 else 0.0, rel=1e-9, abs=1e-9)
    assert run.limit == "optimal"


@pytest.mark.parametrize("points", [np.zeros((9, 2)), np.stack([np.arange(12.0), np.zeros(12)], 1)])
def test_dynamic_programme_on_degenerate_points(points):
    """Equal and collinear cities are no special case: there and back is optimal."""
    run = run_exact(TspInstance("p", "EXACT_2D", points=points))
    assert run.objective == pytest.approx(2 * np.ptp(points[:, 0])) and run.limit == "optimal"


@pytest.mark.parametrize("kind", ["EUC_2D", "EXACT_2D"])
def test_branch_and_cut_agrees_with_dynamic_programming(kind):
    """On 13 cities, one of them a twin of another at the same place, branch and cut proves the optimum of the other 12."""
    points = np.random.default_rng(5).integers(0, 1000, (12, 2)).astype(float)
    twelve = run_exact(TspInstance("12", kind, points=points))
    thirteen = run_exact(TspInstance("13", kind, points=np.concatenate([points, points[:1]])))
    assert thirteen.objective == pytest.approx(twelve.objective)
    assert thirteen.limit == "optimal"


def test_branch_and_cut_proves_two_clusters_and_equal_cities():
    """Far clusters (a cut that the first LP misses) and cities that are all equal end in a proof."""
    r = np.random.default_rng(1)
    clusters = np.concatenate([r.random((20, 2)), r.random((20, 2)) + 50]) * 100
    assert run_exact(TspInstance("clusters", "EUC_2D", points=clusters)).limit == "optimal"
    assert run_exact(TspInstance("equal", "EUC_2D", points=np.ones((15, 2)))).objective == 0.0


def test_stopping_leaves_a_bound_below_the_tour():
    """A limit too short for the proof leaves a tour and, if any, a bound below it."""
    points = np.random.default_rng(2).random((150, 2))
    run = run_exact(TspInstance("150", "EXACT_2D", points=points), seconds=1.0, heuristic_seconds=1e-3)
    assert run.objective is not None
    assert run.bound is None or run.bound <= run.objective


def test_sides_below_finds_a_violated_set():
    """Two triangles that share nothing: the one without city 0 is a set of weight 0."""
    weights = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    assert [0, 0, 0, 1, 1, 1] in sides_below(weights, 2.0).tolist()
    assert len(sides_below(np.ones((6, 6)) - np.eye(6), 2.0)) == 0


def test_relaxation_bounds_the_complete_graph():
    """The LP begins with the nearest neighbours of one tour and yet bounds every tour: below a brute-force optimum."""
    for seed in range(5):
        points = np.random.default_rng(seed).random((8, 2))
        matrix = np.sqrt(((points[:, None] - points) ** 2).sum(2))
        edges = np.array([(min(i, (i + 1) % 8), max(i, (i + 1) % 8)) for i in range(8)])
        relaxation = Relaxation(matrix, edges)
        assert relaxation.solve(lambda: False, lambda bound: None)
        optimum = brute_force(matrix)
        assert 0.9 * optimum < relaxation.bound <= optimum * (1 + 1e-12)


def test_refusals():
    """Too many cities are refused with the number accepted; so are senseless options."""
    matrix = np.random.default_rng(0).random((13, 13))
    assert "up to 12" in Exact().accepts(TspInstance("a", "EXPLICIT", matrix=matrix, symmetric=False))
    assert "up to" in Exact().accepts(TspInstance("b", "EUC_2D", points=np.random.default_rng(0).random((2000, 2))))
    with pytest.raises(UsageError, match="heuristic_seconds"):
        Exact(heuristic_seconds=0.0)


@pytest.mark.long
@pytest.mark.parametrize(("name", "optimum"), [("burma14", 3323), ("berlin52", 7542), ("kroA100", 21282), ("pr124", 59030)])
def test_proves_published_optima(name, optimum):
    """TSPLIB's optima come out, proven."""
    file = DATA / f"{name}.tsp"
    if not file.exists():
        pytest.skip("TSPLIB files are not beside the checkout")
    run = run_exact(Tsp().read(file), seconds=120.0)
    assert run.objective == optimum and run.limit == "optimal"
