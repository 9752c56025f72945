"""The generic solvers on static allocation, with random weights: allocations that the judge accepts, and lessons to imitate."""

from __future__ import annotations

import pytest

import corl
from corl.problems.memory_static.features import TOKENS
from corl.problems.memory_static.generators import tiled
from corl.problems.memory_static.problem import StaticAllocation


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


@pytest.mark.parametrize("solver", ["policy", pytest.param("tree-search", marks=pytest.mark.long)])
def test_random_weights_solve(weights, random_instance, solver):
    """What comes of them is feasible, verified and reproducible, with a buffer that is fixed and with alignments."""
    for instance in (tiled(size=8, seed=1), random_instance(7, 2, "fixed"), random_instance(7, 3, "aligned")):
        first, again = (corl.solve(instance, solver=solver, iterations=60, policy=weights) for _ in range(2))
        assert first.solution is not None and first.verified and first.objective == again.objective
        assert StaticAllocation().evaluate(instance, first.solution) == first.objective
