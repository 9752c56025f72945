"""Evaluation of the graph network in SCIP with NumPy and SciPy's sparse products, without torch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corl.solvers.milp.branching.policy import BranchingPolicy
from corl.solvers.milp.branching.scoring import CLIP
from corl.solvers.milp.graph.features import GraphInputs, graph_inputs
from corl.solvers.milp.scip.candidates import positions
from corl.solvers.milp.scip.rule import Observation

__all__ = ["GcnnPolicy"]

_Weights = Mapping[str, NDArray[np.float32]]


def _linear(weights: _Weights, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the output of the linear layer of this name."""
    found: NDArray[np.float32] = x @ weights[f"{name}.weight"].T
    if f"{name}.bias" in weights:
        found = found + weights[f"{name}.bias"]
    return found


def _standard(weights: _Weights, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return standardised inputs, clipped to -CLIP..CLIP."""
    found: NDArray[np.float32] = np.clip((x - weights[f"{name}.mean"]) * weights[f"{name}.scale"], -CLIP, CLIP)
    return found


def _relu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = np.maximum(x, np.float32(0.0))
    return found


class GcnnPolicy(BranchingPolicy):
    """Scores candidates by a `GcnnNetwork` at every node."""

    def __init__(self, weights: _Weights) -> None:
        self.weights = weights

    def compile(self) -> None:
        """Do nothing: only reading the LP uses kernels, which are compiled at their first call."""

    def scores(self, node: Observation) -> NDArray[np.float32]:
        scores: NDArray[np.float32] = self.score(graph_inputs(node.lp))[positions(node.candidates)]
        return scores

    def score(self, graph: GraphInputs) -> NDArray[np.float32]:
        """Return the scores of all columns of an LP, float32 [n]."""
        w = self.weights
        edges = _standard(w, "edges", graph.edge_value[:, None])
        column_vectors = _relu(self._twice("embed_columns", _standard(w, "columns", graph.columns)))
        row_vectors = _relu(self._twice("embed_rows", _standard(w, "rows", graph.rows)))
        row_vectors = self._convolve("to_rows", column_vectors, row_vectors, graph.edge_column, graph.edge_row, edges)
        column_vectors = self._convolve("to_columns", row_vectors, column_vectors, graph.edge_row, graph.edge_column, edges)
        scores: NDArray[np.float32] = self._twice("head", column_vectors)[:, 0]
        return scores

    def _twice(self, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the output of two linear layers with a ReLU between them."""
        return _linear(self.weights, f"{name}.2", _relu(_linear(self.weights, f"{name}.0", x)))

    def _convolve(
        self, name: str, source: NDArray[np.float32], target: NDArray[np.float32], start: NDArray[np.int64],
        end: NDArray[np.int64], edges: NDArray[np.float32],
    ) -> NDArray[np.float32]:  # fmt: skip
        """Return the targets' new vectors after messages along the edges start[k] -> end[k] (networks._HalfConvolution)."""
        w = self.weights
        there, here = _linear(w, f"{name}.there", source), _linear(w, f"{name}.here", target)
        messages = _relu(there[start] + here[end] + edges * w[f"{name}.edge.weight"][:, 0])
        ones = np.ones(len(end), np.float32)
        total = csr_array((ones, (end, np.arange(len(end)))), shape=(len(target), len(end))) @ messages
        total = _linear(w, f"{name}.message_out", total) * w[f"{name}.scale"]
        return _relu(self._twice(f"{name}.out", np.concatenate((total, target), 1)))
