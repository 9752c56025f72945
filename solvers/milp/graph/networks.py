"""The graph network in torch and torch-geometric, for training; inference.py evaluates it without these packages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from corl.solvers.milp.branching.lists import Lists, lists, spread
from corl.solvers.milp.branching.scoring import CLIP
from corl.solvers.milp.graph.features import COLUMN_INPUTS, ROW_INPUTS, GraphInputs, graph_inputs
from corl.solvers.milp.graph.inference import GcnnPolicy
from corl.solvers.milp.scip.candidates import positions
from corl.solvers.milp.scip.rule import Observation

__all__ = ["GcnnNetwork", "GraphBatch", "GraphTensors", "Standard"]

GraphTensors = Sequence[Tensor]
"""The five arrays of `GraphInputs`, in this order, of one graph or of several graphs combined into one."""
_Arrays: TypeAlias = Mapping[str, NDArray[Any]]


class GraphBatch(NamedTuple):
    """N nodes with S candidates in total."""

    graph: GraphTensors
    """The LPs of all nodes, combined into one graph."""
    columns: Tensor
    """int64 [S] the candidates' columns in `graph`."""
    lists: Lists
    """The candidate lists; `lines` has the candidates' columns in the LP of their own node."""


class Standard(nn.Module):
    """Standardisation of inputs: (x - mean) * scale, clipped to -CLIP..CLIP, with the mean and 1 / deviation in training."""

    mean: Tensor
    scale: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))

    def take(self, inputs: Tensor) -> None:
        """Set the means and scales from inputs [N, size]."""
        self.mean.copy_(inputs.mean(0))
        self.scale.copy_(1.0 / inputs.std(0, correction=0).clamp(min=1e-3))

    def forward(self, inputs: Tensor) -> Tensor:
        return ((inputs - self.mean) * self.scale).clamp(-CLIP, CLIP)


class GcnnNetwork(nn.Module):
    """The graph network of Gasse et al.: a half-convolution from the columns of the LP to its rows, and another one back.

    Gasse, Chételat, Ferroni, Charlin and Lodi, Exact combinatorial optimization with graph convolutional neural networks
    (NeurIPS 2019), section 4.2.
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

    def context(self, node: Observation) -> _Arrays:
        """Return no arrays. See scip.recorder.NodeObserver."""
        return {}

    def observe(self, node: Observation, slots: NDArray[np.int64]) -> _Arrays:
        """See scip.recorder.NodeObserver.

        Returns:
            columns, rows, edge_row, edge_column, edge_value: As in `GraphInputs`.
            sizes: int64 [3], the numbers of columns, rows and edges.
            places: int64 [k], the columns of the candidates.
        """
        graph = graph_inputs(node.lp)
        sizes = np.array([len(graph.columns), len(graph.rows), len(graph.edge_row)])
        return {**graph._asdict(), "sizes": sizes, "places": positions(node.candidates[slots])}

    def collate(self, contexts: Sequence[_Arrays], observed: Sequence[_Arrays], which: NDArray[np.int64]) -> GraphBatch:
        """See the method of the same name in corl.networks.policy."""
        device = self.edges.mean.device
        graphs = [_graph(part, row) for part in observed for row in range(len(part["mask"]))]
        graph, starts = _combined(graphs, device)
        places = lists(observed, "places", device)
        first = torch.tensor(starts, device=device).repeat_interleave(places.mask.sum(1))
        return GraphBatch(graph, places.lines + first, places)

    def standardise(self, batch: GraphBatch) -> None:
        """Set the means and scales of the inputs from training nodes."""
        self.columns.take(batch.graph[0])
        self.rows.take(batch.graph[1])
        self.edges.take(batch.graph[4][:, None])

    def forward(self, batch: GraphBatch) -> tuple[Tensor, Tensor]:
        """Return logits [N, K], -inf in empty slots, and values [N], all 0."""
        return spread(self.score(batch.graph)[batch.columns], batch.lists.mask)

    def branching(self) -> GcnnPolicy:
        """See branching.policy.Branches."""
        return GcnnPolicy(_weights(self))

    def score(self, graph: GraphTensors) -> Tensor:
        """Return the scores of all columns of a graph, [n]."""
        columns, rows, edge_row, edge_column, value = graph
        edges = self.edges(value[:, None])
        column_vectors = torch.relu(self.embed_columns(self.columns(columns)))
        row_vectors = torch.relu(self.embed_rows(self.rows(rows)))
        row_vectors = self.to_rows(column_vectors, row_vectors, torch.stack((edge_column, edge_row)), edges)
        column_vectors = self.to_columns(row_vectors, column_vectors, torch.stack((edge_row, edge_column)), edges)
        scores: Tensor = self.head(column_vectors)
        return scores.squeeze(-1)


class _HalfConvolution(MessagePassing):  # type: ignore[misc]
    """x_i <- f(x_i, sum over neighbours j of g(x_i, x_j, e_ij)), where f and g are perceptrons with two and one hidden layers.

    The sum is divided by its standard deviation in the first training batch; this replaces the paper's prenorm layers.
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


def _weights(network: nn.Module) -> dict[str, NDArray[np.float32]]:
    """Return a copy of the current weights by name."""
    return {name: value.detach().cpu().numpy().copy() for name, value in network.state_dict().items()}


def _graph(arrays: _Arrays, row: int) -> GraphInputs:
    """Return the graph of a node (row), without the padding to the sizes of other nodes."""
    columns, rows, edges = arrays["sizes"][row].tolist()
    sizes = (columns, rows, edges, edges, edges)
    return GraphInputs(*(arrays[name][row, :size] for name, size in zip(GraphInputs._fields, sizes)))


def _combined(graphs: Sequence[GraphInputs], device: torch.device) -> tuple[list[Tensor], list[int]]:
    """Return all graphs combined into one, and for each graph the index of its first column there."""
    columns = np.cumsum([0, *(len(graph.columns) for graph in graphs)]).tolist()
    rows = np.cumsum([0, *(len(graph.rows) for graph in graphs)]).tolist()
    parts = [g._replace(edge_row=g.edge_row + rows[i], edge_column=g.edge_column + columns[i]) for i, g in enumerate(graphs)]
    return [torch.from_numpy(np.concatenate(part)).to(device) for part in zip(*parts)], columns[:-1]
