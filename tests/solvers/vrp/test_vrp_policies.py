"""The generic solvers on vehicle routing, with random weights: valid solutions, and lessons to imitate."""

from __future__ import annotations

import numpy as np
import pytest

import corl
from corl.learning.imitation import lessons
from corl.problems.vrp.features import PAIRS, TOKENS, routes
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


def test_imitation_has_lessons():
    """States on the way to a solution, each with a listed action: its share is all where all actions are listed."""
    made = [uniform(size=9, seed=seed) for seed in range(3)]
    solutions = [[np.array([client]) for client in range(1, 10)] for _ in made]
    found = lessons(Vrp(), made, solutions, routes, 9, np.random.default_rng(0))
    assert found["x"].shape[1:] == (21, TOKENS) and len(found["slot"]) >= 3 * 7
    assert found["mask"][np.arange(len(found["slot"])), found["slot"]].all()
