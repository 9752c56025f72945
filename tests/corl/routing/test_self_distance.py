"""The distance from a node to itself is 0 in the judges' formulas and in the kernels', whatever the edge-weight type."""

from __future__ import annotations

import numpy as np
import pytest

from corl.jit import kernel
from corl.routing.edge_weights import COORDINATE_TYPES, edge_lengths
from corl.routing.metric import distance, metric


@kernel
def _distance(seen, i, j):
    return distance(seen, i, j)


@pytest.mark.parametrize("kind", [*COORDINATE_TYPES, "TENTHS_2D"])
def test_nobody_travels_to_where_he_is(kind):
    """TSPLIB's GEO, which counts a kilometre even between two nodes in one place, is no exception; between two it counts."""
    points = np.array([[10.30, 20.15, 5.0], [48.5, 2.3, 7.0], [10.30, 20.15, 5.0]])[:, : COORDINATE_TYPES.get(kind, 2)]
    everyone, seen = np.arange(3), metric(kind, points, None)
    assert edge_lengths(kind, points, None, everyone, everyone).tolist() == [0.0] * 3
    assert [_distance(seen, i, i) for i in range(3)] == [0.0] * 3
    together = edge_lengths(kind, points, None, np.array([0]), np.array([2]))[0]
    assert together == _distance(seen, 0, 2) == (1.0 if kind == "GEO" else 0.0)
