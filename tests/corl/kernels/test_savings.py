"""Merging routes by savings against the same algorithm with lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corl.kernels.savings import join_ends, merge_routes

N = 9
PAIRS = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda pair: pair[0] != pair[1]), max_size=30)
many = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def memory():
    """links, degree and far of single nodes."""
    return np.full((N, 2), -1, np.int16), np.zeros(N, np.int16), np.arange(N, dtype=np.int16)


def paths_of(links):
    """The paths as tuples, each from its lower end."""
    found = set()
    for end in np.flatnonzero(links[:, 1] < 0).tolist():
        path, before, node = [end], end, int(links[end, 0])
        while node >= 0:
            path.append(node)
            before, node = node, int(links[node, 1] if links[node, 0] == before else links[node, 0])
        found.add(min(tuple(path), tuple(path[::-1])))
    return found


@many
@given(pairs=PAIRS, capacity=st.integers(2, 12), seed=st.integers(0, 99))
def test_merging(as_run, pairs, capacity, seed):
    """Routes are joined at ends of different routes, in the order of the pairs, while their loads fit."""
    demand = np.random.default_rng(seed).integers(1, 4, N).astype(np.float32)
    saved = np.arange(len(pairs), 0, -1, np.float32)
    routes, cost = {i: [i] for i in range(N)}, 100.0
    for (i, j), gain in zip(pairs, saved):
        one, two = routes[i], routes[j]
        if one is two or i not in (one[0], one[-1]) or j not in (two[0], two[-1]) or demand[one + two].sum() > capacity:
            continue
        joined = (one if one[-1] == i else one[::-1]) + (two if two[0] == j else two[::-1])
        routes.update(dict.fromkeys(joined, joined))
        cost -= gain
    (links, degree, far), load = memory(), demand.copy()
    array = np.array(pairs, np.int16).reshape(-1, 2)
    found = as_run(merge_routes)(array, saved, len(pairs), float(capacity), links, degree, far, load, 100.0)
    assert found == pytest.approx(cost)
    assert paths_of(links) == {min(tuple(route), tuple(route[::-1])) for route in routes.values()}
    for route in routes.values():
        assert far[route[0]] == route[-1]
        assert load[route[0]] == load[route[-1]] == demand[route].sum()


def test_nodes_of_full_degree_stay(as_run):
    """A degree of 2 keeps a node out; one of 1 lets it be joined once."""
    links, degree, far = memory()
    degree[0], degree[1] = 2, 1
    pairs = np.array([(0, 2), (1, 3), (1, 4)], np.int16)
    as_run(merge_routes)(pairs, np.ones(3, np.float32), 3, 100.0, links, degree, far, np.ones(N, np.float32), 0.0)
    assert links[0].tolist() == [-1, -1] and links[1].tolist() == [3, -1] and links[4].tolist() == [-1, -1]


def test_joining(as_run):
    """The joined ends are neighbours, and the far ends know each other."""
    links, _, far = memory()
    for a, b in ((0, 1), (2, 3), (1, 2)):
        as_run(join_ends)(links, far, a, b)
    assert (0, 1, 2, 3) in paths_of(links) and far[0] == 3 and far[3] == 0
