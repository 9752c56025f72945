"""The network behind the heatmap: its features, its shipped weights, and the recipe that trains it."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import UsageError
from corl.learning.session import Training
from corl.learning.training import train
from corl.networks.checkpoints import load, load_policy
from corl.problems.tsp.generators import clustered, uniform
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import metric_of
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solvers.tsp.eax.solver import Eax
from corl.solvers.tsp.heatmap.features import CANDIDATES, EDGES, NODES, edge_graph, links_of, readable, symmetric, turned
from corl.solvers.tsp.heatmap.heatmap import NETWORK, network_heatmap
from corl.solvers.tsp.heatmap.recipe import HeatmapRecipe, SolvedInstances, tour_edges
from corl.solvers.tsp.heatmap.solver import HeatmapMcts
from corl.solvers.tsp.neighbours.candidates import neighbours

TINY = {"smallest": 12, "largest": 30, "batch": 60, "every": 3, "width": 8, "layers": 2}


def _tour(instance):
    run = Run(Tsp(), instance, iterations=10 * instance.n)
    Eax().solve(instance, run)
    return run.solution


def _by_edge(near, values):
    """(i, j) -> value."""
    return {(i, int(j)): v for i, row in enumerate(near) for j, v in zip(row, values[i])}


def test_features_turn_with_the_instance():
    """Turned, mirrored, moved and scaled, an instance has the features of the first one turned."""
    points, angle = np.random.default_rng(1).random((80, 2)), 0.5 * np.pi
    first = edge_graph(TspInstance("a", "EXACT_2D", points=points))
    turn = np.array([[0.0, -1.0], [1.0, 0.0]]) @ np.diag([1.0, -1.0])
    other = edge_graph(TspInstance("b", "EXACT_2D", points=7.0 * points @ turn.T + 3.0))
    assert first.nodes.shape == (80, NODES) and first.edges.shape == (80 * CANDIDATES, EDGES)
    expected = turned(first.edges, angle, True).reshape(80, CANDIDATES, EDGES)
    for i in range(80):
        a, b = np.argsort(first.near[i]), np.argsort(other.near[i])
        assert (first.near[i][a] == other.near[i][b]).all()
        assert np.allclose(expected[i][a], other.edges.reshape(80, CANDIDATES, EDGES)[i][b], atol=1e-4)
    assert np.allclose(first.nodes, other.nodes, atol=1e-4)


@pytest.mark.parametrize("n", [4, 5, 11, 40])
def test_features_are_finite(n):
    """Equal cities, cities on a line, fewer cities than candidates: no NaN, nothing infinite."""
    line = np.stack((np.arange(n) % 5, np.zeros(n)), 1)
    for points in (np.ones((n, 2)), line, 1e9 + np.random.default_rng(0).random((n, 2))):
        instance = TspInstance("o", "EUC_2D", points=points)
        graph = edge_graph(instance)
        assert readable(instance) and np.isfinite(graph.nodes).all() and np.isfinite(graph.edges).all()


def test_logits_are_averaged_where_both_cities_list_an_edge():
    """The mean of both directions, or the only one."""
    near = np.array([[1, 2], [0, 2], [1, 3], [2, 1]], np.int32)
    out = symmetric(near, np.arange(8.0).reshape(4, 2))
    assert out.tolist() == [[1.0, 1.0], [1.0, 3.5], [3.5, 5.5], [5.5, 7.0]]


def test_tour_edges():
    """An edge counts from either end."""
    tour, near = np.array([2, 0, 1, 3]), np.array([[1, 2], [2, 3], [3, 1], [0, 1]], np.int32)
    assert tour_edges(near, tour).tolist() == [True, True, False, True, True, False, False, True]


def test_heat_moves_with_the_cities():
    """The shipped network on an instance whose cities are numbered anew: every edge has the heat it had."""
    points, number = np.random.default_rng(3).random((70, 2)), np.random.default_rng(4).permutation(70)
    moved = np.empty_like(points)
    moved[number] = points
    first, second = (TspInstance("p", "EXACT_2D", points=p) for p in (points, moved))
    a, b = (network_heatmap(instance, metric_of(instance)) for instance in (first, second))
    there = _by_edge(b.near, b.weights)
    for (i, j), value in _by_edge(a.near, a.weights).items():
        assert there[number[i], number[j]] == pytest.approx(value, abs=1e-4)


@pytest.mark.chance
@pytest.mark.parametrize("generator", [uniform, clustered])
def test_shipped_weights_know_good_edges(generator):
    """Edges of our best tour have far more heat than others, and five of ten candidates hold more of it than the nearest."""
    instance = generator(size=150, seed=12345)
    tour, metric = _tour(instance), metric_of(instance)
    heatmap = network_heatmap(instance, metric)
    wanted = tour_edges(heatmap.near, tour).reshape(heatmap.near.shape)
    assert heatmap.weights[wanted].mean() > 4.0 * heatmap.weights[~wanted].mean()
    nearest = tour_edges(neighbours(instance, metric, 5)[0], tour)
    assert wanted[:, :5].sum() > nearest.sum()
    assert 0.8 < heatmap.weights.sum(1).mean() < 1.2  # two edges a city, over two


def test_the_solver_reads_the_shipped_network():
    """`heatmap=gnn` solves, with its network found by name; its header says how it was trained."""
    instance = uniform(size=60, edge_weight_type="EXACT_2D", seed=5)
    run = Run(Tsp(), instance, iterations=200)
    HeatmapMcts(heatmap="gnn").solve(instance, run)
    assert run.objective < 1.03 * Tsp().evaluate(instance, _tour(instance))
    assert load_policy(NETWORK).architecture == "gated-graph"


def _losses(steps, seed=0):
    losses = []
    training = Training(Tsp(), steps=steps, seed=seed, device="cpu", on_progress=lambda t: losses.append(t.metrics["loss"]))
    HeatmapRecipe(**TINY, rate=1e-2).train(training)
    return losses


@pytest.mark.chance
def test_the_recipe_learns_and_not_with_the_sign_flipped(monkeypatch):
    """80 tiny steps bring the loss under 0.4 (0.69 is to know nothing); climbing instead brings it over 1."""
    from torch.nn import functional

    assert np.mean(_losses(80)[-10:]) < 0.4
    right = functional.binary_cross_entropy_with_logits
    monkeypatch.setattr(functional, "binary_cross_entropy_with_logits", lambda *a: -right(*a))
    assert np.mean(_losses(80)[-10:]) < -1.0


@pytest.mark.long
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path):
    """Interrupted after 5 of 9 steps and resumed: the weights of an unbroken run."""
    options = {"problem": "tsp", "recipe": "heatmap", "steps": 9, "device": "cpu"} | TINY
    train(**options, output=tmp_path / "whole.safetensors")
    broken = tmp_path / "broken.safetensors"
    stopped = train(**options, output=broken, on_progress=lambda t: t.interrupt() if t.step == 4 else None)
    assert stopped.limit == "interrupted" and stopped.step == 5
    train(**options, output=broken, resume=True)
    whole, other = (load(path)[0].state_dict() for path in (tmp_path / "whole.safetensors", broken))
    assert all((whole[name] == other[name]).all() for name in whole)


def test_lessons_come_back_from_a_snapshot():
    """The tours alone are kept; the instances follow from the seed."""
    recipe = HeatmapRecipe(**TINY)
    solved, again = SolvedInstances(recipe, 3), SolvedInstances(recipe, 3)
    for _ in range(3):
        solved.add()
    again.load_state_dict(solved.state_dict())
    assert len(again.tours) == 3
    for (a, wanted_a), (b, wanted_b) in zip(solved.graphs, again.graphs):
        assert (a.edges == b.edges).all() and (wanted_a == wanted_b).all()
    assert links_of(a.near).shape == (2, a.near.size)


@pytest.mark.parametrize(
    "wrong", [{"smallest": 5}, {"clustered": 1.5}, {"every": 0}, {"rate": 0.0}, {"smallest": 50, "largest": 40}]
)
def test_options_of_the_recipe_are_checked(wrong):
    """Out of range: a UsageError that says what is accepted."""
    with pytest.raises(UsageError, match="accepted"):
        HeatmapRecipe(**wrong)
