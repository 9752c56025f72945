"""MuZero's learning: the unroll in the root's slots and units, absorbing terminals, gradient scaling, reanalyse."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from corl.learning.algorithms import muzero
from corl.learning.episodes import Episodes, random_choice, record
from corl.learning.replay import Replay
from corl.learning.unrolling import spans, unroll
from corl.search.gumbel import Gumbel

NONE = -1
FIELDS = ("actions", "slot", "policy", "value", "reward", "returns")


@pytest.fixture
def replay():
    """An episode of three moves with actions 10..13 (rewards 1, 2, 3), whose slots change places, and one of one move.

    Each state has two action slots and one token more. Scales are 2, 4, 8 and 1; searches found values 60, 70, 80 and 90.
    """
    actions = np.array([[10, 11], [12, 10], [13, NONE], [11, 12]], np.int32)
    seen = {
        "scale": np.array([2.0, 4.0, 8.0, 1.0]),
        "x": np.arange(4 * 3, dtype=np.float32).reshape(4, 3, 1),
        "mask": np.concatenate([actions >= 0, np.ones((4, 1), bool)], axis=1),
    }
    moves = {
        "actions": actions,
        "slot": np.array([1, 1, 0, 0]),
        "policy": np.array([[0.25, 0.75], [0.4, 0.6], [1.0, 0.0], [0.5, 0.5]], np.float32),
        "value": np.array([60.0, 70.0, 80.0, 90.0]),
        "reward": np.array([1.0, 2.0, 3.0, 5.0]),
        "returns": np.array([6.0, 5.0, 3.0, 5.0]),
    }
    made = Replay(4)
    made.add(Episodes([], np.zeros(2, np.int64), seen, moves, np.array([3, 1]), np.array([6.0, 5.0])))
    return made


def test_the_unroll_is_told_in_the_roots_slots(replay):
    """Actions, policies and tokens of later states are found by their action ids among those of the root."""
    seen = unroll(replay, np.array([0]), 2, 10, 1, np.random.default_rng(0))
    assert seen.slot.tolist() == [[1, 0]]  # 11, then 10, which stands in the root's slot 0
    assert seen.known.tolist() == [[True, True, True]]
    assert np.allclose(seen.policy[0], [[0.25, 0.75], [1.0, 0.0], [0.0, 0.0]])  # of step 1 only 10 is one of the root's
    assert np.allclose(seen.policy_weight[0], [1.0, 0.6, 0.0])
    assert seen.counterpart[0].tolist() == [[0, 1, 2], [1, NONE, 2], [NONE, NONE, NONE]]
    assert seen.x[0, :, :, 0].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_an_action_that_the_root_does_not_list_ends_what_is_known(replay):
    """From there on the model cannot be told what was done, so nothing is asked of it."""
    seen = unroll(replay, np.array([1]), 2, 10, 1, np.random.default_rng(0))
    assert seen.slot[0, 0] == 1 and seen.known.tolist() == [[True, True, False]]  # 13 is not among 12 and 10


def test_targets_are_in_the_roots_unit(replay):
    """Rewards and values of all steps are divided by the root's scale; td_steps rewards, then the value of a search."""
    whole, short = (unroll(replay, np.array([0]), 2, n, 1, np.random.default_rng(0)) for n in (3, 1))
    assert whole.reward.tolist() == [[0.5, 1.0]] and whole.value.tolist() == [[3.0, 2.5, 1.5]]
    assert short.value.tolist() == [[(1 + 70) / 2, (2 + 80) / 2, 1.5]]
    two = unroll(replay, np.array([0]), 0, 2, 1, np.random.default_rng(0))
    assert two.value.tolist() == [[(1 + 2 + 80) / 2]]


def test_terminals_absorb(replay):
    """Past the end: rewards and values 0, no policy, nothing to be like, and any action that the root lists."""
    drawn = set()
    for seed in range(20):
        seen = unroll(replay, np.array([3]), 4, 10, 1, np.random.default_rng(seed))
        assert seen.value[0].tolist() == [5.0, 0, 0, 0, 0] and seen.reward[0].tolist() == [5.0, 0, 0, 0]
        assert seen.policy_weight[0].tolist() == [1.0, 0, 0, 0, 0]
        assert (seen.counterpart[0, 1:] == NONE).all() and seen.known.all()
        drawn |= set(seen.slot[0, 1:].tolist())
    assert drawn == {0, 1}
    seen = unroll(replay, np.array([2] * 30), 3, 10, 1, np.random.default_rng(0))
    assert (seen.slot == 0).all()  # the only slot there is


class Counting(nn.Module):
    """A model whose latent state is one number and does not change, and whose losses are linear in it."""

    def __init__(self):
        super().__init__()
        self.root = nn.Parameter(torch.tensor(1.0))
        self.value_head = self.reward_head = self

    def representation(self, x, mask, pairs):
        return self.root * torch.ones(len(x), 1)

    def dynamics(self, latent, slot):
        return latent, latent

    def prediction(self, latent):
        return torch.zeros(len(latent), 2), latent

    def loss(self, output, target):
        return output[:, 0]


@pytest.mark.parametrize(("value", "reward"), [(1.0, 0.0), (0.0, 1.0)])
def test_gradient_scaling(replay, value, reward):
    """Step k's terms count 1 / K, and each of the k steps of the dynamics lets half of their gradient through."""
    network, steps = Counting(), 4
    batch = unroll(replay, np.array([0, 3]), steps, 10, 1, np.random.default_rng(0))
    batch = batch._replace(known=np.ones_like(batch.known))
    total, _ = muzero.loss(network, batch, muzero.LossWeights(value, reward, 0.0), torch.device("cpu"))
    total.backward()
    halves = sum(0.5**k for k in range(1, steps + 1)) / steps
    assert network.root.grad.item() == pytest.approx(value * (1 + halves) + reward * halves, rel=1e-6)


@pytest.fixture
def trained(knapsack):
    """Moves of random play in the toy knapsack, and a fresh network for it."""
    from corl.networks.muzero import MuZeroNetwork

    problem = knapsack.Knapsack()
    instances = [knapsack.uniform(size=6, seed=k) for k in range(16)]
    environment, rows = problem.environment(instances, 16), np.arange(16)
    base = environment.reset(rows, rows)
    shape = {"extra": 1, "width": 16, "layers": 1, "heads": 2, "feedforward": 16, "bins": 16}
    eyes = MuZeroNetwork("toy-knapsack", "items", inputs=5, **shape)
    replay = Replay(1000)
    replay.add(record(eyes, environment, rows, base, random_choice(np.random.default_rng(0))))
    torch.manual_seed(0)
    return replay, MuZeroNetwork("toy-knapsack", "items", inputs=5, **shape, **spans(replay, 3, 1))


def test_spans_hold_nearly_all_that_play_shows(trained):
    """The histograms hold 0 and all but a hundredth of the values and rewards, in units of the root."""
    replay, _ = trained
    found = spans(replay, 3, 1)
    seen = unroll(replay, np.arange(replay.size), 3, 1000, 1, np.random.default_rng(1))
    for name, array in (("values", seen.value), ("rewards", seen.reward)):
        low, high = found[name]
        assert low < 0.0 and ((array > low) & (array < high)).mean() >= 0.99


def test_spans_do_not_follow_an_extreme(replay):
    """One reward a thousand times the others, of 801 moves, makes the bins no wider."""
    few = replay
    wide = Replay(801)
    for k in range(200):
        seen, moves = ({name: array.copy() for name, array in part.items()} for part in _everything(few))
        moves["reward"] = np.where((k == 0) & (np.arange(4) == 0), 1000.0, moves["reward"])
        wide.add(Episodes([], np.zeros(2, np.int64), seen, moves, np.array([3, 1]), np.array([6.0, 5.0])))
    assert spans(wide, 1, 1)["rewards"][1] < 10.0


def _everything(replay):
    """What is seen at the moves of a replay, and what is told of them."""
    at = np.arange(replay.size)
    return replay.collate_inputs(at).observed[0], {
        name: replay.field(name, at, -1 if name == "actions" else 0) for name in FIELDS
    }


@pytest.mark.chance
def test_the_model_can_be_learned(trained):
    """On one batch, descent makes value and reward better by a fifth of what they were, and the similarity by 0.05."""
    replay, network = trained
    batch = unroll(replay, np.arange(24), 3, 1000, 1, np.random.default_rng(0))
    optimiser = torch.optim.Adam(network.parameters(), 5e-3)
    history = []
    for _ in range(40):
        total, terms = muzero.loss(network, batch, muzero.LossWeights(), torch.device("cpu"))
        optimiser.zero_grad()
        total.backward()
        optimiser.step()
        history.append(terms)
    first, last = history[0], history[-1]
    assert last["value"] < 0.8 * first["value"] and last["reward"] < 0.8 * first["reward"]
    assert last["consistency"] < first["consistency"] - 0.05  # over half of the imagined states are absorbing


def test_reanalyse_changes_targets(trained):
    """Policies and values of the searched moves are new ones, distributions over the listed actions; the others stay."""
    replay, network = trained
    everything = np.arange(replay.size)
    before = {name: replay.field(name, everything) for name in ("policy", "value", "returns", "reward")}
    at, rest = np.arange(0, replay.size, 2), np.arange(1, replay.size, 2)
    muzero.reanalyse(replay, at, network.eval(), Gumbel(8), np.arange(len(at), dtype=np.uint64))
    after = {name: replay.field(name, everything, -1 if name == "actions" else 0) for name in (*before, "actions")}
    free = (after["actions"][at] >= 0).sum(axis=1) > 1
    assert (np.abs(after["policy"][at] - before["policy"][at]).max(axis=1)[free] > 1e-3).all()
    assert (after["value"][at] != before["value"][at]).all()
    assert np.allclose(after["policy"].sum(axis=1), 1.0, atol=1e-5) and not after["policy"][after["actions"] < 0].any()
    for name in before:
        assert (after[name][rest] == before[name][rest]).all(), name
    assert (after["returns"] == before["returns"]).all() and (after["reward"] == before["reward"]).all()
