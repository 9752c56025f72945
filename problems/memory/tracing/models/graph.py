"""MeshGraphNets, a graph network that simulates physics on a mesh: encoder, 15 rounds of messages along edges, decoder.

Pfaff et al., "Learning mesh-based simulation with graph networks", 2021. All vectors have width 128.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["MeshGraphNet"]


def _dense(before: int, width: int, after: int, norm: bool = True) -> nn.Sequential:
    """Return an MLP with two hidden layers, followed by a normalisation if `norm`."""
    layers = [nn.Linear(before, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, after)]
    return nn.Sequential(*layers, *([nn.LayerNorm(after)] if norm else []))


class _Round(nn.Module):
    """A round of messages: edges are updated from the nodes at both ends, then nodes from the sum of their incoming edges.

    Both updates have residual connections.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.edge, self.node = _dense(3 * width, width, width), _dense(2 * width, width, width)

    def forward(self, nodes: Tensor, edges: Tensor, senders: Tensor, receivers: Tensor) -> tuple[Tensor, Tensor]:
        ends = [nodes.index_select(0, senders), nodes.index_select(0, receivers)]
        new = self.edge(torch.cat([edges, *ends], 1))
        incoming = torch.zeros_like(nodes).index_add_(0, receivers, new)
        return nodes + self.node(torch.cat([nodes, incoming], 1)), edges + new


class MeshGraphNet(nn.Module):
    """Maps features of nodes and edges, and the two ends of each edge, to three outputs per node, such as accelerations."""

    def __init__(self, node_features: int = 11, edge_features: int = 3, width: int = 128, rounds: int = 15) -> None:
        super().__init__()
        self.nodes, self.edges = _dense(node_features, width, width), _dense(edge_features, width, width)
        self.rounds = nn.ModuleList(_Round(width) for _ in range(rounds))
        self.decode = _dense(width, width, 3, norm=False)

    def forward(self, nodes: Tensor, edges: Tensor, senders: Tensor, receivers: Tensor) -> Tensor:
        nodes, edges = self.nodes(nodes), self.edges(edges)
        for turn in self.rounds:
            nodes, edges = turn(nodes, edges, senders, receivers)
        made: Tensor = self.decode(nodes)
        return made
