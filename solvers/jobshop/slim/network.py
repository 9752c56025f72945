"""`SlimNetwork`: the policy in PyTorch, for training; encoder.py, decoder.py and evaluator.py evaluate it by kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GATv2Conv

from corl.environment import Environment, View
from corl.networks.compiled import Dense, array_of
from corl.networks.policy import Arrays, NetworkPolicy, Shape
from corl.solvers.jobshop.slim.evaluator import SlimEvaluator, evaluator, shop_of, state_arrays
from corl.solvers.jobshop.slim.instance import STATIC, graph
from corl.solvers.jobshop.slim.weights import (
    CONTEXT,
    DECODER_HEADS,
    DECODER_WIDTH,
    HEADS,
    HIDDEN,
    KINDS,
    LAST,
    MIXED,
    PADDED,
    WIDTH,
    Gat,
    SlimWeights,
)

if TYPE_CHECKING:
    from corl.adapter import Problem
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["SlimBatch", "SlimNetwork"]


class SlimBatch(NamedTuple):
    """A batch of R states with up to J jobs and K listed actions each, of instances that have V operations together."""

    nodes: Tensor
    """float32 [V, STATIC] static features of the operations."""
    links: Tensor
    """int64 [2, E] edges (from, to)."""
    kinds: Tensor
    """int64 [E] kinds of the edges (weights.py)."""
    context: Tensor
    """float32 [R, J, CONTEXT] context features of the jobs."""
    operation: Tensor
    """int64 [R, J] the next operation of each job, as an index into `nodes`; -1 if the job is finished."""
    slot: Tensor
    """int64 [R, K] the job of each listed action, -1 in empty slots."""


class SlimNetwork(NetworkPolicy):
    """Two GATv2 layers on the disjunctive graph; attention among the jobs' contexts; a small perceptron for each job.

    The network follows Corsini, Porrello, Calderara and Dell'Amico, Self-labeling the job shop scheduling problem (NeurIPS 2024),
    section 4, but distinguishes three kinds of edges and has narrower layers. It encodes an instance once for all states.
    """

    architecture: ClassVar[str] = "slim"

    def __init__(self, problem: str = "jobshop", environment: str = "semi-active") -> None:
        super().__init__(problem, "", environment)
        self.config = {"problem": problem, "environment": environment}
        for name, inputs in (("first", STATIC), ("second", STATIC + WIDTH)):
            layer = GATv2Conv(inputs, WIDTH // HEADS, HEADS, edge_dim=KINDS, add_self_loops=False)
            self.add_module(name, layer)
        self.embed = nn.Linear(STATIC + 2 * WIDTH, HIDDEN)
        self.attend = nn.Linear(CONTEXT, 3 * DECODER_WIDTH)
        self.mix = nn.Linear(CONTEXT + DECODER_WIDTH, MIXED)
        self.hidden, self.last = nn.Linear(MIXED, HIDDEN), nn.Linear(HIDDEN, LAST)
        self.score = nn.Linear(LAST, 1, bias=False)

    @classmethod
    def sized(cls, problem: Problem, instance: JobShopInstance, shape: Shape) -> SlimNetwork:
        """Return a new network; `shape` has no effect except for its environment, by default semi-active."""
        network = cls(problem.name, shape.environment or "semi-active")
        network.on(problem.environment([instance], 1, name=network.environment))  # raises if it does not support the instance
        return network

    def on(self, environment: Environment) -> SlimEvaluator:
        """See corl.policy.Policy. The result holds a copy of the weights, which later training does not change."""
        return evaluator(environment, self.weights())

    def context(self, environment: Environment, which: int) -> Arrays:
        """Return the graph of an instance: nodes float32 [N, STATIC], links int32 [2, E], kinds int8 [E]. See SlimBatch."""
        shop = shop_of(environment, which)
        links, kinds = graph(shop)
        return {"nodes": np.ascontiguousarray(shop.features.T), "links": links.astype(np.int32), "kinds": kinds.astype(np.int8)}

    def state_arrays(self, view: View) -> Arrays:
        """See corl.solvers.jobshop.slim.evaluator.state_arrays."""
        return state_arrays(view)

    def collate(self, contexts: Sequence[Arrays], observed: Sequence[Arrays], which: NDArray[np.int64]) -> SlimBatch:
        """Return the batch: the graphs joined to one, and the arrays padded to the largest numbers of jobs and of slots."""
        counts = [len(context["nodes"]) for context in contexts]
        first = np.cumsum([0, *counts])[:-1]
        operation = _pad_and_join([part["operation"] for part in observed])
        arrays = (
            np.concatenate([context["nodes"] for context in contexts]),
            np.concatenate([context["links"].astype(np.int64) + at for context, at in zip(contexts, first)], axis=1),
            np.concatenate([context["kinds"] for context in contexts]).astype(np.int64),
            _pad_and_join([part["context"] for part in observed], 0.0),
            np.where(operation >= 0, operation + first[which][:, None], -1),
            _pad_and_join([part["slot"] for part in observed]).astype(np.int64),
        )
        device = next(self.parameters()).device
        return SlimBatch(*(torch.from_numpy(array).to(device) for array in arrays))

    def forward(self, batch: SlimBatch) -> tuple[Tensor, Tensor]:
        """See NetworkPolicy.forward. The network estimates no values: they are 0."""
        logits = self.decode(self.encode(batch.nodes, batch.links, batch.kinds), batch.context, batch.operation)
        listed = logits.gather(1, batch.slot.clamp(min=0)).masked_fill(batch.slot < 0, float("-inf"))
        return listed, listed.new_zeros(len(listed))

    def encode(self, nodes: Tensor, links: Tensor, kinds: Tensor) -> Tensor:
        """Return the embeddings, float32 [V, HIDDEN].

        Args:
            nodes: float32 [V, STATIC], static features.
            links: int64 [2, E], edges (from, to).
            kinds: int64 [E], the kinds of the edges.
        """
        edges = functional.one_hot(kinds, KINDS).to(nodes.dtype)
        first = functional.relu(self.first(nodes, links, edges))  # type: ignore[operator]
        second = functional.relu(self.second(torch.cat((nodes, first), 1), links, edges))  # type: ignore[operator]
        embedded: Tensor = self.embed(torch.cat((nodes, first, second), 1))
        return embedded

    def decode(self, embedded: Tensor, context: Tensor, operation: Tensor) -> Tensor:
        """Return the logits of the jobs in R states, float32 [R, J], -inf for finished jobs.

        Args:
            embedded: float32 [V, HIDDEN], the embeddings that `encode` returns.
            context: float32 [R, J, CONTEXT], context features of the jobs.
            operation: int64 [R, J], the next operation of each job, -1 if the job is finished.
        """
        rows, jobs = operation.shape
        unfinished = operation >= 0
        qkv = self.attend(context).view(rows, jobs, 3, DECODER_HEADS, -1).permute(2, 0, 3, 1, 4)  # [3, R, heads, J, d]
        scores = qkv[0] @ qkv[1].transpose(2, 3)
        weight = torch.softmax(scores.masked_fill(~unfinished[:, None, None], -1e9), 3)
        attended = (weight @ qkv[2]).transpose(1, 2).reshape(rows, jobs, DECODER_WIDTH)
        mixed = functional.relu(self.mix(torch.cat((context, attended), 2)))
        hidden = functional.leaky_relu(embedded[operation.clamp(min=0)] + self.hidden(mixed), 0.1)
        logits: Tensor = self.score(functional.leaky_relu(self.last(hidden), 0.1)).squeeze(2)
        return logits.masked_fill(~unfinished, float("-inf"))

    def weights(self) -> SlimWeights:
        """Return copies of the parameters for the kernels."""
        mix = self.mix.weight
        padded = mix.new_zeros((MIXED, PADDED + DECODER_WIDTH))
        padded[:, :CONTEXT], padded[:, PADDED:] = mix[:, :CONTEXT], mix[:, CONTEXT:]
        return SlimWeights(
            first=_gat(self.first),
            second=_gat(self.second),
            embed=_dense(self.embed),
            attend=_dense(self.attend),
            mix=_dense(self.mix)._replace(weight=array_of(padded)),
            hidden=_dense(self.hidden),
            last=_dense(self.last),
            score=array_of(self.score.weight[0]),
        )


def _pad_and_join(parts: Sequence[NDArray[Any]], empty: float = -1) -> NDArray[Any]:
    """Return the rows of all parts, with the second axis padded with `empty` to the longest one."""
    longest = max(part.shape[1] for part in parts)
    paddings = [[(0, 0), (0, longest - part.shape[1]), *[(0, 0)] * (part.ndim - 2)] for part in parts]
    return np.concatenate([np.pad(part, padding, constant_values=empty) for part, padding in zip(parts, paddings)])


def _dense(layer: Any) -> Dense:
    weight = array_of(layer.weight)
    return Dense(np.pad(weight, ((0, 0), (0, -weight.shape[1] % 4))), array_of(layer.bias))


def _gat(layer: Any) -> Gat:
    kind = np.ascontiguousarray(array_of(layer.lin_edge.weight).T)
    return Gat(_dense(layer.lin_l), _dense(layer.lin_r), array_of(layer.att).ravel(), kind, array_of(layer.bias))
