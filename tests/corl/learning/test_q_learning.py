"""Q-learning: targets over several moves, the double maximum, and how differently episodes explore."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from corl.learning.algorithms.q_learning import QLearning, exploration, n_step
from corl.learning.episodes import Episodes
from corl.learning.optimise import new_optimiser
from corl.learning.replay import Replay

LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def replay_of(lengths, random):
    """A replay of episodes of these lengths with random rewards and units; every state shows its number."""
    replay, count = Replay(100), sum(lengths)
    seen = {"x": np.arange(count, dtype=np.float32)[:, None], "scale": random.uniform(1.0, 3.0, count)}
    moves = {"reward": random.normal(size=count), "slot": random.integers(0, 2, count)}
    replay.add(Episodes([], np.zeros(len(lengths), np.int64), seen, moves, np.array(lengths), np.zeros(len(lengths))))
    return replay, seen["scale"], moves["reward"]


@given(LENGTHS, st.integers(1, 4), st.integers(0, 99))
def test_a_target_is_rewards_and_then_a_value(lengths, steps, seed):
    """By a loop over each episode: so many rewards, and the value of the state after them in its own unit, if there is one."""
    replay, scale, reward = replay_of(lengths, np.random.default_rng(seed))
    values = np.random.default_rng(seed + 1).normal(size=sum(lengths)).astype(np.float32)
    expected, begin = [], 0
    for length in lengths:
        for move in range(begin, begin + length):
            end = min(move + steps, begin + length)
            rest = values[end] * scale[end] if end < begin + length else 0.0
            expected.append((reward[move:end].sum() + rest) / scale[move])
        begin += length
    found = n_step(steps)(replay, np.arange(sum(lengths)), lambda at: values[at])
    assert np.allclose(found, expected, atol=1e-5)


class Table(nn.Module):
    """Two Q-values of every state, one of which grows with the state's number and one of which falls."""

    def __init__(self, slope):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([slope, -slope]))

    def collate(self, contexts, seen, which):
        return torch.from_numpy(np.concatenate([part["x"] for part in seen]))

    def forward(self, x):
        return x * self.slope, torch.zeros(len(x))


def test_the_network_chooses_and_the_frozen_one_judges():
    """Double Q-learning; the frozen one takes the weights at every `sync`-th step; the states may be asked for in any order."""
    replay, _, _ = replay_of([5], np.random.default_rng(0))
    network = Table(1.0)
    learning = QLearning(network, replay, n_step(1), new_optimiser(network, 1e-3), rate=1e-3, batch=4, sync=2)
    with torch.no_grad():
        learning.frozen.slope.copy_(torch.tensor([-2.0, 7.0]))
    assert learning.maximise(np.array([3, 1, 3])).tolist() == [-6.0, -2.0, -6.0]
    random = np.random.default_rng(1)
    learning.learn(learning.draw(random), 0.0)
    kept = learning.frozen.slope.detach().clone()
    assert kept.tolist() == [1.0, -1.0] and learning.network.slope.tolist() != kept.tolist()
    learning.learn(learning.draw(random), 0.0)
    assert learning.frozen.slope.tolist() == kept.tolist()
    learning.learn(learning.draw(random), 0.0)
    assert learning.frozen.slope.tolist() != kept.tolist()


def test_episodes_explore_differently():
    """From 0.4 down to below a thousandth, most of them little."""
    chances = exploration(np.random.default_rng(0), 1000)
    assert chances.min() < 1e-3 < 0.38 < chances.max() <= 0.4 and np.median(chances) < 0.02
