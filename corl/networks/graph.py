"""`GatedGraphNetwork`: a score for every edge of a sparse graph.

A residual gated graph network (Bresson & Laurent, 2017) in which every layer updates the states of edges as well as of nodes, as
in section 3.2 of Joshi, Laurent & Bresson, An efficient graph convolutional network technique for the travelling salesman problem
(2019). Layer norms replace the batch norms of the papers, so that a graph's scores do not depend on other graphs of its batch.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from corl.errors import UsageError

__all__ = ["GatedGraphNetwork"]

_TINY = 1e-6  # added to the sum of a node's gates, which is 0 for a node without edges, before a division by it


class GatedGraphNetwork(nn.Module):
    """Edge scores of a directed graph. Memory and time are proportional to the number of edges.

    Renumbering the nodes does not change the scores; listing the edges in another order reorders the scores in the same way.
    """

    architecture: ClassVar[str] = "gated-graph"

    def __init__(self, problem: str, features: str, nodes: int, edges: int, width: int = 48, layers: int = 6) -> None:
        """Create a network with random weights. Raises UsageError for a number below 1.

        Args:
            problem: The name of the problem.
            features: The name of the features.
            nodes: The number of features of each node.
            edges: The number of features of each edge.
            width: The width of the hidden states.
            layers: The number of layers.
        """
        super().__init__()
        for name, number in (("nodes", nodes), ("edges", edges), ("width", width), ("layers", layers)):
            if number < 1:
                raise UsageError(f"{name} is {number}; accepted: an integer from 1")
        self.problem, self.features = problem, features
        self.config: dict[str, Any] = {
            "problem": problem, "features": features, "nodes": nodes, "edges": edges, "width": width, "layers": layers,
        }  # fmt: skip
        self.embed_nodes, self.embed_edges = nn.Linear(nodes, width), nn.Linear(edges, width)
        self.layers = nn.ModuleList(_GatedLayer(width) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(3 * width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, nodes: Tensor, links: Tensor, edges: Tensor) -> Tensor:
        """Return a logit for every edge, [E].

        Args:
            nodes: float32 [V, nodes], the features of the V nodes.
            links: int64 [2, E], the nodes from which and to which each edge leads.
            edges: float32 [E, edges], the features of the edges.
        """
        h, e = self.embed_nodes(nodes), self.embed_edges(edges)
        for layer in self.layers:
            h, e = layer(h, links, e)
        logits: Tensor = self.head(torch.cat((h[links[0]], h[links[1]], e), 1)).squeeze(1)
        return logits


class _GatedLayer(MessagePassing):  # type: ignore[misc]
    """One layer, over the edges i -> j, with states h of nodes and e of edges.

    e'_ij = A e_ij + B h_i + C h_j, and gate_ij = sigmoid(e'_ij), divided by the sum over all edges that end in j. The results are
    h_j + ReLU(norm(U h_j + sum_i gate_ij V h_i)) and e_ij + ReLU(norm(e'_ij)).
    """

    def __init__(self, width: int) -> None:
        super().__init__(aggr="sum")
        self.from_nodes = nn.Linear(width, 4 * width)  # U, V, B and C in one matrix
        self.from_edges = nn.Linear(width, width)
        self.norm_nodes, self.norm_edges = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, h: Tensor, links: Tensor, e: Tensor) -> tuple[Tensor, Tensor]:
        """Return the next node states [V, width] and edge states [E, width]; `links` is int64 [2, E]."""
        own, passed, source, target = self.from_nodes(h).chunk(4, 1)
        e_hat = self.from_edges(e) + source[links[0]] + target[links[1]]
        gates = torch.sigmoid(e_hat)
        gathered = self.propagate(links, passed=passed, gates=gates, size=(len(h), len(h)))
        weighted, total = gathered.chunk(2, 1)
        h = h + torch.relu(self.norm_nodes(own + weighted / (total + _TINY)))
        return h, e + torch.relu(self.norm_edges(e_hat))

    def message(self, passed_j: Tensor, gates: Tensor) -> Tensor:
        """Return the messages [E, 2 width] along the edges: the gated state, then the gate, so that both are summed at once."""
        return torch.cat((gates * passed_j, gates), 1)
