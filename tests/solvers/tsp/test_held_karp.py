"""The Held-Karp bound: valid always, tight as a rule."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.tsp.evaluation import objective
from corl.problems.tsp.instance import COORDINATE_TYPES, TspInstance
from corl.problems.tsp.metric import distance, metric_of
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solvers.tsp.construction.kernels import candidate_edges
from corl.solvers.tsp.held_karp.bound import _in_space_order, complete_tree, held_karp_bound
from corl.solvers.tsp.neighbours.candidates import neighbours

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "tsp"


def _bound(instance, iterations=40, k=5):
    metric = metric_of(instance)
    near, lengths = neighbours(instance, metric, k)
    return held_karp_bound(instance, metric, near, lengths, Run(Tsp(), instance, iterations=1), iterations=iterations)


def _optimum(instance):
    return min(objective(instance, [0, *rest]) for rest in itertools.permutations(range(1, instance.n)))


@st.composite
def small_instances(draw):
    """Up to 7 cities of any type: few different coordinates, so that many coincide; matrices with negative entries."""
    n = draw(st.integers(1, 7))
    kind = draw(st.sampled_from([*COORDINATE_TYPES, "EXPLICIT"]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    if kind == "EXPLICIT":
        half = np.triu(rng.integers(-9, 30, (n, n)).astype(float) / draw(st.sampled_from([1.0, 3.0])), 1)
        return TspInstance("m", kind, matrix=half + half.T)
    scale = draw(st.sampled_from([1.0, 7.3, 80.0]))
    return TspInstance("p", kind, points=rng.integers(0, 4, (n, COORDINATE_TYPES[kind])) * scale)


@given(small_instances())
@settings(max_examples=150, deadline=None)
def test_never_above_the_optimum(instance):
    """Against brute force: all metrics, duplicate cities, negative distances."""
    best = _optimum(instance)
    assert _bound(instance) <= best + 1e-9 * max(1.0, abs(best))


@pytest.mark.parametrize("kind", COORDINATE_TYPES)
@pytest.mark.parametrize("clustered", [False, True])
def test_the_complete_tree_is_minimal(kind, clustered):
    """Boruvka with boxes finds a tree as light as Prim's on the full matrix, whatever the penalties."""
    rng = np.random.default_rng(3)
    points = rng.random((300, COORDINATE_TYPES[kind])) * 50.0
    if clustered:
        points = np.round(points / 10.0) * 10.0 + rng.random(points.shape) * 0.5
        points[:60] = points[0]
    instance = TspInstance("p", kind, points=points)
    metric = metric_of(instance)
    metric, near, lengths = _in_space_order(metric, *neighbours(instance, metric, 5))
    n = instance.n
    pi = rng.normal(size=n) * lengths.mean() * 0.5
    weights = np.array([[distance(metric, i, j) + (pi[i] + pi[j]) for j in range(n)] for i in range(n)])
    tree = complete_tree(metric, pi, *candidate_edges(near, lengths), Run(Tsp(), instance, iterations=1))
    inside, closest, total = np.zeros(n, bool), weights[0].copy(), 0.0
    inside[0] = True
    for _ in range(n - 1):
        j = int(np.argmin(np.where(inside, np.inf, closest)))
        total += closest[j]
        inside[j], closest = True, np.minimum(closest, weights[j])
    assert weights[tree[:, 0], tree[:, 1]].sum() == pytest.approx(total, rel=1e-12, abs=1e-9)
    root = np.arange(n)
    for a, b in tree:  # n - 1 edges that join: a spanning tree
        assert root[a] != root[b]
        root[root == root[b]] = root[a]


def test_shifted_distances_shift_the_bound():
    """A constant added to every distance adds n times itself to the bound: steps do not depend on it."""
    rng = np.random.default_rng(0)
    half = np.triu(rng.random((40, 40)), 1)
    matrix = half + half.T
    low = _bound(TspInstance("a", "EXPLICIT", matrix=matrix), 200)
    high = _bound(TspInstance("b", "EXPLICIT", matrix=matrix - 5.0), 200)
    assert high == pytest.approx(low - 200.0, abs=0.02)


def test_repeatable():
    """The same iterations give the same bits."""
    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(1).random((200, 2)))
    assert _bound(instance) == _bound(instance)


def test_ended_run_has_no_bound():
    """A run that is over gets none, at once."""
    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(1).random((3000, 2)))
    run = Run(Tsp(), instance, time_limit=1e-9)
    metric = metric_of(instance)
    assert held_karp_bound(instance, metric, *neighbours(instance, metric, 5), run) is None


@pytest.mark.parametrize(
    ("name", "optimum", "gap"),
    [("berlin52", 7542, 0.001), ("att48", 10628, 0.005), ("gr48", 5046, 0.02), ("d198", 15780, 0.03), ("brg180", 1950, 0.02),
     ("ulysses22", 7013, 0.001), ("pr299", 48191, 0.02)],
)  # fmt: skip
def test_tsplib(name, optimum, gap):
    """Below the known optimum and not far below."""
    file = DATA / "tsplib" / f"{name}.tsp"
    if not file.exists():
        pytest.skip("TSPLIB files are not beside the checkout")
    instance = Tsp().read(file)
    bound = _bound(instance, None, 10)
    assert (1.0 - gap) * optimum <= bound <= optimum
    assert bound == np.floor(bound)
