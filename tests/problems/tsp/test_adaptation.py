"""Arrays and graphs as instances."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from corl.errors import InputError
from corl.problems.tsp.problem import Tsp

TSP = Tsp()


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, np.float32])
def test_coordinates(columns, form):
    """[n, 2] and [n, 3] are coordinates with unrounded Euclidean distances; cities are 0..n-1 in JSON too."""
    points = np.random.default_rng(0).random((6, columns))
    instance = TSP.adapt(form(points))
    assert instance.edge_weight_type == f"EXACT_{columns}D" and np.allclose(instance.points, points)
    tour = [3, 1, 0, 2, 5, 4]
    expected = sum(np.linalg.norm(points[tour[k - 1]] - points[tour[k]]) for k in range(6))
    assert TSP.evaluate(instance, tour) == pytest.approx(expected, rel=1e-6)
    assert TSP.to_json(instance, np.array(tour)) == tour


def test_square_means_matrix():
    """A square array is a matrix even where it could be coordinates; it is an ATSP unless symmetric off the diagonal."""
    assert TSP.adapt([[0, 1], [2, 0]]).symmetric is False
    instance = TSP.adapt(np.array([[np.nan, 1, 2], [1, 7, 3], [2, 3, np.inf]]))
    assert instance.edge_weight_type == "EXPLICIT" and instance.symmetric and instance.matrix.diagonal().tolist() == [0, 0, 0]


def test_the_users_array_stays_as_it_is():
    """Adapting copies: neither side sees the other's writes."""
    matrix, points = np.ones((4, 4)), np.ones((5, 2))
    a, b = TSP.adapt(matrix), TSP.adapt(points)
    assert matrix.diagonal().all()
    points[:], matrix[:] = 7, 7
    assert (b.points == 1).all() and a.matrix.max() == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((5, 4)), r"shape \[5, 4\]; accepted: coordinates \[n, 2\]"),
        (np.zeros(5), r"shape \[5\]"),
        (np.zeros((0, 2)), r"shape \[0, 2\]"),
        ([[0, 1], [1]], "a list that is no array of numbers"),
        ("abc", "a str that is no array of numbers"),
        ({"a": 1}, "a dict that is no array of numbers"),
        (None, "no array of numbers"),
        ([["1", "2"]], "no array of numbers"),
        (np.array([[1j, 0], [0, 0], [0, 0]]), "no array of numbers"),
        ([[0, np.nan], [1, 1], [2, 2]], "coordinates must be finite"),
        ([[0, np.inf], [1, 0]], "distances must be finite"),
        ([[0, 1e30], [1, 1], [2, 2]], "at most 1e\\+12"),
    ],
)
def test_refusals(data, message):
    """Anything else is an InputError that says what is accepted."""
    with pytest.raises(InputError, match=message):
        TSP.adapt(data)


def test_weighted_graph():
    """A complete graph with weights: integer nodes are the ids, and the solution comes back in them."""
    graph = nx.Graph()
    nodes = [7, 3, 12, 5]
    for u in nodes:
        for v in nodes:
            if u < v:
                graph.add_edge(u, v, weight=u * v)
    instance = TSP.adapt(graph)
    assert instance.symmetric and sorted(instance.ids.tolist()) == sorted(nodes)
    ids = TSP.to_json(instance, np.arange(4))
    assert TSP.evaluate(instance, np.arange(4)) == sum(ids[k - 1] * ids[k] for k in range(4))


def test_directed_graph_and_parallel_edges():
    """A DiGraph is an ATSP where its weights are not symmetric; of parallel edges the shortest counts; names are numbered."""
    graph = nx.MultiDiGraph()
    for u, v, weight in [("a", "b", 1), ("a", "b", 5), ("b", "a", 2), ("a", "a", 9)]:
        graph.add_edge(u, v, weight=weight)
    instance = TSP.adapt(graph)
    assert not instance.symmetric and instance.matrix.tolist() == [[0, 1], [2, 0]] and instance.ids.tolist() == [0, 1]


def test_positions():
    """Nodes with pos and no edges are coordinates; with weights, pos is where tours are drawn."""
    graph = nx.Graph()
    graph.add_node(0, pos=(0, 0))
    graph.add_node(1, pos=(3, 4))
    assert TSP.evaluate(TSP.adapt(graph), [0, 1]) == 10
    graph.add_edge(0, 1, weight=7)
    instance = TSP.adapt(graph)
    assert TSP.evaluate(instance, [0, 1]) == 14 and instance.display.tolist() == [[0, 0], [3, 4]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: g.remove_edge(0, 2), r"edges: edge \(0, 2\) is missing; accepted: a complete graph"),
        (lambda g: g.edges[0, 1].pop("weight"), r"weight: edge \(0, 1\) has weight None; accepted: a finite number"),
        (lambda g: g.edges[0, 1].update(weight="x"), "has weight 'x'"),
        (lambda g: g.edges[0, 1].update(weight=float("nan")), "has weight nan"),
        (lambda g: g.clear(), "the graph has no nodes"),
        (lambda g: g.clear_edges(), "is missing; accepted: a complete graph with weights, or nodes with pos"),
        (lambda g: g.nodes[0].update(pos=(1, 2)), "node 1 has pos None"),
        (lambda g: g.nodes[0].update(pos="abc"), "node 0 has pos 'abc'; accepted: two or three numbers"),
    ],
)
def test_graph_refusals(change, message):
    """What a graph lacks is named."""
    graph = nx.complete_graph(3)
    nx.set_edge_attributes(graph, 1, "weight")
    change(graph)
    with pytest.raises(InputError, match=message):
        TSP.adapt(graph)
