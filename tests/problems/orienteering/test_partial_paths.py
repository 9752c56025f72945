"""Paths of an earlier instance as warm starts: unknown nodes are left out, and nodes that make the path too long."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import corl
from corl.errors import Infeasible
from corl.problems.orienteering.evaluation import objective, path_length
from corl.problems.orienteering.partial import shortened_path


@pytest.mark.parametrize("seed", range(4))
def test_a_path_becomes_feasible_in_its_order(seed):
    """With second visits and unknown nodes; a feasible path stays as it is."""
    instance = corl.generate("orienteering", size=20, seed=seed)
    random = np.random.default_rng(seed)
    given = [instance.start, *random.integers(0, instance.n + 5, 14).tolist(), instance.end]
    path, note = shortened_path(replace(instance, limit=instance.limit * 0.7), given, as_json=False)
    assert path_length(instance, path) <= instance.limit * 0.7 * (1 + 1e-9) and objective(instance, path) > 0
    order = [given.index(node) for node in path[1:-1].tolist()]
    assert order == sorted(order) and note.startswith("left out: ")
    again, note = shortened_path(instance, path, as_json=False)
    assert (again == path).all() and not note


def test_nothing_that_can_be_used_is_refused():
    """Only the ends, or something else than nodes."""
    instance = corl.generate("orienteering", size=10, seed=0)
    for value in ([instance.start, instance.end], [["x"]], "x", [99]):
        with pytest.raises(Infeasible):
            shortened_path(instance, value, as_json=False)
