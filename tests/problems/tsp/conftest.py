"""Shared by the tests of the TSP: random instances of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.tsp.instance import COORDINATE_TYPES, EDGE_WEIGHT_TYPES, TspInstance


def _random_instance(kind: str, n: int, seed: int = 0, scale: float = 100.0) -> TspInstance:
    """An instance of an edge-weight type, or of "ATSP"; every third has coordinates on a grid, so that cities coincide."""
    random = np.random.default_rng(seed)
    if kind in ("EXPLICIT", "ATSP"):
        matrix = random.random((n, n)) * scale
        matrix = matrix if kind == "ATSP" else matrix + matrix.T
        return TspInstance("random", "EXPLICIT", matrix=matrix, symmetric=kind != "ATSP", ids=random.permutation(n) + 5)
    dimensions = COORDINATE_TYPES[kind]
    points = (random.random((n, dimensions)) * 2 - 1) * ([90, 180] if kind == "GEO" else scale)
    points = np.round(points, 2)
    if seed % 3 == 0:
        points = np.round(points / 40) * 40
    return TspInstance("random", kind, points, ids=random.permutation(n) + 5)


def sample(seed: int) -> TspInstance:
    """An instance of up to nine cities, of a kind by the seed."""
    return _random_instance((*EDGE_WEIGHT_TYPES, "ATSP")[seed % (len(EDGE_WEIGHT_TYPES) + 1)], 1 + seed // 100 % 9, seed)


@pytest.fixture(scope="session")
def random_instance():
    """A function (kind, n, seed) -> TspInstance."""
    return _random_instance
