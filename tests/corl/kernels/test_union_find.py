"""Union-find knows the connected components of a graph."""

from __future__ import annotations

import networkx
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corl.kernels.union_find import find, number_sets

N = 10
NODES = st.integers(0, N - 1)
many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(edges=st.lists(st.tuples(NODES, NODES), max_size=15))
def test_components(as_run, edges):
    """Elements of a component have one representative, and components are numbered by their least elements."""
    representative = as_run(find)
    root = np.arange(N, dtype=np.int16)
    for a, b in edges:
        one, other = representative(root, a), representative(root, b)
        root[max(one, other)] = min(one, other)
    graph = networkx.Graph(edges)
    graph.add_nodes_from(range(N))
    components = sorted(networkx.connected_components(graph), key=min)
    name = np.full(N, -1, np.int16)
    assert as_run(number_sets)(root, name, N) == len(components)
    for number, component in enumerate(components):
        assert {name[i] for i in component} == {number}
        assert {representative(root, i) for i in component} == {min(component)}
