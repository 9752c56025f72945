"""Evolution strategies: a gradient out of what changed networks come to, for what no backpropagation goes through.

Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement Learning" (2017): Gaussian changes of all
parameters in opposite pairs, and ranks in place of what they came to.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import nn

from corl.adapter import Problem
from corl.decoding.play import Turn, play
from corl.environment import View
from corl.networks.policy import Policy
from corl.policy import Player

__all__ = ["gradient", "moved", "outcomes", "parameters_of", "set_gradient"]


def parameters_of(network: nn.Module) -> NDArray[np.float64]:
    """All parameters, [D]."""
    return np.concatenate([part.detach().cpu().double().numpy().ravel() for part in network.parameters()])


def moved(network: Policy, flat: NDArray[np.float64]) -> Policy:
    """A copy of a network with the parameters `flat` [D]."""
    other = copy.deepcopy(network).eval()
    with torch.no_grad():
        for parameter, part in zip(other.parameters(), _parts(other, flat)):
            parameter.copy_(part)
    return other


def gradient(costs: NDArray[np.float64], noise: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    """An estimate of the gradient [D] of the expected rank, from 0.5 of the most to -0.5 of the least; of equals the mean.

    costs: [P, 2], what the parameters changed by `spread` * noise [P, D], and by its opposite, come to.
    """
    ranks = (rankdata(costs, axis=None).reshape(costs.shape) - 1.0) / (costs.size - 1.0) - 0.5
    estimate: NDArray[np.float64] = (ranks[:, 0] - ranks[:, 1]) @ noise / (len(noise) * spread)
    return estimate


def set_gradient(network: nn.Module, flat: NDArray[np.float64]) -> None:
    """Make `flat` [D] the gradient of the parameters, for an optimiser's step."""
    for parameter, part in zip(network.parameters(), _parts(network, flat)):
        parameter.grad = part


def _parts(network: nn.Module, flat: NDArray[np.float64]) -> list[torch.Tensor]:
    sizes = [parameter.numel() for parameter in network.parameters()]
    cut = torch.split(torch.from_numpy(flat), sizes)
    return [part.reshape(p.shape).to(p.device, p.dtype) for part, p in zip(cut, network.parameters())]


def outcomes(problem: Problem, instances: Sequence[Any], networks: Sequence[Policy]) -> tuple[NDArray[np.float64], bool]:
    """What the likeliest actions of each network come to on each instance, [networks, instances], higher is better.

    Also whether there was anything to choose, as far as is known.

    All play at once in one pool, from the same starts; where there is one action it is taken unseen.
    """
    several, count = len(networks), len(instances)
    environment = problem.environment(instances, several * count, name=networks[0].environment)
    rows = np.arange(several * count)
    base = environment.reset(rows, np.tile(np.arange(count), several))
    evaluators = [network.on(environment) for network in networks]
    players = [one for one in evaluators if isinstance(one, Player)]
    if len(players) == several:
        played = [one.play(part) for one, part in zip(players, np.split(rows, several))]
        return base.reshape(several, count) + np.array(played), True

    def logits_of(view: View, owner: NDArray[np.int64]) -> NDArray[np.float32]:
        """[R, K], by the networks `owner` [R], rising."""
        owners, first = np.unique(owner, return_index=True)
        cuts = [*first.tolist(), len(owner)]
        parts = zip(owners.tolist(), cuts, cuts[1:])
        return np.concatenate([evaluators[i].evaluate(view.part(slice(a, b)))[0] for i, a, b in parts])

    chose = False

    def choose(turn: Turn) -> NDArray[np.integer]:
        nonlocal chose
        slots = np.zeros(len(turn.rows), np.int64)
        choosing = np.flatnonzero((turn.actions >= 0).sum(axis=1) > 1)
        if len(choosing):
            chose = True
            view = environment.view(turn.rows[choosing], turn.actions[choosing])
            slots[choosing] = logits_of(view, turn.episode[choosing] // count).argmax(axis=1)
        return turn.taken(slots)

    totals = play(environment, rows, base, choose).totals.reshape(several, count)
    return totals, chose
