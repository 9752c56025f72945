"""The models: a learned one keeps its latents by node, a simulator draws its own random numbers, an MLP is torch's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from corl import hooks
from corl.environment import Environment
from corl.errors import SolverError, UsageError
from corl.hooks import attach
from corl.policy import RulePolicy
from corl.rng import hashed
from corl.search.gumbel import Gumbel
from corl.search.models import LearnedModel, SimulatorModel, rows_needed
from corl.search.puct import Puct


class Digits:
    """A latent network: the latent is the number that the actions spell in base 4; every step checks that it is its parent's."""

    slots = 4

    def __init__(self) -> None:
        self.expanded: list[tuple[int, int]] = []

    def initial(self, observation: dict[str, Any]) -> tuple[Any, Any, Any]:
        start = torch.from_numpy(observation["start"])[:, None]
        return start, self._logits(start), torch.zeros(len(start))

    def recurrent(self, latent: Any, actions: Any) -> tuple[Any, Any, Any, Any]:
        after = 4 * latent + actions[:, None]
        self.expanded += [(int(a), int(b)) for a, b in zip(latent[:, 0], after[:, 0])]
        return after, (after[:, 0] % 7).double() / 7.0, self._logits(after), torch.cos(after[:, 0].double())

    def _logits(self, latent: Any) -> Any:
        return torch.sin(latent * torch.tensor([1.0, 2.0, 3.0, 5.0]))


OBSERVED = {"start": np.array([1, 2, 3])}
LISTED = np.array([[0, 1, 2, 3], [2, 0, -1, -1], [1, 3, -1, -1]], np.int32)


@pytest.mark.parametrize("search", [Gumbel(40, noise=0.0), Puct(40), Gumbel(40, leaves=6), Puct(40, leaves=6)])
def test_learned_model_keeps_the_latent_of_each_node(search):
    """Each expansion starts from a latent made before, each node has its own, and the root's mask is obeyed, there alone."""
    network = Digits()
    found = search.search(LearnedModel(network), (OBSERVED, LISTED), 0)
    known = {1, 2, 3}
    for before, after in network.expanded:
        assert before in known and after not in known and after // 4 == before
        known.add(after)
    assert len(network.expanded) == 120 and (found.visits.sum(axis=1) == 40).all()
    assert np.array_equal(found.actions, LISTED) and all(a in row for a, row in zip(found.action, LISTED))
    assert {after % 4 for before, after in network.expanded if before > 3} == {0, 1, 2, 3}
    assert {after % 4 for before, after in network.expanded if before == 2} <= {0, 2}
    assert {after % 4 for before, after in network.expanded if before == 3} <= {1, 3}


def test_learned_model_values_are_backed_up():
    """With one simulation the root's value is the mean of its own and of reward + value of the child."""
    found = Gumbel(1, noise=0.0).search(LearnedModel(Digits()), (OBSERVED, LISTED), 0)
    for row in range(3):
        after = 4 * OBSERVED["start"][row] + found.action[row]
        assert found.value[row] == pytest.approx(0.5 * (after % 7 / 7.0 + np.cos(after)))


def test_learned_model_refuses():
    """Actions that the network does not have, another number of rows, NaN."""
    with pytest.raises(UsageError, match="ids below 4"):
        Gumbel(1).search(LearnedModel(Digits()), (OBSERVED, LISTED + 1), 0)
    with pytest.raises(UsageError, match="keys are a seed or 3"):
        Gumbel(1).search(LearnedModel(Digits()), (OBSERVED, LISTED), [1])
    broken = Digits()
    broken._logits = lambda latent: torch.full((len(latent), 4), torch.nan)
    with pytest.raises(SolverError, match="NaN"):
        Gumbel(1).search(LearnedModel(broken), (OBSERVED, LISTED), 0)


class TossState(NamedTuple):
    """Rows of a game of tosses: four steps, and the reward of each is drawn."""

    key: Any
    time: Any


@attach(hooks.step, TossState)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    reward = hashed(state.key[src], state.time[src], action)
    state.key[dst], state.time[dst] = state.key[src], state.time[src] + 1
    return reward


@attach(hooks.actions, TossState)
def _actions(state: Any, row: Any, out: Any) -> Any:
    if state.time[row] == 4:
        return 0
    out[0], out[1] = 0, 1
    return 2


class Coins(Environment):
    """The game."""

    def __init__(self, rows: int) -> None:
        super().__init__(["coins"], rows, width=2)
        self.state = TossState(np.zeros(rows, np.uint64), np.zeros(rows, np.int64))

    def _reset(self, rows: Any, which: Any, keys: Any) -> Any:
        self.state.key[rows], self.state.time[rows] = keys, 0
        return np.zeros(len(rows))

    def _observe(self, rows: Any, actions: Any) -> Any:
        return {"time": self.state.time[rows]}

    def solution(self, row: int) -> Any:
        return None


class Fair(RulePolicy):
    """No opinion."""

    def evaluate(self, observation: Any) -> Any:
        return np.zeros((len(observation["time"]), 2), np.float32), np.zeros(len(observation["time"]))


def test_a_search_does_not_see_the_future():
    """Random steps in a tree are drawn from its own keys: no reward is the true one, other keys give other rewards, one key the
    same; the roots' keys stay, and the true episode afterwards is as without a search."""
    game = Coins(rows_needed(3, 20))
    keys = np.array([5, 6, 7], np.uint64)
    game.reset(np.arange(3), 0, keys)
    model = SimulatorModel(game, Fair().on(game), first=3)
    found = [Puct(20).search(model, np.arange(3), seed) for seed in (1, 1, 2)]
    trees = model.trees(3, 21, 2)
    rewards = [reward for tree in range(3) for reward in trees.reward[tree, 1 : trees.size[tree]]]
    assert np.array_equal(game.state.key[:3], keys)
    true = {hashed(key, time, arm) for key in keys for time in range(4) for arm in range(2)}
    assert not true & set(rewards) and len(set(rewards)) == len(rewards) > 20
    assert np.array_equal(found[0].values, found[1].values) and not np.array_equal(found[0].values, found[2].values)
    assert game.step([0], [0], [1])[0] == hashed(np.uint64(5), 0, 1)
