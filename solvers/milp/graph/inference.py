"""Graph policies in SCIP: networks evaluated with sparse products in NumPy and SciPy, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corl.jit import kernel
from corl.solvers.milp.branching.features import FEATURES, candidates, features
from corl.solvers.milp.branching.scoring import CLIP, Scorer, scores
from corl.solvers.milp.graph.features import GraphInputs, graph_inputs
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.lp_reading import LpReader, pointers
from corl.solvers.milp.scip.model import Callbacks
from corl.solvers.milp.scip.rule import Rule, branched, compile_kernel

__all__ = ["GcnnPolicy", "GraphRule", "RootPolicy", "branch_on", "indices", "policy_of", "positions"]

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


class RootPolicy:
    """`RootGnnNetwork`: `table` at the root, then `scorer`, for kernels, on features with a line of the table each."""

    def __init__(self, weights: _Weights) -> None:
        self.weights = weights
        size, w = len(weights["embed.bias"]), weights
        parts = (
            np.concatenate((w["features.mean"], np.zeros(size))), np.concatenate((w["features.scale"], np.ones(size))),
            w["first.weight"].T, w["first.bias"], w["second.weight"].T, w["second.bias"], w["last.weight"][0],
        )  # fmt: skip
        self.scorer = Scorer(*(np.array(part, np.float32, order="C") for part in parts))
        self.size = size

    def compile(self) -> None:
        """What its rule calls at every node."""
        compile_kernel(_branch_with, self.scorer, np.zeros((1, self.size), np.float32))

    def embedding(self, seen: GraphInputs) -> NDArray[np.float32]:
        """[n, size] of the LP's columns."""
        w, shape = self.weights, (len(seen.rows), len(seen.columns))
        matrix = csr_array((seen.edge_value, (seen.edge_row, seen.edge_column)), shape=shape)
        columns, rows = _standard(w, "columns", seen.columns), _standard(w, "rows", seen.rows)
        hidden = _relu(_linear(w, "to_rows.lin_rel", matrix @ columns) + _linear(w, "to_rows.lin_root", rows))
        found = _relu(_linear(w, "to_columns.lin_rel", matrix.T @ hidden) + _linear(w, "to_columns.lin_root", columns))
        embedded: NDArray[np.float32] = np.tanh(_linear(w, "embed", found))
        return embedded


class GcnnPolicy:
    """`GcnnNetwork`: `scores` of all columns of a node's LP."""

    def __init__(self, weights: _Weights) -> None:
        self.weights = weights

    def compile(self) -> None:
        """Nothing but the reading is compiled, and that at its first use."""

    def scores(self, seen: GraphInputs) -> NDArray[np.float32]:
        """[n]"""
        w = self.weights
        edges = _standard(w, "edges", seen.edge_value[:, None])
        one = _relu(self._twice("embed_columns", _standard(w, "columns", seen.columns)))
        two = _relu(self._twice("embed_rows", _standard(w, "rows", seen.rows)))
        two = self._convolve("to_rows", one, two, seen.edge_column, seen.edge_row, edges)
        one = self._convolve("to_columns", two, one, seen.edge_row, seen.edge_column, edges)
        found: NDArray[np.float32] = self._twice("head", one)[:, 0]
        return found

    def _twice(self, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Linear, ReLU, linear."""
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


def policy_of(network: Any) -> RootPolicy | GcnnPolicy:
    """The policy with the weights, as they are now, of a RootGnnNetwork or a GcnnNetwork."""
    weights = {name: value.detach().cpu().numpy().copy() for name, value in network.state_dict().items()}
    return RootPolicy(weights) if network.architecture == "milp-root-gnn" else GcnnPolicy(weights)


@kernel
def indices(model: Any, count: Any) -> Any:
    """Indices int64 [count] among SCIP's variables of the columns of its LP."""
    columns, found = pointers(scip.get_lp_cols(model), count), np.empty(count, np.int64)
    for j in range(count):
        found[j] = scip.var_index(scip.col_var(columns[j]))
    return found


@kernel
def positions(variables: Any) -> Any:
    """Where in the LP the columns of these variables stand, int64 [k]."""
    found = np.empty(len(variables), np.int64)
    for k in range(len(variables)):
        found[k] = scip.col_position(scip.var_col(variables[k]))
    return found


@kernel
def _branch_with(model, scorer, table):
    """As scoring.branch, with each variable's line of `table` [variables, size] after its features."""
    variables = candidates(model)
    if len(variables) == 0:
        return 0
    seen = np.zeros((len(variables), len(FEATURES) + table.shape[1]))
    seen[:, : len(FEATURES)] = features(model, variables)
    for k in range(len(variables)):
        index = scip.var_index(variables[k])
        if 0 <= index < len(table):
            seen[k, len(FEATURES) :] = table[index]
    return scip.branch_on(model, variables[np.argmax(scores(scorer, seen))], 0, 0, 0)


class GraphRule(Rule):
    """Branches on the candidate with the highest score of a graph policy."""

    def __init__(self, model: Any, callbacks: Callbacks, policy: RootPolicy | GcnnPolicy) -> None:
        super().__init__(model, callbacks)
        self.policy, self.reader = policy, LpReader(model)
        self.table: NDArray[np.float32] | None = None

    def branchexit(self) -> None:
        self.reader.model = None  # or the Model and this rule hold each other

    def decide(self) -> int:
        """See Rule."""
        return branched(self._by_table(self.policy) if isinstance(self.policy, RootPolicy) else self._by_graph(self.policy))

    def _by_table(self, policy: RootPolicy) -> int:
        if self.table is None or self.model.getDepth() == 0:  # again after a restart, which numbers variables anew
            seen = graph_inputs(self.reader.read())
            where = indices(self.pointer, len(seen.columns))
            self.table = np.zeros((int(where.max(initial=-1)) + 1, policy.size), np.float32)
            known = where >= 0
            self.table[where[known]] = policy.embedding(seen)[known]
        return int(_branch_with(self.pointer, policy.scorer, self.table))

    def _by_graph(self, policy: GcnnPolicy) -> int:
        variables = candidates(self.pointer)
        if len(variables) == 0:
            return 0
        found = policy.scores(graph_inputs(self.reader.read()))[positions(variables)]
        return int(branch_on(self.pointer, variables[int(np.argmax(found))]))


@kernel
def branch_on(model: Any, variable: Any) -> Any:
    """Branch at the present node on a variable (pointer); SCIP's code, 1: done."""
    return scip.branch_on(model, variable, 0, 0, 0)
