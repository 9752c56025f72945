"""Networks of `milp-branching` as branching rules in SCIP."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import corl
from corl.learning.training import train
from corl.problems.milp_branching.candidates import Feature
from corl.solvers.milp.branching.policy import load_branching

SMALL = {"width": 8, "layers": 1, "heads": 2, "watch": 0, "workers": 0, "device": "cpu"}


def _trained(folder):
    path = folder / "stepped.safetensors"
    few = {"generator": "auctions", "size": 30, "steps": 2, "batch": 2, "states": 2}
    train("milp-branching", "imitation", teacher="rule", output=path, **few, **SMALL)
    return path


def test_the_most_fractional_are_listed(tmp_path):
    """Of 80 candidates 64 are scored; what the network sees of them is their order's alone."""
    policy = load_branching(str(_trained(tmp_path)))
    features = np.random.default_rng(0).random((80, len(Feature)))
    model = SimpleNamespace(getNTotalNodes=lambda: 5, getNNodesLeft=lambda: 2, getDepth=lambda: 1, getNSols=lambda: 0)
    scores = policy.scores(SimpleNamespace(features=features, model=model))
    near = np.minimum(features[:, Feature.FRACTION], 1.0 - features[:, Feature.FRACTION])
    listed = np.isfinite(scores)
    assert listed.sum() == 64 and near[listed].min() >= near[~listed].max()
    backwards = policy.scores(SimpleNamespace(features=features[::-1].copy(), model=model))
    np.testing.assert_allclose(backwards[::-1], scores, rtol=1e-4, atol=1e-5)


def test_it_branches_in_scip(tmp_path):
    """The optimum is found and proven, as by SCIP's own rule; the tree is another."""
    instance = corl.generate("milp", "auctions", items=20, bids=100, seed=3)
    found = corl.solve(instance, solver="learned-branching", policy=str(_trained(tmp_path)))
    assert found.status == "optimal" and found.objective == corl.solve(instance, solver="scip").objective
