"""Credit assignment: the targets of the Q-values of a tree's nodes, each minus the logarithm of a number of nodes.

- `tree`: the branched nodes of the node's subtree, the node included, counted below both children (the tree MDP of Scavuzzo et
  al., NeurIPS 2022; the logarithm as in TreeDQN, Sorokin et al.).
- `weights`: the tree is divided into paths as in retro branching (Parsonson, Laterre and Barrett, AAAI 2023), each from a node
  down to its deepest descendant. The return of a path, minus the logarithm of its first node's subtree size, is distributed over
  the nodes of the path by learned weights (ReviBranch, arXiv 2508.17452).
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
    """Return the number of moves in the subtree of each move of one tree, including itself, int64 [M].

    Args:
        children: int64 [M, 2], how many moves later the down and the up child are branched; 0 if they are not.
    """
    sizes = np.ones(len(children), np.int64)
    for move in range(len(children) - 1, -1, -1):
        for later in children[move]:
            if later:
                sizes[move] += sizes[move + later]
    return sizes


def paths_of(children: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Divide the moves of one tree into paths, each from a move down to its deepest descendant.

    Args:
        children: int64 [M, 2], as in `sizes_of`.

    Returns:
        How many moves later the next move of the path is, 0 at its end, int64 [M]; and the first move of the path, int64 [M].
    """
    count = len(children)
    height, later, first = np.zeros(count, np.int64), np.zeros(count, np.int64), np.arange(count)
    for move in range(count - 1, -1, -1):
        below = [(height[move + step], -step) for step in children[move] if step]  # of equal heights, the earlier child
        if below:
            most, step = max(below)
            height[move], later[move] = most + 1, -step
    for move in range(count):
        if later[move]:
            first[move + later[move]] = first[move]
    return later, first


class Tree:
    """The Target (algorithms.q_learning) of `tree`, from the number of nodes in a subtree.

    The nodes of the first `ahead` levels are counted; for the subtrees of the next level, the network's values give the numbers.
    If a limit ended the solve before a subtree was complete ("open" is 1), that subtree counts `limit` nodes more.
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
    """Return the Target of `weights`: the rewards of the next `ahead` moves of a path, plus the value after them.

    The rewards are the field "share" of the moves.
    """

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
    """Learns how to distribute the return of a path over its moves.

    A network learns positive contributions of the moves; their sum over a path is minus the path's return (return decomposition,
    as in Arjona-Medina et al., NeurIPS 2019, and Efroni, Merlis and Mannor, AAAI 2021). The weight of a move is the fraction of
    this sum that the move contributes. The inputs are the features of the chosen candidate and their means over the candidates.
    """

    def __init__(self, inputs: int, width: int = 32, rate: float = 1e-3) -> None:
        self.network = nn.Sequential(nn.Linear(2 * inputs, width), nn.ReLU(), nn.Linear(width, 1), nn.Softplus())
        self.rate = rate
        self.optimiser = new_optimiser(self.network, rate)

    def learn(self, x: Tensor, path: Tensor, total: Tensor, steps: int) -> None:
        """Take optimiser steps on the moves of one tree.

        Args:
            x: float32 [M, 2 F], the inputs.
            path: int64 [M], the path of each move, from 0.
            total: float32 [P], the sums to learn, one per path.
            steps: The number of optimiser steps.
        """
        for _ in range(steps):
            sums = torch.zeros(len(total)).index_add(0, path, self._contributions(x))
            gradient_step(self.optimiser, functional.smooth_l1_loss(sums, total), self.rate, 0.0)

    @torch.no_grad()
    def weights(self, x: Tensor, path: Tensor, count: int) -> Tensor:
        """Return the weights of the moves, float32 [M], which add up to 1 on each of `count` paths; arguments as in `learn`."""
        found = self._contributions(x)
        return found / torch.zeros(count).index_add(0, path, found)[path]

    def _contributions(self, x: Tensor) -> Tensor:
        found: Tensor = self.network(x)
        return found.squeeze(1) + 1e-4

    def state_dict(self) -> dict[str, Any]:
        return {"network": self.network.state_dict(), "optimiser": self.optimiser.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.optimiser.load_state_dict(state["optimiser"])


def share(tree: Episodes, limit: int, redistribution: Redistribution, inputs: NDArray[np.float32]) -> None:
    """Add the rewards "share" and the path steps "later" to the moves of one tree, in place, for `along_paths`.

    Args:
        tree: A tree of M moves.
        limit: The number of nodes that are added to the size of an incomplete subtree.
        redistribution: Distributes the return of a path; it first learns from this tree.
        inputs: float32 [M, 2 F], the inputs of the redistribution.
    """
    children = tree.moves["children"]
    later, first = paths_of(children)
    returns = -np.log(sizes_of(children) + limit * tree.moves["open"].astype(np.float64))
    starts, path = np.unique(first, return_inverse=True)
    x, place = torch.from_numpy(inputs), torch.from_numpy(path.ravel())
    redistribution.learn(x, place, torch.from_numpy(-returns[starts].astype(np.float32)), steps=4)
    share = redistribution.weights(x, place, len(starts)).double().numpy() * returns[first]
    tree.moves.update(later=later, share=share)
