"""Deep Q-learning from a replay: double Q-learning with a frozen copy of the network, and targets over several moves.

Mnih et al. (Nature 2015) for the replay and the frozen network, van Hasselt, Guez and Silver (AAAI 2016) for double Q-learning,
Horgan et al. (ICLR 2018) for how differently the episodes explore. A network's logits are its Q-values, so that whatever
decodes a policy decodes them: the greedy action is the one of the highest value.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from corl.learning.optimise import gradient_step, new_optimiser

if TYPE_CHECKING:
    from torch import Tensor

    from corl.learning.replay import Replay

__all__ = ["Maximise", "QLearning", "States", "Target", "exploration", "field", "n_step"]

_MOST, _POWER = 0.4, 7.0  # Horgan et al., section 4.1: epsilon = 0.4 ^ (1 + 7 u), u from 0 to 1

Maximise: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""Of the states of the moves `at` [N], in any order, the frozen network's value of the action that the network likes best [N]."""
Target: TypeAlias = "Callable[[Replay, NDArray[np.int64], Maximise], NDArray[np.float32]]"
"""What the Q-values of the moves `at` [N], rising, shall be, [N]."""

States: TypeAlias = "Callable[[Replay, NDArray[np.int64]], Any]"
"""Of the moves `at` [N], rising, what a network's forward pass takes."""


def exploration(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    """For each of `count` episodes the probability of a random action, from 0.4 down to below a thousandth, few high ones."""
    return np.power(_MOST, 1.0 + _POWER * random.random(count))


def n_step(steps: int) -> Target:
    """The next `steps` rewards and the value of the state after them, all in the units of the states ("scale")."""

    def target(replay: Replay, at: NDArray[np.int64], maximise: Maximise) -> NDArray[np.float32]:
        places, inside = replay.window(at, steps)
        within = inside[:, :steps]
        rewards = field(replay, "reward", places[:, :steps])
        total = np.where(within, rewards, 0.0).sum(1)
        goes_on = inside[:, steps]
        if goes_on.any():
            after = places[goes_on, steps]
            total[goes_on] += maximise(after) * _scale(replay, after)
        found: NDArray[np.float32] = (total / _scale(replay, at)).astype(np.float32)
        return found

    return target


def field(replay: Replay, name: str, at: NDArray[np.int64]) -> NDArray[Any]:
    """`Replay.field` of moves in any order and shape."""
    numbers, place = np.unique(at, return_inverse=True)
    found = replay.field(name, numbers)
    return found[place.reshape(at.shape)]


def _scale(replay: Replay, at: NDArray[np.int64]) -> NDArray[np.float64]:
    """The units [N] of the states of moves in any order."""
    numbers, place = np.unique(at, return_inverse=True)
    return np.concatenate([part["scale"] for part in replay.seen(numbers).seen])[place.ravel()]


class QLearning:
    """A network that learns the Q-values of the moves of a replay. Its optimiser, its frozen copy and how often it learned are
    what a snapshot holds (`state_dict`)."""

    def __init__(
        self, network: Any, replay: Replay, target: Target, *, rate: float, batch: int, sync: int, states: States | None = None
    ) -> None:  # fmt: skip
        """network: a Learner (learning.imitation), or one whose forward pass takes what `states` makes. sync: optimiser steps
        between two copies to the frozen network."""
        self.network, self.replay, self.target, self.states = network, replay, target, states or self._collated
        self.rate, self.batch, self.sync = rate, batch, sync
        self.frozen, self.updates = copy.deepcopy(network).eval(), 0
        self.optimiser = new_optimiser(network, rate)

    def _collated(self, replay: Replay, at: NDArray[np.int64]) -> Any:
        return self.network.collate(*replay.seen(at))

    def maximise(self, at: NDArray[np.int64]) -> NDArray[np.float32]:
        """See Maximise."""
        numbers, place = np.unique(at, return_inverse=True)
        states = self.states(self.replay, numbers)
        with torch.no_grad():
            best = self.network(states)[0].argmax(1, keepdim=True)
            found: NDArray[np.float32] = self.frozen(states)[0].gather(1, best)[:, 0].float().cpu().numpy()
        return found[place.ravel()]

    def loss(self, at: NDArray[np.int64]) -> Tensor:
        """Huber's, of the Q-values of the moves `at`, rising, to their targets."""
        device = next(self.network.parameters()).device
        target = torch.from_numpy(self.target(self.replay, at, self.maximise)).to(device)
        logits, _ = self.network(self.states(self.replay, at))
        slot = torch.from_numpy(self.replay.field("slot", at).astype(np.int64)).to(device)
        return functional.smooth_l1_loss(logits.gather(1, slot[:, None])[:, 0].float(), target)

    def begin(self, take: Callable[[Any], object]) -> None:
        """Before the first step: `take` gets the states of all moves there are (for means and deviations of what is seen)."""
        take(self.states(self.replay, np.arange(self.replay.added - self.replay.size, self.replay.added)))

    def step(self, random: np.random.Generator, fraction: float) -> float:
        """One optimiser step on moves that are drawn from the replay; the loss before it. `fraction` of the training is done."""
        if self.updates % self.sync == 0:
            self.frozen.load_state_dict(self.network.state_dict())
        loss = self.loss(self.replay.sample(random, self.batch))
        gradient_step(self.optimiser, loss, self.rate, fraction)
        self.updates += 1
        return loss.item()

    def state_dict(self) -> dict[str, Any]:
        return {"frozen": self.frozen.state_dict(), "optimiser": self.optimiser.state_dict(), "updates": self.updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.frozen.load_state_dict(state["frozen"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.updates = int(state["updates"])
