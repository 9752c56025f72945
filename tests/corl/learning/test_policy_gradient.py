"""Policy gradient: its gradient, mirror descent, and the baselines."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from corl import registry
from corl.decoding.play import DecisionStep
from corl.learning.algorithms.policy_gradient import GreedyRollout, Moves, Starts, advantages, choice, roll_out, shared_baseline
from corl.learning.algorithms.policy_gradient import loss as loss_of
from corl.learning.replay import Replay
from corl.networks.attention import AttentionPolicy
from corl.networks.tokens import token_sizes


@pytest.fixture
def sacks(knapsack):
    return [knapsack.uniform(size=8, seed=seed) for seed in range(4)]


@pytest.fixture
def problem(knapsack):
    return registry.problem(knapsack.NAME)


@pytest.fixture
def network(problem, sacks):
    torch.manual_seed(1)
    network = AttentionPolicy(**token_sizes(problem, "", "", sacks[0]), width=8, layers=1, heads=2, feedforward=8)
    with torch.no_grad():
        for parameter in network.parameters():  # ReZero starts as the identity, which would hide mistakes
            parameter += 0.3 * torch.randn_like(parameter)
    return network.eval()


def starts(sacks, samples=1):
    which = np.repeat(np.arange(len(sacks)), samples)
    return Starts(sacks, which, np.zeros(len(which), np.uint64))


def loss(network, episodes, advantage, **options):
    """The loss of all moves of some episodes."""
    replay = Replay(len(advantage))
    replay.add(episodes)
    at = np.arange(len(advantage))
    return loss_of(
        network, Moves(replay.collate_inputs(at), *(episodes.moves[name] for name in ("slot", "policy")), advantage), **options
    )


def gradient(network, value):
    network.zero_grad()
    value.backward()
    parts = [p.grad if p.grad is not None else torch.zeros_like(p) for p in network.parameters()]
    return torch.cat([part.flatten() for part in parts])


def test_objectives_are_those_of_solutions(knapsack, problem, sacks, network):
    """What rollouts report is between nothing and the optimum; the likeliest actions give the same every time."""
    once, again = (roll_out(problem, starts(sacks), network, None) for _ in range(2))
    np.testing.assert_array_equal(once.objective, again.objective)
    assert all(0 < value <= knapsack.best(sack) + 1e-9 for value, sack in zip(once.objective, sacks))


def test_samples_follow_the_policy(problem, sacks, network):
    """Among 4,000 samples of a state each action comes as often as its probability says, within five deviations."""
    many = 4000
    environment, rows = problem.environment(sacks[:1], many), np.arange(many)
    environment.reset(rows, 0)
    turn = DecisionStep(rows, 0, environment.view(rows))
    found = choice(network, environment, np.random.default_rng(0))(turn, network.observe(turn.view))
    probability = found.policy[0].astype(float)
    assert probability.sum() == pytest.approx(1.0, abs=1e-6)
    counts = np.bincount(found.slot, minlength=len(probability))
    assert (np.abs(counts - many * probability) <= 5 * np.sqrt(many * probability * (1 - probability)) + 1e-9).all()


def test_the_gradient_is_that_of_the_expected_objective(problem, knapsack, network):
    """Summed over all episodes by their probability, the loss's gradient is minus that of the expected objective."""
    sack = knapsack.Sack("four", np.array([0.9, 0.7, 0.5, 0.1]), np.array([0.6, 0.3, 0.3, 0.2]), 0.8)
    environment = problem.environment([sack], 64)

    def expected(row, total, chance, free):
        """The expected objective from a row on, as a differentiable function; visits every episode."""
        actions = environment.actions([row])[0]
        if actions[0] < 0:
            return chance * total
        row_alone = np.zeros(1, np.int64)
        logits = network(network.collate([{}], [network.observe(environment.view(row_alone + row))], row_alone))[0][0]
        policy, value = logits.softmax(0), torch.zeros(())
        for k, action in enumerate(actions[actions >= 0]):
            reward = float(environment.step([row], [free], [action])[0])
            value = value + expected(free, total + reward, chance * policy[k], free + 1)
        return value

    base = float(environment.reset([0], [0])[0])
    exact = gradient(network, expected(0, base, torch.ones(()), 1))
    random, many = np.random.default_rng(3), 6000
    batch = Starts([sack], np.zeros(many, np.int64), np.zeros(many, np.uint64))
    episodes = roll_out(problem, batch, network, random)
    gained = np.repeat(episodes.objective - episodes.objective.mean(), episodes.lengths).astype(np.float32)
    sampled = -gradient(network, loss(network, episodes, gained, entropy=0.0, proximity=0.0)) / many
    assert torch.nn.functional.cosine_similarity(exact, sampled, dim=0) > 0.97
    assert sampled.norm().item() == pytest.approx(exact.norm().item(), rel=0.15)


def test_mirror_descent_begins_as_the_plain_gradient(problem, sacks, network):
    """Where the policy is still the one that played, the proximal step's gradient is the plain one, whatever `proximity`."""
    episodes = roll_out(problem, starts(sacks, 4), network, np.random.default_rng(0))
    gained = advantages(episodes, shared_baseline(episodes.objective, np.repeat(np.arange(4), 4)))
    plain, near, far = (gradient(network, loss(network, episodes, gained, entropy=0.0, proximity=p)) for p in (0.0, 0.1, 10.0))
    torch.testing.assert_close(near, plain, atol=2e-4, rtol=1e-3)
    torch.testing.assert_close(far, plain, atol=2e-3, rtol=1e-2)


def test_proximity_pulls_back_to_the_policy_that_played(problem, sacks, network):
    """Away from it, with no advantage at all, the proximal gradient points back."""
    episodes = roll_out(problem, starts(sacks, 4), network, np.random.default_rng(0))
    nothing = np.zeros(len(episodes.moves["slot"]), np.float32)
    before = torch.nn.utils.parameters_to_vector(network.parameters()).detach().clone()
    step = 0.05 * torch.randn(len(before), generator=torch.Generator().manual_seed(1))
    torch.nn.utils.vector_to_parameters(before + step, network.parameters())
    back = gradient(network, loss(network, episodes, nothing, entropy=0.0, proximity=1.0))
    assert torch.dot(back, step) > 0


def test_entropy_spreads_the_policy(problem, sacks, network):
    """A step down the entropy term alone raises the entropy of the policy."""
    episodes = roll_out(problem, starts(sacks, 4), network, np.random.default_rng(0))
    nothing = np.zeros(len(episodes.moves["slot"]), np.float32)
    value = loss(network, episodes, nothing, entropy=1.0, proximity=0.0)
    step = gradient(network, value)
    with torch.no_grad():
        vector = torch.nn.utils.parameters_to_vector(network.parameters())
        torch.nn.utils.vector_to_parameters(vector - 1e-3 * step / step.norm(), network.parameters())
        assert loss(network, episodes, nothing, entropy=1.0, proximity=0.0) < value


def test_baselines(problem, sacks, network):
    """The shared baseline is the mean of each instance; advantages then sum to 0 there; one episode's is 0."""
    which = np.array([0, 0, 1, 1])
    np.testing.assert_allclose(shared_baseline(np.array([1.0, 3.0, 5.0, 5.0]), which), [2, 2, 5, 5])
    episodes = roll_out(problem, starts(sacks, 1), network, np.random.default_rng(0))
    assert not advantages(episodes, shared_baseline(episodes.objective, np.arange(4))).any()


def test_the_greedy_rollout_changes_for_a_better_policy_alone(problem, knapsack, network):
    """The baseline takes over a policy that is better on the watched instances, and keeps the old one otherwise."""
    watched = [knapsack.uniform(size=8, seed=seed) for seed in range(40)]

    class Ratio(type(network)):
        """The items of the best value per weight first, or with sign -1 last."""

        sign = 1.0

        def forward(self, batch):
            x, mask, _ = batch
            logits = (self.sign * 50 * x[:, :-1, 2]).masked_fill(~mask[:, :-1], -torch.inf)
            return logits, logits.new_zeros(len(logits))

    good, bad = (Ratio(**network.config) for _ in range(2))
    bad.sign = -1.0
    baseline = GreedyRollout(problem, bad, watched)
    assert not baseline.update(bad)
    baseline.network.sign = 1.0
    assert not baseline.update(bad)
    baseline.network.sign = -1.0
    assert baseline.update(good)
