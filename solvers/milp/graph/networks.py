"""The graph networks in torch and torch-geometric, for training; inference.py evaluates their weights without either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import GraphConv, MessagePassing

from corl.solvers.milp.branching.features import FEATURES
from corl.solvers.milp.branching.scoring import CLIP
from corl.solvers.milp.graph.features import COLUMN_INPUTS, ROW_INPUTS

__all__ = ["GcnnNetwork", "GraphTensors", "RootGnnNetwork", "Standard"]

GraphTensors = Sequence[Tensor]
"""columns, rows, edge_row, edge_column, edge_value as in `GraphInputs`; several graphs may stand in one, side by side."""


class Standard(nn.Module):
    """(x - mean) * scale of training inputs, within -CLIP..CLIP."""

    mean: Tensor
    scale: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))

    def take(self, inputs: Tensor) -> None:
        """From inputs [N, size]."""
        self.mean.copy_(inputs.mean(0))
        self.scale.copy_(1.0 / inputs.std(0, correction=0).clamp(min=1e-3))

    def forward(self, inputs: Tensor) -> Tensor:
        return ((inputs - self.mean) * self.scale).clamp(-CLIP, CLIP)


class RootGnnNetwork(nn.Module):
    """A graph network at the root, whose embedding of each column joins the 40 features that a perceptron sees at every node.

    Gupta, Gasse, Khalil, Mudigonda, Lodi and Bengio, Hybrid models for learning to branch (NeurIPS 2020); here two graph
    convolutions, columns to rows and back, that are sparse products.
    """

    architecture: ClassVar[str] = "milp-root-gnn"

    def __init__(
        self, problem: str = "milp", family: str = "", lower: Sequence[float] = (), upper: Sequence[float] = (),
        width: int = 16, size: int = 8, hidden: tuple[int, int] = (32, 16),
    ) -> None:  # fmt: skip
        """width: of the hidden vectors of columns and rows; size: of an embedding; the rest as in BranchingNetwork."""
        super().__init__()
        self.problem = problem
        self.config: dict[str, Any] = {
            "problem": problem, "family": family, "lower": list(lower), "upper": list(upper), "width": width, "size": size,
            "hidden": list(hidden),
        }  # fmt: skip
        self.columns, self.rows = Standard(len(COLUMN_INPUTS)), Standard(len(ROW_INPUTS))
        self.to_rows = GraphConv((len(COLUMN_INPUTS), len(ROW_INPUTS)), width)
        self.to_columns = GraphConv((width, len(COLUMN_INPUTS)), width)
        self.embed, self.features = nn.Linear(width, size), Standard(len(FEATURES))
        self.first, self.second = nn.Linear(len(FEATURES) + size, hidden[0]), nn.Linear(hidden[0], hidden[1])
        self.last = nn.Linear(hidden[1], 1, bias=False)

    def embedding(self, graph: GraphTensors) -> Tensor:
        """[n, size] of the columns, within -1..1."""
        columns, rows, edge_row, edge_column, value = graph
        columns, rows = self.columns(columns), self.rows(rows)
        hidden = torch.relu(self.to_rows((columns, rows), torch.stack((edge_column, edge_row)), value))
        seen = torch.relu(self.to_columns((hidden, columns), torch.stack((edge_row, edge_column)), value))
        return torch.tanh(self.embed(seen))

    def forward(self, features: Tensor, embedding: Tensor) -> Tensor:
        """Scores [k] of candidates with features [k, F] and embeddings [k, size]."""
        x = torch.cat((self.features(features), embedding), 1)
        scores: Tensor = self.last(torch.relu(self.second(torch.relu(self.first(x)))))
        return scores.squeeze(-1)


class GcnnNetwork(nn.Module):
    """Gasse, Chételat, Ferroni, Charlin and Lodi, Exact combinatorial optimization with graph convolutional neural networks
    (NeurIPS 2019), section 4.2: the LP of every node, half a convolution to the rows and half a one back.
    """

    architecture: ClassVar[str] = "milp-gcnn"

    def __init__(
        self, problem: str = "milp", family: str = "", lower: Sequence[float] = (), upper: Sequence[float] = (), width: int = 64
    ) -> None:
        super().__init__()
        self.problem = problem
        self.config: dict[str, Any] = {
            "problem": problem, "family": family, "lower": list(lower), "upper": list(upper), "width": width,
        }  # fmt: skip
        self.columns, self.rows, self.edges = Standard(len(COLUMN_INPUTS)), Standard(len(ROW_INPUTS)), Standard(1)
        self.embed_columns = nn.Sequential(nn.Linear(len(COLUMN_INPUTS), width), nn.ReLU(), nn.Linear(width, width))
        self.embed_rows = nn.Sequential(nn.Linear(len(ROW_INPUTS), width), nn.ReLU(), nn.Linear(width, width))
        self.to_rows, self.to_columns = _HalfConvolution(width), _HalfConvolution(width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1, bias=False))

    def forward(self, graph: GraphTensors) -> Tensor:
        """A score for every column [n]."""
        columns, rows, edge_row, edge_column, value = graph
        edges = self.edges(value[:, None])
        one = torch.relu(self.embed_columns(self.columns(columns)))
        two = torch.relu(self.embed_rows(self.rows(rows)))
        two = self.to_rows(one, two, torch.stack((edge_column, edge_row)), edges)
        one = self.to_columns(two, one, torch.stack((edge_row, edge_column)), edges)
        scores: Tensor = self.head(one)
        return scores.squeeze(-1)


class _HalfConvolution(MessagePassing):  # type: ignore[misc]
    """x_i <- f(x_i, sum of g(x_i, x_j, e_ij) over neighbours), whose sum is divided by its scale in the first training batch.

    g is one hidden layer, f two; the paper's prenorm layers are this one division.
    """

    scale: Tensor

    def __init__(self, width: int) -> None:
        super().__init__(aggr="add")
        self.here, self.there, self.edge = nn.Linear(width, width), nn.Linear(width, width, False), nn.Linear(1, width, False)
        self.message_out = nn.Linear(width, width, bias=False)
        self.out = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width))
        self.register_buffer("scale", torch.zeros(1))

    def forward(self, from_x: Tensor, to_x: Tensor, links: Tensor, edges: Tensor) -> Tensor:
        total = self.message_out(self.propagate(links, x=(self.there(from_x), self.here(to_x)), e=self.edge(edges)))
        if float(self.scale) == 0.0:
            self.scale.fill_(1.0 / max(float(total.detach().std()), 1e-3))
        return torch.relu(self.out(torch.cat((total * self.scale, to_x), 1)))

    def message(self, x_j: Tensor, x_i: Tensor, e: Tensor) -> Tensor:
        return torch.relu(x_j + x_i + e)
