"""The graph network in SCIP, evaluated with sparse products in NumPy and SciPy, without torch."""

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
    found: NDArray[np.float32] = x @ weights[f"{name}.weight"].T
    if f"{name}.bias" in weights:
        found = found + weights[f"{name}.bias"]
    return found


def _standard(weights: _Weights, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
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
        one = _relu(self._twice("embed_columns", _standard(w, "columns", graph.columns)))
        two = _relu(self._twice("embed_rows", _standard(w, "rows", graph.rows)))
        two = self._convolve("to_rows", one, two, graph.edge_column, graph.edge_row, edges)
        one = self._convolve("to_columns", two, one, graph.edge_row, graph.edge_column, edges)
        found: NDArray[np.float32] = self._twice("head", one)[:, 0]
        return found

    def _twice(self, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return linear(ReLU(linear(x)))."""
        return _linear(self.weights, f"{name}.2", _relu(_linear(self.weights, f"{name}.0", x)))

    def _convolve(
        self, name: str, source: NDArray[np.float32], target: NDArray[np.float32], start: NDArray[np.int64],
        end: NDArray[np.int64], edges: NDArray[np.float32],
    ) -> NDArray[np.float32]:  # fmt: skip
        w = self.weights
        there, here = _linear(w, f"{name}.there", source), _linear(w, f"{name}.here", target)
        messages = _relu(there[start] + here[end] + edges * w[f"{name}.edge.weight"][:, 0])
        ones = np.ones(len(end), np.float32)
        total = csr_array((ones, (end, np.arange(len(end)))), shape=(len(target), len(end))) @ messages
        total = _linear(w, f"{name}.message_out", total) * w[f"{name}.scale"]
        return _relu(self._twice(f"{name}.out", np.concatenate((total, target), 1)))
