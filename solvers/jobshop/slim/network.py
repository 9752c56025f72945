"""`SlimNetwork`: the policy in torch, for training; kernels evaluate it elsewhere (encoder.py, decoder.py)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GATv2Conv

from corl.solvers.jobshop.slim.plan import STATIC
from corl.solvers.jobshop.slim.weights import CONTEXT, DECODER_HEADS, DECODER_WIDTH, HEADS, HIDDEN, KINDS, LAST, MIXED, WIDTH

__all__ = ["SlimNetwork"]


class SlimNetwork(nn.Module):
    """Two GATv2 layers on the disjunctive graph; attention among the jobs' contexts; a small perceptron for each job.

    After Corsini, Porrello, Calderara and Dell'Amico, Self-labeling the job shop scheduling problem (NeurIPS 2024), section 4,
    with edges of three kinds and narrower layers.
    """

    architecture: ClassVar[str] = "slim"

    def __init__(self, problem: str = "jobshop") -> None:
        super().__init__()
        self.problem = problem
        self.config: dict[str, Any] = {"problem": problem}
        for name, inputs in (("first", STATIC), ("second", STATIC + WIDTH)):
            layer = GATv2Conv(inputs, WIDTH // HEADS, HEADS, edge_dim=KINDS, add_self_loops=False)
            self.add_module(name, layer)
        self.embed = nn.Linear(STATIC + 2 * WIDTH, HIDDEN)
        self.attend = nn.Linear(CONTEXT, 3 * DECODER_WIDTH)
        self.mix = nn.Linear(CONTEXT + DECODER_WIDTH, MIXED)
        self.hidden, self.last = nn.Linear(MIXED, HIDDEN), nn.Linear(HIDDEN, LAST)
        self.score = nn.Linear(LAST, 1, bias=False)

    def encode(self, nodes: Tensor, links: Tensor, kinds: Tensor) -> Tensor:
        """Static features [V, STATIC], links int64 [2, E] (from, to), their kinds int64 [E] -> embeddings [V, HIDDEN]."""
        edges = functional.one_hot(kinds, KINDS).to(nodes.dtype)
        one = functional.relu(self.first(nodes, links, edges))  # type: ignore[operator]
        two = functional.relu(self.second(torch.cat((nodes, one), 1), links, edges))  # type: ignore[operator]
        embedded: Tensor = self.embed(torch.cat((nodes, one, two), 1))
        return embedded

    def decode(self, embedded: Tensor, context: Tensor, operation: Tensor) -> Tensor:
        """Logits [R, J] of the jobs in R states, -inf for those that are done.

        embedded: what `encode` gives, [V, HIDDEN]; context: [R, J, CONTEXT]; operation: int64 [R, J] the next operation of
        each job, -1 where it is done.
        """
        rows, jobs = operation.shape
        there = operation >= 0
        parts = self.attend(context).view(rows, jobs, 3, DECODER_HEADS, -1).permute(2, 0, 3, 1, 4)  # [3, R, heads, J, d]
        scores = parts[0] @ parts[1].transpose(2, 3)
        weight = torch.softmax(scores.masked_fill(~there[:, None, None], -1e9), 3)
        seen = (weight @ parts[2]).transpose(1, 2).reshape(rows, jobs, DECODER_WIDTH)
        mixed = functional.relu(self.mix(torch.cat((context, seen), 2)))
        hidden = functional.leaky_relu(embedded[operation.clamp(min=0)] + self.hidden(mixed), 0.1)
        logits: Tensor = self.score(functional.leaky_relu(self.last(hidden), 0.1)).squeeze(2)
        return logits.masked_fill(~there, float("-inf"))
