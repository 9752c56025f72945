"""`RevivedNetwork`: the values of branching on each candidate, given what was done above the node.

After ReviBranch (arXiv 2508.17452): an encoder of the node, the revival of the steps above it (each the state there, the variable
chosen there and its place on the path), a decoder of Q-values. Where the paper has a bipartite graph network, here a perceptron
reads the 40 compiled features of each candidate, and the state is the mean over the candidates. The steps are encoded anew
with the present weights in training, from the observations that the replay has of the nodes above.
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
    """N nodes and those above them, U in all."""

    lists: Lists
    """The candidates of all U."""
    slot: Tensor
    """int64 [U] what was chosen there."""
    which: Tensor
    """int64 [N] the nodes among the U."""
    above: Tensor
    """int64 [N, H] the nodes above each among the U, nearest first; -1 past the root."""
    way: Tensor
    """int64 [N, H] whether the way from there goes up."""


class RevivedNetwork(nn.Module):
    """Q-values of candidates.

    family: what it was trained on; lower, upper: the range of such programs' signatures. width: D; ancestors: H, how many steps
    above a node are revived, 0 for none.
    """

    architecture: ClassVar[str] = "milp-revibranch"
    mean: Tensor
    scale: Tensor

    def __init__(
        self, problem: str = "milp", family: str = "", lower: Sequence[float] = (), upper: Sequence[float] = (),
        width: int = 32, ancestors: int = 8,
    ) -> None:  # fmt: skip
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
        """See Sees (scip.recorder): nothing."""
        return {}

    def see(self, node: Observation, slots: NDArray[np.int64]) -> Mapping[str, NDArray[Any]]:
        """See Sees (scip.recorder): lines float32 [k, F]."""
        return {"lines": node.features[slots].astype(np.float32)}

    def standardise(self, lines: Tensor) -> None:
        """Take mean and deviation of features [S, F]."""
        self.mean.copy_(lines.mean(0))
        self.scale.copy_(1.0 / lines.std(0, correction=0).clamp(min=1e-3))

    def states(self, replay: Replay, at: NDArray[np.int64]) -> Revived:
        """Of the moves `at` [N], rising, of trees that a Recorder recorded: they, and those above that the replay still has."""
        device = self.mean.device
        numbers, ways = self._paths(replay, at)
        every = np.unique(np.concatenate([at, numbers[numbers >= 0]]))
        seen = lists(replay.collate_inputs(every).observed, "lines", device)
        above = np.where(numbers >= 0, np.searchsorted(every, numbers), -1)
        parts = (replay.field("slot", every).astype(np.int64), np.searchsorted(every, at), above, ways)
        return Revived(seen, *(torch.from_numpy(part).to(device) for part in parts))

    def _paths(self, replay: Replay, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of the moves above [N, H], -1 where there is none, and the ways from there."""
        numbers = np.full((len(at), self.ancestors), -1)
        ways = np.zeros((len(at), self.ancestors), np.int64)
        oldest, now, there = replay.added - replay.size, at.copy(), np.arange(len(at))
        for place in range(self.ancestors):
            known, inverse = np.unique(now, return_inverse=True)
            back, up = (replay.field(name, known)[inverse] for name in ("parent", "up"))
            goes_on = (back > 0) & (now - back >= oldest)
            there, now = there[goes_on], (now - back)[goes_on]
            if not len(there):
                break
            numbers[there, place], ways[there, place] = now, up[goes_on]
        return numbers, ways

    def forward(self, batch: Revived) -> tuple[Tensor, Tensor]:
        """Q-values [N, K], -inf in empty slots, and values [N], 0."""
        mask = batch.lists.mask
        x = ((batch.lists.lines - self.mean) * self.scale).clamp(-CLIP, CLIP)
        filled = torch.relu(self.second(torch.relu(self.first(x))))
        encoded = torch.zeros(*mask.shape, filled.shape[1], device=filled.device, dtype=filled.dtype)
        encoded = encoded.masked_scatter(mask[:, :, None], filled)
        state = encoded.sum(1) / mask.sum(1, keepdim=True)
        here, mine = encoded[batch.which], state[batch.which][:, None, :]
        seen = [here, mine.expand_as(here)]
        if self.ancestors:
            seen.append(self._revived(batch, encoded, state)[:, None, :].expand_as(here))
        scores = self.last(torch.relu(self.head(torch.cat(seen, 2)))).squeeze(2)
        return scores.masked_fill(~mask[batch.which], -torch.inf), torch.zeros(len(here), device=scores.device)

    def _revived(self, batch: Revived, encoded: Tensor, state: Tensor) -> Tensor:
        """[N, D] what attention takes of the steps above."""
        chosen = encoded[torch.arange(len(encoded), device=encoded.device), batch.slot]
        steps = self.step(torch.cat((state, chosen), 1))[batch.above.clamp_min(0)]
        steps = steps + self.way(batch.way) + self.place.weight[: steps.shape[1]]
        tokens = torch.cat((self.none.expand(len(steps), 1, -1), steps), 1)
        gone = torch.cat((torch.zeros_like(batch.above[:, :1], dtype=torch.bool), batch.above < 0), 1)
        weight = (self.key(tokens) @ self.query(state[batch.which])[:, :, None]).squeeze(2) / tokens.shape[2] ** 0.5
        share = weight.masked_fill(gone, -torch.inf).softmax(1)
        taken: Tensor = share[:, None, :] @ self.value(tokens)
        return taken.squeeze(1)

    def branching(self, random: np.random.Generator | None = None, chance: float = 0.0) -> RevivedPolicy:
        """See Branches; of the nodes a share of `chance` is branched at random."""
        weights = {name: array_of(tensor) for name, tensor in self.state_dict().items()}
        return RevivedPolicy(weights, self.ancestors, random, chance)
