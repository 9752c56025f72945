"""Credit: what the Q-values of the nodes of a tree are learned from, all as minus the logarithm of a size.

- `tree`: the nodes branched in both subtrees (the tree MDP of Scavuzzo et al., NeurIPS 2022; the logarithm as in TreeDQN,
  Sorokin et al.).
- `paths`: the tree is cut into paths as in retro branching (Parsonson, Laterre and Barrett, AAAI 2023), each from a node down
  to its deepest descendant; what the subtree of its first node came to is told at its end alone.
- `weights`: the same sum, spread over the path by weights that are learned (ReviBranch, arXiv 2508.17452).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from corl.learning.algorithms.q_learning import Maximise, Target, field
from corl.learning.episodes import Episodes
from corl.learning.optimise import gradient_step, new_optimiser

if TYPE_CHECKING:
    from corl.learning.replay import Replay

__all__ = ["Redistribution", "Tree", "along_paths", "paths_of", "share", "sizes_of"]


def sizes_of(children: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of the moves of one tree, whose children are so many moves later [M, 2], how many are in each one's subtree, itself too."""
    sizes = np.ones(len(children), np.int64)
    for move in range(len(children) - 1, -1, -1):
        for later in children[move]:
            if later:
                sizes[move] += sizes[move + later]
    return sizes


def paths_of(children: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(how many moves later the next one of its path is, 0 at the end; the first move of its path), both [M] of one tree."""
    count = len(children)
    height, later, first = np.zeros(count, np.int64), np.zeros(count, np.int64), np.arange(count)
    for move in range(count - 1, -1, -1):
        below = [(height[move + step], -step) for step in children[move] if step]
        if below:
            most, step = max(below)
            height[move], later[move] = most + 1, -step
    for move in range(count):
        if later[move]:
            first[move + later[move]] = first[move]
    return later, first


class Tree:
    """The Target (algorithms.q_learning) of `tree`: the nodes of the first `ahead` levels, and what is expected below these.

    A node whose subtree was cut short by a limit ("open" 1) counts as `limit` nodes more.
    """

    def __init__(self, ahead: int, limit: int) -> None:
        self.ahead, self.limit = ahead, limit

    def __call__(self, replay: Replay, at: NDArray[np.int64], maximise: Maximise) -> NDArray[np.float32]:
        total = self.limit * field(replay, "open", at).astype(np.float64)
        owner, nodes = np.arange(len(at)), at
        for _ in range(self.ahead):
            np.add.at(total, owner, 1.0)
            children = field(replay, "children", nodes)
            there = children > 0
            owner, nodes = np.repeat(owner, 2)[there.ravel()], (nodes[:, None] + children)[there]
            if not len(nodes):
                break
        else:
            np.add.at(total, owner, np.exp(np.minimum(-maximise(nodes).astype(np.float64), np.log(4.0 * self.limit))))
        return (-np.log(total)).astype(np.float32)


def along_paths(ahead: int) -> Target:
    """The Target of `paths` and `weights`: the shares of the next `ahead` moves of a path, and the value of the one after."""

    def target(replay: Replay, at: NDArray[np.int64], maximise: Maximise) -> NDArray[np.float32]:
        total, now, there = np.zeros(len(at)), at, np.arange(len(at))
        for _ in range(ahead):
            total[there] += field(replay, "share", now)
            later = field(replay, "later", now)
            there, now = there[later > 0], (now + later)[later > 0]
            if not len(now):
                break
        else:
            total[there] += maximise(now)
        return total.astype(np.float32)

    return target


class Redistribution:
    """How much each move of a path had to do with what came of it: numbers above 0 whose sum over a path is to be that.

    (Return decomposition, as Arjona-Medina et al., NeurIPS 2019, and Efroni, Merlis and Mannor, AAAI 2021.) A move's weight is
    its share of the sum. The network sees the features of the chosen candidate and their means over the candidates.
    """

    def __init__(self, inputs: int, width: int = 32, rate: float = 1e-3) -> None:
        self.network = nn.Sequential(nn.Linear(2 * inputs, width), nn.ReLU(), nn.Linear(width, 1), nn.Softplus())
        self.rate = rate
        self.optimiser = new_optimiser(self.network, rate)

    def learn(self, x: Tensor, path: Tensor, total: Tensor, steps: int) -> None:
        """Optimiser steps on moves [M, 2 F] of one tree; `path` int64 [M] numbers their paths from 0, `total` [P] is theirs."""
        for _ in range(steps):
            sums = torch.zeros(len(total)).index_add(0, path, self._parts(x))
            gradient_step(self.optimiser, functional.smooth_l1_loss(sums, total), self.rate, 0.0)

    @torch.no_grad()
    def weights(self, x: Tensor, path: Tensor, count: int) -> Tensor:
        """[M] the shares, which add up to 1 on each of `count` paths."""
        found = self._parts(x)
        return found / torch.zeros(count).index_add(0, path, found)[path]

    def _parts(self, x: Tensor) -> Tensor:
        found: Tensor = self.network(x)
        return found.squeeze(1) + 1e-4

    def state_dict(self) -> dict[str, Any]:
        return {"network": self.network.state_dict(), "optimiser": self.optimiser.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.optimiser.load_state_dict(state["optimiser"])


def share(
    tree: Episodes, limit: int, redistribution: Redistribution | None = None, seen: NDArray[np.float32] | None = None
) -> None:  # fmt: skip
    """Add "later" and "share" to the moves of one tree, for `along_paths`; a subtree that was cut short has `limit` nodes more.

    seen: of the moves [M, 2 F], what Redistribution sees.
    """
    children = tree.moves["children"]
    later, first = paths_of(children)
    told = -np.log(sizes_of(children) + limit * tree.moves["open"].astype(np.float64))
    starts, path = np.unique(first, return_inverse=True)
    if redistribution is None or seen is None:
        share = np.where(later == 0, told[first], 0.0)
    else:
        x, place = torch.from_numpy(seen), torch.from_numpy(path.ravel())
        redistribution.learn(x, place, torch.from_numpy(-told[starts].astype(np.float32)), steps=4)
        share = redistribution.weights(x, place, len(starts)).double().numpy() * told[first]
    tree.moves.update(later=later, share=share)
