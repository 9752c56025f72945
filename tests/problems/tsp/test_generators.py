"""Generators: reproducible, in the ranges they promise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import corl
from corl.errors import UsageError
from corl.problems.tsp import dimacs
from corl.problems.tsp.asymmetric_classes import CLASSES
from corl.problems.tsp.generators import asymmetric, atsp, clustered, portcgen, portgen, uniform
from corl.problems.tsp.instance import COORDINATE_TYPES


@pytest.mark.parametrize("generate", [uniform, clustered, asymmetric])
@pytest.mark.parametrize("size", [1, 2, 3, 150])
def test_seeds(generate, size):
    """The same seed gives the same bits, another seed others; the size is as asked, and all distances are integers."""
    a, b, c = generate(size=size, seed=1), generate(size=size, seed=1), generate(size=size, seed=2)
    data = [instance.points if instance.points is not None else instance.matrix for instance in (a, b, c)]
    assert np.array_equal(data[0], data[1]) and a.n == size and a.integral
    assert size == 1 or not np.array_equal(data[0], data[2])


@pytest.mark.parametrize("kind", COORDINATE_TYPES)
def test_uniform_of_every_type(kind):
    """Coordinates are whole and below 10^6, in the unit square where distances are not rounded, on the globe for GEO."""
    points = uniform(size=500, edge_weight_type=kind).points
    assert points.shape == (500, COORDINATE_TYPES[kind])
    if kind == "GEO":
        assert (np.abs(points) < [90, 180]).all() and (np.abs(points - np.trunc(points)) < 0.6).all()
    elif kind.startswith("EXACT"):
        assert points.min() >= 0 and points.max() < 1
    else:
        assert points.min() >= 0 and 9e5 < points.max() < 1e6 and (points == np.floor(points)).all()


def test_clusters_are_clusters():
    """Cities lie within a few standard deviations (10^6 / sqrt(n)) of fewer centres than cities."""
    from scipy.spatial import cKDTree

    mean = [cKDTree(i.points).query(i.points, 2)[0][:, 1].mean() for i in (clustered(size=2000), uniform(size=2000))]
    assert mean[0] < 0.6 * mean[1]
    assert np.ptp(clustered(size=400, clusters=1).points, axis=0).max() < 10 * 1e6 / 20


def test_asymmetric_obeys_the_triangle_inequality():
    """The matrix is closed under shortest paths, not symmetric, positive off the diagonal."""
    instance = asymmetric(size=40, seed=3)
    m = instance.matrix
    assert (m[:, None, :] <= m[:, :, None] + m[None, :, :]).all()
    assert not instance.symmetric and (m != m.T).any() and (m + np.eye(40) > 0).all() and m.max() <= 1e6


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_classes_of_the_atsp(kind):
    """The same seed is the same matrix, another seed another one; whole numbers, 0 on the diagonal; symmetric where said."""
    first, second, other = (atsp(size=70, kind=kind, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.matrix, second.matrix) and not np.array_equal(first.matrix, other.matrix)
    assert (first.matrix >= 0).all() and not np.diag(first.matrix).any() and first.integral
    assert first.symmetric == (first.matrix == first.matrix.T).all() == (kind in ("rect", "smat", "tsmat"))
    assert atsp(size=1, kind=kind).n == 1


def test_classes_that_close_under_paths():
    """Closed matrices, drills, shops and strings obey the triangle inequality."""
    for kind in ("tmat", "tsmat", "rect", "rtilt", "stilt", "super", "shop"):
        m = atsp(size=40, kind=kind, seed=5).matrix
        assert (m[:, None, :] <= m[:, :, None] + m[None, :, :]).all()
    assert set(np.unique(atsp(size=300, kind="super").matrix)) <= set(range(21))


def test_shop_and_disk_by_simulation():
    """A tour of the shop from a job back to it is the time between its ends; a head that reads files in order waits as long."""
    random = np.random.default_rng(3)
    times = np.random.default_rng(7).integers(0, 1000, (30, 50), endpoint=True)
    matrix, order = atsp(size=30, kind="shop", seed=7).matrix, random.permutation(30)
    free, end = np.zeros(50), []
    for job in order:
        offsets = np.concatenate([[0], times[job].cumsum()[:-1]])
        start = (free - offsets).max()
        free = start + offsets + times[job]
        end.append(free[-1])
    assert np.array_equal(np.diff(end), matrix[order[:-1], order[1:]])
    draw = np.random.default_rng(8)
    starts = draw.integers(0, 10**6, (30, 2))
    ends = starts[:, 0] + draw.integers(0, 10**5, 30, endpoint=True)
    matrix = atsp(size=30, kind="disk", seed=8).matrix
    for i, j in itertools.pairwise(order):
        wait = int(matrix[i, j])
        assert (ends[i] + wait - starts[j, 0]) % 10**6 == 0 and wait >= 10 * abs(starts[i, 1] - starts[j, 1])
        assert wait - 10**6 < 10 * abs(starts[i, 1] - starts[j, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: atsp(kind="coin"), "kind: 'coin' is not accepted; accepted: amat, crane"),
        (lambda: uniform(size=0), "size: 0 is not accepted; accepted: 1 to"),
        (lambda: uniform(size=10**9), "accepted: 1 to 10,000,000"),
        (lambda: asymmetric(size=10**6), "accepted: 1 to 10,000"),
        (lambda: uniform(edge_weight_type="EXPLICIT"), "edge_weight_type: 'EXPLICIT' is not accepted; accepted: EUC_2D"),
        (lambda: clustered(size=10, clusters=11), "clusters: 11 is not accepted; accepted: 1 to size"),
        (lambda: clustered(size=10, clusters=0), "clusters: 0"),
    ],
)
def test_refusals(call, message):
    """Options out of range are named with what is accepted, before anything is allocated."""
    with pytest.raises(UsageError, match=message):
        call()


def plain_numbers(seed):
    """Knuth's subtractive generator as the challenge's README describes it, without the tricks of the kernel."""
    numbers, following, last = [0] * 55, 1, seed
    numbers[0] = seed
    for i in range(1, 55):
        numbers[21 * i % 55] = following
        following, last = (last - following) % 10**9, following
    a, b, count = 0, 24, 0
    while True:
        a, b = (a - 1) % 55, (b - 1) % 55
        numbers[a] = (numbers[a] - numbers[b]) % 10**9
        count += 1
        if count > 165:
            yield numbers[a]


@pytest.mark.parametrize("seed", [0, 1, 1000, 10**9 - 1])
def test_portgen_is_knuth_s_generator(seed):
    """Whole coordinates are the numbers without their last three digits, x before y."""
    numbers, points = plain_numbers(seed), portgen(size=300, seed=seed).points
    assert points.tolist() == [[next(numbers) // 1000, next(numbers) // 1000] for _ in range(300)]


def test_first_numbers_of_the_challenge():
    """What the generator's own documentation prints for seed 1."""
    state = dimacs._initial_state(1)
    assert [dimacs._next(state) for _ in range(3)] == [921674862, 250065336, 377506581]


def test_portcgen_has_a_cluster_for_every_hundred():
    """Cities lie around a tenth of a hundred centres, in whole coordinates; the refusals name what is accepted."""
    points = portcgen(size=1000, seed=1000).points
    assert (points == np.trunc(points)).all() and np.ptp(points, axis=0).min() > 3e5
    for call, said in {
        lambda: portcgen(size=1_000_001): "1 to 1,000,000",
        lambda: portgen(size=0): "1 to 10,000,000",
        lambda: portgen(size=10, seed=10**9): "0 to 999,999,999",
    }.items():
        with pytest.raises(UsageError, match=said):
            call()


@pytest.mark.chance
@pytest.mark.parametrize(
    ("generate", "seed", "best"),
    [(portgen, 10006, 23349803), (portgen, 10009, 23356256), (portcgen, 1000, 11387430), (portcgen, 10001, 11376735)],
)
def test_published_tours_of_the_challenge(generate, seed, best):
    """E1k.6, E1k.9, C1k.0 and C1k.1 have tours of the published lengths, those of LKH on the challenge's instances."""
    assert corl.solve(generate(size=1000, seed=seed), time_limit=20, target=best).objective == best
