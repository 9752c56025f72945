"""Policies of the shop floor: kernels agree with torch, a new network is a rule, online policies decide as in the environment."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import corl
from corl.errors import UsageError
from corl.learning.algorithms import evolution
from corl.learning.validation import greedy
from corl.networks.checkpoints import save
from corl.online.simulation import simulate
from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
from corl.problems.jobshop.generators import shop_floor, taillard
from corl.problems.jobshop.problem import JobShop
from corl.solvers.jobshop.floor.network import FloorNetwork
from corl.solvers.jobshop.floor.rules import RULES, FloorRule, Player

SHOPS = [shop_floor(size=15, machines=3, load=0.9, tightness=2.0, down=0.15, seed=seed) for seed in range(4)]
COVERT = FloorRule(RULES.index("covert"), 4.0, 4.0, 8.0, -10.0)


@pytest.fixture
def network():
    """One whose hidden layer counts."""
    torch.manual_seed(0)
    made = FloorNetwork(8).eval()
    with torch.no_grad():
        made.out += torch.randn(8)
    return made


def by_rule(shop, rule):
    """The schedule of a rule in the environment."""
    environment = FloorEnvironment([shop], 1)
    Player(environment).play(0, rule)
    return environment.solution(0)


def same(one, two):
    """Whether two schedules are equal."""
    return (one.start == two.start).all() and (one.machine == two.machine).all()


def test_kernels_agree_with_torch(network):
    """On states in the middle of days, whatever was evaluated before."""
    environment, rows = JobShop().environment(SHOPS, 4, name="floor"), np.arange(4)
    environment.reset(rows, rows)
    evaluator, several = network.on(environment), 0
    for _ in range(30):
        logits, _ = evaluator.evaluate(environment.view(rows))
        expected, _ = network.infer([{}], np.zeros(4, np.int64), network.observe(environment.view(rows)))
        there = np.isfinite(expected)
        assert (np.isfinite(logits) == there).all()
        several += int((there.sum(axis=1) > 1).sum())
        np.testing.assert_allclose(logits[there], expected[there], rtol=2e-5, atol=2e-5)
        environment.step(rows, rows, environment.actions(rows)[:, 0])
    assert several > 20


def test_playing_is_evaluating(network):
    """Whole days in the kernel come to what greedy decoding comes to."""
    networks = [network, FloorNetwork(8).eval()]
    played, _ = evolution.outcomes(JobShop(), SHOPS, networks)
    assert (played == [-greedy(JobShop(), SHOPS, each) for each in networks]).all()
    assert (played[0] != played[1]).any()


def test_a_new_one_is_a_rule():
    """Cost over time with weights of set-up and regret."""
    for shop in SHOPS:
        mine = corl.solve(shop, solver="policy", policy=FloorNetwork(4).eval(), decoder="greedy", iterations=10**6)
        assert same(mine.solution, by_rule(shop, COVERT))


def test_an_operation_waits_for_its_best_machine():
    """With the regret weight inf no job goes to the free machine on which it takes ten times as long."""
    shop = JobShop().adapt([[[(0, 3), (1, 30)]], [[(0, 3), (1, 30)]]])
    free, best = (by_rule(shop, FloorRule(RULES.index("fifo"), regret_weight=weight)) for weight in (0.0, np.inf))
    assert free.start.tolist() == [0, 0] and best.start.tolist() == [0, 3]


def test_the_least_set_up_first():
    """A large set-up weight takes the family that the machine is set up for."""
    shop = shop_floor(size=30, machines=1, load=2.0, setup=1.0, down=0.0, seed=0)
    orders = [np.argsort(by_rule(shop, FloorRule(RULES.index("fifo"), setup_weight=weight)).start) for weight in (1e6, 0.0)]
    least, most = (int((np.diff(shop.rules.family[order]) != 0).sum()) for order in orders)
    assert least < most


@pytest.mark.parametrize("shop", SHOPS[:2])
def test_online_policies_decide_as_in_the_environment(shop, network, tmp_path):
    """From what is known they find the schedule that the rule and the network find in the environment of the whole day."""
    played = simulate("rule", shop, machine="free", regret_weight=8.0, threshold=-10.0)
    assert same(played.solution, by_rule(shop, COVERT))
    save(path := tmp_path / "network.safetensors", network)
    mine = corl.solve(shop, solver="policy", policy=network, decoder="greedy", iterations=10**6)
    assert same(simulate("learned", shop, network=str(path)).solution, mine.solution)


def test_another_environment_is_refused(network):
    """One line names the one that it plays in."""
    with pytest.raises(UsageError, match="a network jobshop-floor plays in the environment floor"):
        network.on(JobShop().environment([taillard(jobs=3, machines=3)], 1))
