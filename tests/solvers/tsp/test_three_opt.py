"""Sequential 3-opt: it keeps tours, and says truly what it gained."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import metric_of
from corl.solvers.tsp.construction.kernels import length_of
from corl.solvers.tsp.eax.three_opt import begin, improve, three_opt
from corl.solvers.tsp.neighbours.candidates import neighbours


def _instance(n, kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "EXPLICIT":
        half = rng.integers(0, 9, (n, n)).astype(float)
        return TspInstance("x", kind, matrix=half + half.T)
    return TspInstance("x", kind, points=np.floor(rng.random((n, 2)) * 30.0))


@settings(max_examples=80, deadline=None)
@given(st.integers(5, 60), st.sampled_from(["EXACT_2D", "EUC_2D", "EXPLICIT"]), st.integers(0, 2**31))
def test_the_gain_is_the_difference_of_the_lengths(n, kind, seed):
    """From a random order: a tour, its position array right, shorter by exactly the gain told."""
    instance = _instance(n, kind, seed)
    metric = metric_of(instance)
    near, lengths = neighbours(instance, metric, 8)
    tour = np.random.default_rng(seed).permutation(n).astype(np.int32)
    search = three_opt(n)
    begin(search, tour)
    gain = improve(metric, near, lengths, search, 1e-9, 1 << 30)
    np.testing.assert_array_equal(np.sort(search.tour.order), np.arange(n))
    np.testing.assert_array_equal(search.tour.order[search.tour.position], np.arange(n))
    assert search.queue.ring[1] == 0
    assert length_of(metric, search.tour.order) == pytest.approx(length_of(metric, tour) - gain)


def test_stopping_on_the_way_changes_nothing():
    """In portions of 7 looks the search ends with the very tour of one go."""
    instance = _instance(300, "EXACT_2D", 1)
    metric = metric_of(instance)
    near, lengths = neighbours(instance, metric, 8)
    tours = []
    for looks in (7, 1 << 30):
        search = three_opt(300)
        begin(search, np.arange(300, dtype=np.int32))
        while search.queue.ring[1]:
            improve(metric, near, lengths, search, 1e-9, looks)
        tours.append(search.tour.order)
    np.testing.assert_array_equal(*tours)


def test_no_improving_two_opt_move_is_left():
    """With all cities as candidates, a tour it leaves has no improving 2-opt move (brute force)."""
    n = 40
    instance = _instance(n, "EXACT_2D", 2)
    metric = metric_of(instance)
    near, lengths = neighbours(instance, metric, n - 1)
    search = three_opt(n)
    begin(search, np.arange(n, dtype=np.int32))
    improve(metric, near, lengths, search, 1e-9, 1 << 30)
    length = length_of(metric, search.tour.order)
    for i in range(n):
        for j in range(i + 2, n):
            other = search.tour.order.copy()
            other[i:j] = other[i:j][::-1]
            assert length_of(metric, other) > length - 1e-7
