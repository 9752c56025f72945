"""The generic solvers on static allocation, with random weights: allocations that the judge accepts, and lessons to imitate."""

from __future__ import annotations

import numpy as np
import pytest

import corl
from corl.learning.imitation import lessons
from corl.problems.memory.static.features import TOKENS, buffers
from corl.problems.memory.static.generators import tiled
from corl.problems.memory.static.problem import StaticAllocation


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A checkpoint of random weights."""
    import torch

    from corl.networks.attention import AttentionPolicy
    from corl.networks.checkpoints import save

    torch.manual_seed(0)
    network = AttentionPolicy("memory-static", "buffers", TOKENS, extra=1, width=8, layers=1, heads=2, feedforward=8)
    path = tmp_path_factory.mktemp("static") / "random.safetensors"
    save(path, network)
    return str(path)


@pytest.mark.parametrize("solver", ["policy", "tree-search"])
def test_random_weights_solve(weights, random_instance, solver):
    """What comes of them is feasible, verified and reproducible, with a buffer that is fixed and with alignments."""
    for instance in (tiled(size=8, seed=1), random_instance(7, 2, "fixed"), random_instance(7, 3, "aligned")):
        first, again = (corl.solve(instance, solver=solver, iterations=60, policy=weights) for _ in range(2))
        assert first.solution is not None and first.verified and first.objective == again.objective
        assert StaticAllocation().evaluate(instance, first.solution) == first.objective


def test_imitation_has_lessons():
    """States on the way to a solution, each with a listed action: the buffers by their offsets."""
    made = [tiled(size=9, seed=seed) for seed in range(3)]
    solutions = [np.cumsum(instance.size) - instance.size for instance in made]
    found = lessons(StaticAllocation(), made, solutions, buffers, 9, np.random.default_rng(0))
    assert found["x"].shape[1:] == (10, TOKENS) and len(found["slot"]) >= 3 * 7
    assert found["mask"][np.arange(len(found["slot"])), found["slot"]].all()
