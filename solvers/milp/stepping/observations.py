"""Observations of a node in SCIP: 40 features of each branching candidate, or the LP as a bipartite graph of columns and rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.solvers.milp.graph.features import GraphInputs, graph_inputs
from corl.solvers.milp.scip.candidates import positions
from corl.solvers.milp.scip.rule import Observation

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData

__all__ = ["FEATURES", "Bipartite", "bipartite", "hetero"]


class Bipartite(NamedTuple):
    """The LP of a node as a bipartite graph, and the columns of the candidates in it."""

    graph: GraphInputs
    candidates: NDArray[np.int64]
    """[K] the column of each candidate."""


def bipartite(node: Observation) -> Bipartite:
    """Return the inputs of Gasse et al. (2019) as arrays; graph/features.py says how they differ from the paper."""
    return Bipartite(graph_inputs(node.lp), positions(node.candidates))


def hetero(node: Observation) -> HeteroData:
    """Return the arrays of `bipartite` as HeteroData, with edges from rows to columns.

    It has "column".x [n, 19], "column".candidates [K] and "row".x [m, 5], for n columns, m rows and K candidates.
    """
    import torch
    from torch_geometric.data import HeteroData

    graph, candidates = bipartite(node)
    data = HeteroData()
    data["column"].x, data["row"].x = torch.from_numpy(graph.columns), torch.from_numpy(graph.rows)
    data["column"].candidates = torch.from_numpy(candidates)
    data["row", "column"].edge_index = torch.from_numpy(np.stack([graph.edge_row, graph.edge_column]))
    data["row", "column"].edge_attr = torch.from_numpy(graph.edge_value[:, None])
    return data


FEATURES: Mapping[str, Callable[[Observation], Any]] = {
    "candidates": lambda node: node.features,
    "bipartite": bipartite,
    "hetero": hetero,
}
"""Name -> function of a node that returns float64 [K, len(Feature)], a `Bipartite`, or a `HeteroData`."""
