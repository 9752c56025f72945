"""`GatedGraphNetwork`: a score for every edge of a sparse graph.

Bresson & Laurent, Residual gated graph convnets (2017), with features on the edges that are updated too, as in Joshi,
Laurent & Bresson, An efficient graph convolutional network technique for the travelling salesman problem (2019), section
3.2. Layer norms replace their batch norms, so that a graph's scores do not depend on its batch.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from corl.errors import UsageError

__all__ = ["GatedGraphNetwork"]

_TINY = 1e-6  # added to the sum of a node's gates: their quotient is defined without edges


class GatedGraphNetwork(nn.Module):
    """Edge scores of a directed graph: memory and time grow with its edges.

    Scores do not depend on the numbering of the nodes, and follow the edges when these are listed in another order.
    """

    architecture: ClassVar[str] = "gated-graph"

    def __init__(self, problem: str, features: str, nodes: int, edges: int, width: int = 48, layers: int = 6) -> None:
        """Create a network with random weights for `nodes` features of each node and `edges` features of each edge.

        `problem` and `features` are their names. Raises UsageError for a number below 1.
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
            nodes: Node features [V, nodes].
            links: int64 [2, E] (from, to).
            edges: Edge features [E, edges].
        """
        h, e = self.embed_nodes(nodes), self.embed_edges(edges)
        for layer in self.layers:
            h, e = layer(h, links, e)
        logits: Tensor = self.head(torch.cat((h[links[0]], h[links[1]], e), 1)).squeeze(1)
        return logits


class _GatedLayer(MessagePassing):  # type: ignore[misc]
    """h_j + ReLU(norm(U h_j + sum_i gate_ij V h_i)), e_ij + ReLU(norm(A e_ij + B h_i + C h_j)), over the edges i -> j.

    The gates sigmoid(e_ij) of the edges that end in a node are divided by their sum.
    """

    def __init__(self, width: int) -> None:
        super().__init__(aggr="sum")
        self.from_nodes = nn.Linear(width, 4 * width)  # U, V, B and C in one product
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
        """Return the message along an edge: its gated state followed by its gate, so that one sum serves both."""
        return torch.cat((gates * passed_j, gates), 1)
