"""Symmetric copies of an instance have the same tours, each of the same length; a miniature is a part of its kind."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.tsp.evaluation import edge_lengths
from corl.problems.tsp.instance import EDGE_WEIGHT_TYPES
from corl.problems.tsp.problem import Tsp

TSP = Tsp()


@pytest.mark.parametrize("kind", [*EDGE_WEIGHT_TYPES, "ATSP"])
def test_symmetries_keep_lengths(random_instance, kind):
    """For every metric, all copies value random tours alike; in the plane there are eight different ones, the instance first."""
    instance = random_instance(kind, 9, 1)
    copies = TSP.symmetries(instance)
    assert copies[0] is instance
    assert len(copies) == (1 if kind in ("GEO", "EXPLICIT", "ATSP") else 8)
    if len(copies) > 1:
        assert len({copy.points.tobytes() for copy in copies}) == 8
    random = np.random.default_rng(0)
    for tour in (random.permutation(9) for _ in range(5)):
        lengths = [TSP.evaluate(copy, tour) for copy in copies]
        assert lengths == pytest.approx([lengths[0]] * len(copies), rel=1e-12)


@pytest.mark.parametrize("kind", [*EDGE_WEIGHT_TYPES, "ATSP"])
def test_miniatures(random_instance, kind):
    """A miniature has the first dozen cities, with the distances and ids that they had; a smaller instance is its own."""
    instance = random_instance(kind, 30, 1)
    small = TSP.warm_up_instance(instance)
    assert (small.n, small.edge_weight_type, small.symmetric) == (12, instance.edge_weight_type, instance.symmetric)
    assert np.array_equal(small.ids, instance.ids[:12])
    origin, city = np.divmod(np.arange(144), 12)
    assert np.array_equal(edge_lengths(small, origin, city), edge_lengths(instance, origin, city))
    assert TSP.warm_up_instance(small) is small


def test_width_and_defaults(random_instance):
    """`width` caps the actions; coordinates and matrices have different policies; a tour may begin at any city."""
    instance = random_instance("EUC_2D", 20, 1)
    assert TSP.environment([instance], 1, width=5).width == 5
    assert TSP.environment([instance], 1).width == 19
    assert TSP.default_policy(instance) == "tsp-bq" and TSP.default_policy(random_instance("ATSP", 5)) == "atsp-bq"
    assert TSP.start_count(instance) == 20
