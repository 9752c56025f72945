"""Candidate neighbours, against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.tsp.instance import COORDINATE_TYPES, TspInstance
from corl.problems.tsp.metric import distance, metric_of
from corl.solvers.tsp.neighbours.candidates import nearest_among, neighbours


def _all_distances(metric, n):
    return np.array([[distance(metric, i, j) for j in range(n)] for i in range(n)])


def _check(instance, k, per_quadrant=0, exact=True):
    metric = metric_of(instance)
    found, lengths = neighbours(instance, metric, k, per_quadrant)
    n = instance.n
    assert found.shape == lengths.shape == (n, min(k, n - 1)) and found.dtype == np.int32
    matrix = _all_distances(metric, n)
    for i in range(n):
        assert i not in found[i] and len(set(found[i])) == found.shape[1]
        assert (matrix[i, found[i]] == lengths[i]).all() and (np.diff(lengths[i]) >= 0).all()
        if exact:
            nearest = np.sort(np.delete(matrix[i], i))[: found.shape[1]]
            np.testing.assert_allclose(lengths[i], nearest, rtol=1e-12)


@pytest.mark.parametrize("kind", sorted(COORDINATE_TYPES))
@pytest.mark.parametrize("n", [1, 2, 3, 9, 60])
def test_they_are_the_nearest_of_every_coordinate_type(kind, n):
    """For each edge-weight type the k nearest by its own distance are found, sorted, without the city itself."""
    points = np.random.default_rng(n).random((n, COORDINATE_TYPES[kind])) * 80.0
    _check(TspInstance("x", kind, points=points), 7)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 60])
@pytest.mark.parametrize("largest", [1, 1000])
def test_they_are_the_nearest_of_a_matrix(n, largest):
    """Rows of an EXPLICIT matrix, with negative entries and many ties, give their k smallest entries."""
    half = np.floor(np.random.default_rng(n).random((n, n)) * largest) - largest // 2
    _check(TspInstance("x", "EXPLICIT", matrix=half + half.T), 7)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 12), st.integers(0, 3), st.integers(0, 2**31))
def test_heaps_of_equal_cities_keep_lists_whole(n, side, k, per_quadrant, seed):
    """With many cities on few points, rows stay full, sorted, free of the city itself and of repetitions."""
    points = np.random.default_rng(seed).integers(0, side, (n, 2)).astype(float)
    _check(TspInstance("x", "EUC_2D", points=points), k, per_quadrant, exact=False)


def test_a_heap_of_equal_cities_is_connected_with_the_rest():
    """40 cities on each of two points: the candidate graph has one component."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    points = np.repeat([[0.0, 0.0], [9.0, 0.0]], 40, axis=0)
    instance = TspInstance("x", "EUC_2D", points=points)
    found, _ = neighbours(instance, metric_of(instance), 6)
    graph = csr_matrix((np.ones(found.size), (np.repeat(np.arange(80), 6), found.ravel())), shape=(80, 80))
    assert connected_components(graph, directed=False)[0] == 1


def test_quadrants_reach_out_of_a_cluster():
    """In a far pair of dense clusters every city lists one of the other cluster with per_quadrant, none without."""
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.random((200, 2)), rng.random((200, 2)) + 50.0])
    instance = TspInstance("x", "EXACT_2D", points=points)
    metric = metric_of(instance)
    other = np.arange(400)[:, None] // 200
    plain, _ = neighbours(instance, metric, 10)
    quadrants, _ = neighbours(instance, metric, 10, 2)
    assert (plain // 200 == other).all()
    corner = np.argmax(points[:200].sum(1))  # nothing of its own cluster is up and to the right of it
    assert (quadrants[corner] >= 200).any()


def test_quadrants_hold_the_nearest_of_each():
    """With per_quadrant = 1 the nearest city of each non-empty quadrant is listed, found by brute force."""
    points = np.random.default_rng(5).random((300, 2))
    instance = TspInstance("x", "EXACT_2D", points=points)
    found, _ = neighbours(instance, metric_of(instance), 5, 1)
    for v in range(300):
        d = np.hypot(*(points - points[v]).T)
        d[v] = np.inf
        quadrant = 2 * (points[:, 0] >= points[v, 0]) + (points[:, 1] >= points[v, 1])
        for q in range(4):
            members = np.flatnonzero((quadrant == q) & np.isfinite(d))
            if len(members):
                assert members[np.argmin(d[members])] in found[v]


def test_among_some_cities_only_those_are_listed():
    """`nearest_among` answers in the numbering of all cities, for points and for a matrix alike."""
    points = np.random.default_rng(1).random((50, 2)) * 100.0
    instance = TspInstance("x", "EXACT_2D", points=points)
    metric = metric_of(instance)
    explicit = metric_of(TspInstance("x", "EXPLICIT", matrix=_all_distances(metric, 50)))
    some = np.array([3, 9, 11, 20, 44, 45], np.int32)
    found, lengths = nearest_among(metric, some, 4)
    again, lengths_again = nearest_among(explicit, some, 4)
    np.testing.assert_array_equal(found, again)
    np.testing.assert_array_equal(lengths, lengths_again)
    assert np.isin(found, some).all() and (found != some[:, None]).all()
