"""Dense Dijkstra against networkx."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

from corl.routing.shortest_paths import dijkstra

N = 12


@pytest.mark.parametrize("seed", range(20))
def test_shortest_paths(seed):
    """Nodes come the nearest first, through the allowed nodes alone, with final lengths; an arc may have length 0."""
    random = np.random.default_rng(seed)
    matrix = random.integers(0, 20, (N, N)).astype(float)
    matrix[random.random((N, N)) < 0.6] = np.inf
    allowed = random.random(N) < 0.8
    allowed[0] = True
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(N))
    arcs = zip(*np.nonzero(np.isfinite(matrix)))
    graph.add_weighted_edges_from((int(i), int(j), matrix[i, j]) for i, j in arcs if allowed[i] and allowed[j])
    expected = networkx.single_source_dijkstra_path_length(graph, 0)
    found, length, left, before = {0: 0.0}, matrix[0].copy(), allowed.copy(), np.zeros(N, np.int64)
    left[0] = False
    for node in dijkstra(lambda i: matrix[i], length, left, before):
        found[node] = float(length[node])
    assert found == expected
    assert list(found.values()) == sorted(found.values())
    for node in set(found) - {0}:
        assert found[node] == found[int(before[node])] + matrix[before[node], node]
