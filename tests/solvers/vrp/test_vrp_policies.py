"""The generic solvers on vehicle routing, with random weights: valid solutions, and lessons to imitate."""

from __future__ import annotations

import pytest

import corl
from corl.problems.vrp.features import PAIRS, TOKENS
from corl.problems.vrp.generators import solomon, uniform
from corl.problems.vrp.problem import Vrp


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A checkpoint of random weights."""
    import torch

    from corl.networks.attention import AttentionPolicy
    from corl.networks.checkpoints import save

    torch.manual_seed(0)
    network = AttentionPolicy("vrp", "routes", TOKENS, PAIRS, width=8, layers=1, heads=2, feedforward=8)
    path = tmp_path_factory.mktemp("vrp") / "random.safetensors"
    save(path, network)
    return str(path)


@pytest.mark.parametrize("solver", ["policy", "tree-search"])
@pytest.mark.parametrize("made", [uniform(size=8, optional=0.3), solomon(size=7, kind="RC")], ids=lambda made: made.name)
def test_random_weights_solve(weights, solver, made):
    """What comes of them is feasible, verified, and reproducible."""
    first, again = (corl.solve(made, solver=solver, iterations=200, policy=weights) for _ in range(2))
    assert first.status == "feasible" and first.verified and first.objective == again.objective
    assert Vrp().evaluate(made, first.solution) == first.objective
