"""`RevivedNetwork`: Q-values of branching on each candidate of a node, given the decisions at the node's ancestors.

The network follows ReviBranch (arXiv 2508.17452). It has an encoder of the node, attention to the steps of its ancestors, and a
decoder of Q-values. The step of an ancestor combines the state there, the variable chosen, and the position on the path
("revived" steps in the paper). The paper's encoder is a bipartite graph network; here it is a perceptron on the 40 features of
each candidate, and the state is the mean over the candidates. In training, steps are computed with the current weights from the
ancestors' observations in the replay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from corl.learning.replay import Replay
from corl.networks.compiled import array_of
from corl.problems.milp_branching.candidates import Feature
from corl.solvers.milp.branching.lists import Lists, lists
from corl.solvers.milp.branching.scoring import CLIP
from corl.solvers.milp.revibranch.policy import RevivedPolicy
from corl.solvers.milp.scip.rule import Observation

__all__ = ["Revived", "RevivedNetwork"]


class Revived(NamedTuple):
    """A batch of N nodes and their ancestors, U distinct nodes in total."""

    lists: Lists
    """The candidates of the U nodes."""
    slot: Tensor
    """int64 [U] the slot of the chosen candidate of each of the U nodes."""
    which: Tensor
    """int64 [N] the nodes of the batch, as indices into the U nodes."""
    above: Tensor
    """int64 [N, H] the ancestors of each node of the batch, as indices into the U nodes, nearest first; -1 beyond the root."""
    way: Tensor
    """int64 [N, H] 1 if the path from the ancestor begins with its up child, otherwise 0."""


class RevivedNetwork(nn.Module):
    """A network from nodes and their ancestors to Q-values of the candidates."""

    architecture: ClassVar[str] = "milp-revibranch"
    mean: Tensor
    scale: Tensor

    def __init__(
        self, problem: str = "milp", family: str = "", lower: Sequence[float] = (), upper: Sequence[float] = (),
        width: int = 32, ancestors: int = 8,
    ) -> None:  # fmt: skip
        """Create a network with random weights.

        Args:
            problem: The name of the problem, for checkpoints.
            family: The family of the training programs.
            lower: The smallest value of each number of the training programs' signatures (branching.signature); empty: unknown.
            upper: The largest value of each number; empty: unknown.
            width: The size D of the hidden vectors.
            ancestors: The largest number H of ancestors of a node whose steps are used; 0: none.
        """
        super().__init__()
        self.problem, self.ancestors = problem, ancestors
        self.config: dict[str, Any] = {
            "problem": problem, "family": family, "lower": list(lower), "upper": list(upper), "width": width,
            "ancestors": ancestors,
        }  # fmt: skip
        self.register_buffer("mean", torch.zeros(len(Feature)))
        self.register_buffer("scale", torch.ones(len(Feature)))
        self.first, self.second = nn.Linear(len(Feature), width), nn.Linear(width, width)
        if ancestors:
            self.step, self.way, self.place = nn.Linear(2 * width, width), nn.Embedding(2, width), nn.Embedding(ancestors, width)
            self.none = nn.Parameter(torch.zeros(width))
            self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.head = nn.Linear((3 if ancestors else 2) * width, width)
        self.last = nn.Linear(width, 1, bias=False)

    def context(self, node: Observation) -> Mapping[str, NDArray[Any]]:
        """Return no arrays. See scip.recorder.NodeObserver."""
        return {}

    def observe(self, node: Observation, slots: NDArray[np.int64]) -> Mapping[str, NDArray[Any]]:
        """Return "lines", float32 [k, F], the features of the candidates. See scip.recorder.NodeObserver."""
        return {"lines": node.features[slots].astype(np.float32)}

    def standardise(self, lines: Tensor) -> None:
        """Set the means and scales of the inputs from features [S, F]."""
        self.mean.copy_(lines.mean(0))
        self.scale.copy_(1.0 / lines.std(0, correction=0).clamp(min=1e-3))

    def states(self, replay: Replay, at: NDArray[np.int64]) -> Revived:
        """Return the batch of recorded moves (branched nodes), with those of their ancestors that are still in the replay.

        Args:
            replay: Holds trees of a Recorder.
            at: int64 [N], the numbers of the moves, increasing.
        """
        device = self.mean.device
        numbers, ways = self._paths(replay, at)
        every = np.unique(np.concatenate([at, numbers[numbers >= 0]]))
        candidate_lists = lists(replay.collate_inputs(every).observed, "lines", device)
        above = np.where(numbers >= 0, np.searchsorted(every, numbers), -1)
        parts = (replay.field("slot", every).astype(np.int64), np.searchsorted(every, at), above, ways)
        return Revived(candidate_lists, *(torch.from_numpy(part).to(device) for part in parts))

    def _paths(self, replay: Replay, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the moves of the ancestors of the moves `at` [N], nearest first, and the directions of the paths from there.

        Returns:
            int64 [N, H], -1 beyond the root or the oldest move in the replay; and int64 [N, H], 1 for up, 0 for down.
        """
        numbers = np.full((len(at), self.ancestors), -1)
        ways = np.zeros((len(at), self.ancestors), np.int64)
        oldest, now, batch_rows = replay.added - replay.size, at.copy(), np.arange(len(at))
        for place in range(self.ancestors):
            distinct, inverse = np.unique(now, return_inverse=True)
            back, up = (replay.field(name, distinct)[inverse] for name in ("parent", "up"))
            found = (back > 0) & (now - back >= oldest)
            batch_rows, now = batch_rows[found], (now - back)[found]
            if not len(batch_rows):
                break
            numbers[batch_rows, place], ways[batch_rows, place] = now, up[found]
        return numbers, ways

    def forward(self, batch: Revived) -> tuple[Tensor, Tensor]:
        """Return Q-values [N, K], -inf in empty slots, and values [N], all 0."""
        mask = batch.lists.mask
        x = ((batch.lists.lines - self.mean) * self.scale).clamp(-CLIP, CLIP)
        hidden = torch.relu(self.second(torch.relu(self.first(x))))
        encoded = torch.zeros(*mask.shape, hidden.shape[1], device=hidden.device, dtype=hidden.dtype)
        encoded = encoded.masked_scatter(mask[:, :, None], hidden)
        state = encoded.sum(1) / mask.sum(1, keepdim=True)
        own_candidates, own_state = encoded[batch.which], state[batch.which][:, None, :]
        inputs = [own_candidates, own_state.expand_as(own_candidates)]
        if self.ancestors:
            inputs.append(self._revived(batch, encoded, state)[:, None, :].expand_as(own_candidates))
        scores = self.last(torch.relu(self.head(torch.cat(inputs, 2)))).squeeze(2)
        return scores.masked_fill(~mask[batch.which], -torch.inf), torch.zeros(len(own_candidates), device=scores.device)

    def _revived(self, batch: Revived, encoded: Tensor, state: Tensor) -> Tensor:
        """Return the result of attention to the steps of the ancestors, [N, D].

        Args:
            batch: The nodes.
            encoded: float [U, K, D], the encoded candidates.
            state: float [U, D], their means.
        """
        chosen = encoded[torch.arange(len(encoded), device=encoded.device), batch.slot]
        steps = self.step(torch.cat((state, chosen), 1))[batch.above.clamp_min(0)]
        steps = steps + self.way(batch.way) + self.place.weight[: steps.shape[1]]
        tokens = torch.cat((self.none.expand(len(steps), 1, -1), steps), 1)
        missing = torch.cat((torch.zeros_like(batch.above[:, :1], dtype=torch.bool), batch.above < 0), 1)
        weight = (self.key(tokens) @ self.query(state[batch.which])[:, :, None]).squeeze(2) / tokens.shape[2] ** 0.5
        share = weight.masked_fill(missing, -torch.inf).softmax(1)
        taken: Tensor = share[:, None, :] @ self.value(tokens)
        return taken.squeeze(1)

    def branching(self, random: np.random.Generator | None = None, chance: float = 0.0) -> RevivedPolicy:
        """See branching.policy.Branches; with probability `chance` a candidate is drawn from `random` instead."""
        weights = {name: array_of(tensor) for name, tensor in self.state_dict().items()}
        return RevivedPolicy(weights, self.ancestors, random, chance)
