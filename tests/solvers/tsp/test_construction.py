"""Constructions: tours on every input, and what each promises of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import metric_of
from corl.problems.tsp.problem import Tsp
from corl.rng import random_state
from corl.run import Run
from corl.solvers.tsp.construction import kernels
from corl.solvers.tsp.construction.solver import GreedyEdge, NearestNeighbour
from corl.solvers.tsp.neighbours.candidates import neighbours
from corl.solvers.tsp.neighbours.spatial import hilbert_order


def _is_tour(tour, n):
    return tour.dtype == np.int32 and np.array_equal(np.sort(tour), np.arange(n))


def _uniform(n, seed=0, kind="EXACT_2D"):
    return TspInstance("x", kind, points=np.random.default_rng(seed).random((n, 3 if "3D" in kind else 2)) * 100.0)


def _matrix(n, largest, seed=0):
    half = np.random.default_rng(seed).integers(0, largest + 1, (n, n)).astype(float)
    return TspInstance("x", "EXPLICIT", matrix=half + half.T)


_ODD = {
    "equal": lambda n: TspInstance("x", "EUC_2D", points=np.ones((n, 2))),
    "collinear": lambda n: TspInstance("x", "EUC_2D", points=np.stack([np.arange(n) % 7, np.zeros(n)], 1).astype(float)),
    "clusters": lambda n: TspInstance("x", "EUC_2D", points=np.arange(n)[:, None] % 2 * 1e9 + np.zeros((n, 2))),
    "uniform": _uniform,
    "space": lambda n: _uniform(n, kind="MAN_3D"),
    "geo": lambda n: _uniform(n, kind="GEO"),
    "zeros": lambda n: _matrix(n, 0),
    "ties": lambda n: _matrix(n, 2),
}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 150])
@pytest.mark.parametrize("name", _ODD)
def test_every_construction_is_a_tour(name, n):
    """Each construction visits every city once, whatever lies on one point or one line."""
    instance = _ODD[name](n)
    metric = metric_of(instance)
    near, lengths = neighbours(instance, metric, 6)
    assert _is_tour(hilbert_order(metric), n)
    assert _is_tour(kernels.greedy_edge(metric, near, lengths), n)
    assert _is_tour(kernels.greedy_edge(metric, near, lengths, 0.3, random_state(1)), n)
    assert _is_tour(kernels.nearest_neighbour(metric, near, n - 1), n)
    if n > 2:
        edges = kernels.candidate_edges(near, lengths)
        assert _is_tour(kernels.random_greedy(metric, n, *edges, 0.3, random_state(2)), n)


@pytest.mark.parametrize("make", [lambda: _uniform(120, kind="MAX_2D"), lambda: _uniform(120), lambda: _matrix(120, 10**6)])
def test_nearest_neighbour_goes_to_the_nearest(make):
    """No unvisited city is nearer than the one gone to, though only 3 candidates are listed."""
    instance = make()
    metric = metric_of(instance)
    tour = kernels.nearest_neighbour(metric, neighbours(instance, metric, 3)[0], 5)
    assert tour[0] == 5
    for i in range(119):
        pairs = [kernels.length_of(metric, np.array([tour[i], other], np.int32)) for other in tour[i + 1 :]]
        assert pairs[0] == min(pairs)


def test_greedy_edge_takes_the_shortest_edges():
    """With all edges as candidates the tour is as long as that of a plain greedy with union-find."""
    n = 40
    instance = _uniform(n)
    metric = metric_of(instance)
    near, lengths = neighbours(instance, metric, n - 1)
    matrix = np.hypot(*(instance.points[:, None] - instance.points[None]).transpose(2, 0, 1))
    degree, group, total = np.zeros(n, int), np.arange(n), 0.0
    for a, b in sorted(((i, j) for i in range(n) for j in range(i)), key=lambda e: matrix[e]):
        if degree[a] < 2 and degree[b] < 2 and (group[a] != group[b] or degree.sum() == 2 * n - 2):
            degree[[a, b]] += 1
            group[group == group[a]] = group[b]
            total += matrix[a, b]
    assert kernels.length_of(metric, kernels.greedy_edge(metric, near, lengths)) == pytest.approx(total)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-(2.0**40), 2.0**40, width=32), min_size=1, max_size=80))
def test_sorted_order_is_a_stable_sort(values):
    """The radix sort orders float32 values, negative ones too, as numpy's stable sort does."""
    weight = np.array(values) + 0.0  # no -0.0: it is a bit pattern of its own
    np.testing.assert_array_equal(kernels.sorted_order(weight), np.argsort(weight.astype(np.float32), kind="stable"))


def test_the_space_filling_order_goes_from_cell_to_neighbouring_cell():
    """On a 16 x 16 grid the Hilbert order takes unit steps only."""
    grid = np.stack(np.meshgrid(np.arange(16.0), np.arange(16.0)), -1).reshape(-1, 2)
    order = hilbert_order(metric_of(TspInstance("x", "EXACT_2D", points=grid)))
    assert (np.abs(np.diff(grid[order], axis=0)).sum(1) == 1.0).all()


@pytest.mark.parametrize("solver", [NearestNeighbour(), GreedyEdge()])
def test_the_solvers_report_what_they_construct(solver):
    """Both report one verified tour, between the optimum's bound and twice it."""
    instance = _uniform(400)
    run = Run(Tsp(), instance, time_limit=10.0)
    solver.prepare(instance)
    run.start()
    solver.solve(instance, run)
    assert 0.7 < run.objective / (0.7124 * np.sqrt(400 * 100.0**2)) < 1.6
