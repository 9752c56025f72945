"""Generators: reproducible, in the ranges they promise."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.tsp.generators import asymmetric, clustered, uniform
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
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
