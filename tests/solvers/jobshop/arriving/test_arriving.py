"""The learned dispatcher: its kernels agree with torch, it begins as a rule, and it plays as it evaluates."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import corl
from corl.errors import UsageError
from corl.learning.algorithms import evolution
from corl.learning.training import train
from corl.learning.validation import greedy
from corl.problems.jobshop.generators import arrivals, taillard
from corl.problems.jobshop.problem import JobShop
from corl.solvers.jobshop.arriving.network import QueueNetwork

SHOPS = [arrivals(size=20, machines=3, tightness=2.0, seed=seed) for seed in range(6)]


@pytest.fixture
def network():
    """One whose hidden layer counts."""
    torch.manual_seed(0)
    made = QueueNetwork(8).eval()
    with torch.no_grad():
        made.out += torch.randn(8)
    return made


def test_kernels_agree_with_torch(network):
    """On states in the middle of episodes, whatever was evaluated before."""
    environment, rows = JobShop().environment(SHOPS, 6, name="arriving"), np.arange(6)
    environment.reset(rows, rows)
    evaluator, several = network.on(environment), 0
    for _ in range(30):
        logits, _ = evaluator.evaluate(environment.view(rows))
        expected, _ = network.infer([{}], np.zeros(6, np.int64), network.observe(environment.view(rows)))
        assert (np.isfinite(logits) == np.isfinite(expected)).all()
        there = np.isfinite(expected)
        several += int((there.sum(axis=1) > 1).sum())
        np.testing.assert_allclose(logits[there], expected[there], rtol=2e-5, atol=2e-5)
        environment.step(rows, rows, environment.actions(rows)[:, 0])
    assert several > 20


def test_playing_is_evaluating(network):
    """Whole episodes in the kernel come to what greedy decoding comes to, for several networks and instances."""
    networks = [network, QueueNetwork(8).eval()]
    played, _ = evolution.outcomes(JobShop(), SHOPS, networks)
    assert (played == [-greedy(JobShop(), SHOPS, each) for each in networks]).all()
    assert (played[0] != played[1]).any()


@pytest.mark.parametrize("width", [0, 8])
def test_a_new_one_is_the_apparent_tardiness_cost(width):
    """With or without hidden units."""
    policy = QueueNetwork(width).eval()
    for shop in SHOPS:
        mine = corl.solve(shop, solver="policy", policy=policy, decoder="greedy", iterations=10**6)
        assert mine.objective == corl.solve(shop, solver="dispatch", rule="atc", iterations=1).objective


def test_another_environment_is_refused(network):
    """One line names the one that it plays in."""
    with pytest.raises(UsageError, match="a network jobshop-queue plays in the environment arriving"):
        network.on(JobShop().environment([taillard(jobs=3, machines=3)], 1))


@pytest.mark.chance
def test_evolution_makes_it_better():
    """Twenty steps on shops of 60 jobs lower the tardiness of watched ones, the same bits each time."""
    options = {"network": QueueNetwork, "generator": "arrivals", "environment": "arriving", "features": "queue", "size": 60}
    found = []
    for _ in range(2):
        begun = []
        training = train(
            "jobshop", "evolution", steps=20, workers=0, device="cpu", width=4, batch=8, pairs=8, watch=16, every=5, rate=0.02,
            **options, on_progress=lambda training, begun=begun: begun.append(training.metrics["greedy"]),
        )  # fmt: skip
        found.append(evolution.parameters_of(training.network))
        assert min(begun) < 0.97 * begun[0]
    assert (found[0] == found[1]).all()


@pytest.mark.chance
def test_the_shipped_one_is_better_than_its_rule():
    """On shops that nobody tuned on, a fifth of the study's size; how much better the study tells."""
    shops = [arrivals(size=100, load=0.9, tightness=2.0, seed=3_000_000 + seed) for seed in range(10)]
    learned = {"solver": "policy", "policy": "jobshop-arrivals", "decoder": "greedy", "iterations": 10**6}
    by_rule = {"solver": "dispatch", "rule": "atc", "iterations": 1}
    mine, rule = (sum(corl.solve(shop, **options).objective for shop in shops) for options in (learned, by_rule))
    assert mine < rule
