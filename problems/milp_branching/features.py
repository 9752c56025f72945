"""Features of a node for branching policies: features of the candidates, computed from plain arrays, and a network's tokens.

`candidates.Feature` defines the numbers. Kernels compute them in SCIP's tree (corl.solvers.milp.scip.candidates).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.milp_branching.candidates import Feature
from corl.tokens import Tokens

__all__ = ["FEATURES", "TREE_FEATURES", "Columns", "Node", "candidate_features", "candidates", "columns_of"]

_OF_SCIP = {
    Feature.INFERENCES_DOWN, Feature.INFERENCES_UP, Feature.CUTOFFS_DOWN, Feature.CUTOFFS_UP, Feature.FROM_AVERAGE,
    Feature.DUAL_MEAN, Feature.RIVALS_MOST, Feature.RIVALS_MEAN, Feature.RIVALS_INVERSE, Feature.NEIGHBOURS, Feature.SLACK,
    Feature.COEFFICIENTS, Feature.RIVALS_ABOVE,
}  # fmt: skip
FEATURES = tuple(feature for feature in Feature if feature not in _OF_SCIP)
"""The columns of the array that `candidate_features` returns: the features that do not depend on SCIP's statistics and rows."""
TREE_FEATURES = ("nodes solved", "nodes waiting", "depth", "candidates", "whether there is an incumbent")
"""The features in the environment's "tree": log(1 + x) of each number x, and the last as 0 or 1."""

_TIGHT = 1e-6  # relative distance between an activity and a side up to which the row is tight
_LEAST = 1e-9  # lower limit of gains and gaps


def candidates(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return a token for each listed candidate and one for the tree.

    A token has the FEATURES of its candidate, clipped to -20..20 (0 in the tree's own token), then TREE_FEATURES. Values are
    in units of ten nodes.
    """
    mask, features, tree = observation["mask"], observation["candidates"], observation["tree"]
    rows, slots = mask.shape
    x = np.zeros((rows, slots + 1, len(FEATURES) + len(TREE_FEATURES)), np.float32)
    x[:, :slots, : len(FEATURES)] = np.clip(features, -20.0, 20.0)
    x[:, :, len(FEATURES) :] = tree[:, None, :]
    there = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    x *= there[:, :, None]
    return Tokens(x, there, None, np.full(rows, 10.0))


class Columns(NamedTuple):
    """A program by columns, from `columns_of`; n columns, m rows."""

    cost: NDArray[np.float64]
    """[n] coefficients of the minimised objective."""
    cost_norm: float
    first: NDArray[np.int64]
    """[n + 1]: column j has the entries first[j]:first[j + 1]."""
    row: NDArray[np.int32]
    row_norm: NDArray[np.float64]
    """[m] Euclidean."""
    rows_first: NDArray[np.int64]
    column: NDArray[np.int32]
    value: NDArray[np.float64]
    """`rows_first`, `column` and `value` hold the same entries by rows, as in MilpInstance."""
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]


class Node(NamedTuple):
    """The data at a node of the tree."""

    x: NDArray[np.float64]
    """[n] the LP's solution."""
    duals: NDArray[np.float64]
    """[m]"""
    objective: float
    depth: int
    root_x: NDArray[np.float64]
    incumbent: NDArray[np.float64] | None
    value: float
    """The objective value of the incumbent; inf without one."""
    gain_total: NDArray[np.float64]
    """[2, n] sums of the objective's gains per unit of change of the variable, for branching down and up."""
    gain_count: NDArray[np.int32]
    """[2, n] the number of these gains."""


def columns_of(
    cost: NDArray[np.float64],
    first: NDArray[np.int64],
    column: NDArray[np.int32],
    value: NDArray[np.float64],
    row_lower: NDArray[np.float64],
    row_upper: NDArray[np.float64],
) -> Columns:
    """Return a program of n columns and m rows by columns.

    Args:
        cost: float64 [n], the coefficients of the minimised objective.
        first: int64 [m + 1], where the entries of each row begin (CSR).
        column: int32 [nonzeros], the column of each entry.
        value: float64 [nonzeros], the coefficient of each entry.
        row_lower: float64 [m], the lower sides of the rows.
        row_upper: float64 [m], the upper sides of the rows.
    """
    n, m = len(cost), len(row_lower)
    row = np.repeat(np.arange(m, dtype=np.int32), np.diff(first))
    order = np.argsort(column, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(column, minlength=n))).astype(np.int64)
    norm = np.sqrt(np.bincount(row, value * value, m))
    length = float(np.linalg.norm(cost))
    return Columns(
        cost, length if length > 0 else 1.0, starts, row[order], np.where(norm > 0, norm, 1.0), first, column, value, row_lower,
        row_upper,
    )  # fmt: skip


def candidate_features(columns: Columns, node: Node, listed: NDArray[np.int32], count: int) -> NDArray[np.float32]:
    """Return the FEATURES of the listed candidates of a node.

    Args:
        columns: The program.
        node: The node.
        listed: int32 [K], the candidates.
        count: The number of candidates of the node, listed or not.

    Returns:
        float32 [K, F].
    """
    f = node.x[listed] - np.floor(node.x[listed])
    near = np.minimum(f, 1.0 - f)
    cost = columns.cost[listed] / columns.cost_norm
    down, up = _pseudocosts(node, listed)
    gain_down, gain_up = np.log(np.maximum(f * down, _LEAST)), np.log(np.maximum((1.0 - f) * up, _LEAST))
    gains = gain_down + gain_up
    rows, tight, dual_sum, dual_most, rivals = _in_rows(columns, node, listed)
    if np.isfinite(node.value):
        gap = float(np.clip(np.log(max(_LEAST, (node.value - node.objective) / columns.cost_norm)), -20.0, 20.0))
    else:
        gap = 20.0
    parts = {
        Feature.FRACTION: f, Feature.TO_INTEGER: near, Feature.COST: cost, Feature.COST_SIZE: np.abs(cost),
        Feature.PSEUDOCOST_DOWN: down, Feature.PSEUDOCOST_UP: up,
        Feature.GAIN_DOWN: gain_down, Feature.GAIN_UP: gain_up, Feature.GAINS: gains,
        Feature.COUNT_DOWN: np.log1p(node.gain_count[0, listed]), Feature.COUNT_UP: np.log1p(node.gain_count[1, listed]),
        Feature.FROM_ROOT: node.x[listed] - node.root_x[listed],
        Feature.FROM_INCUMBENT: 0.0 * f if node.incumbent is None else node.x[listed] - node.incumbent[listed],
        Feature.DEPTH: np.full(len(f), np.log1p(node.depth)), Feature.CANDIDATES: np.full(len(f), np.log1p(count)),
        Feature.ROWS: np.log1p(rows), Feature.TIGHT: np.log1p(tight), Feature.TIGHT_SHARE: tight / np.maximum(rows, 1),
        Feature.DUAL_SUM: dual_sum, Feature.DUAL_MOST: dual_most, Feature.DUAL_FRACTION: dual_sum * near,
        Feature.RIVALS_SUM: np.log1p(rivals), Feature.GAP: np.full(len(f), gap),
        Feature.GAINS_BELOW_BEST: gains - gains.max(initial=-np.inf),
        Feature.DUAL_SHARE: dual_sum / max(float(dual_sum.max(initial=0.0)), _LEAST),
        Feature.ROWS_SHARE: rows / max(1, rows.max(initial=0)),
        Feature.FRACTION_SHARE: near / max(float(near.max(initial=0.0)), _LEAST),
    }  # fmt: skip
    return np.stack([parts[feature] for feature in FEATURES], axis=1).astype(np.float32)


def _pseudocosts(node: Node, listed: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the pseudocosts of `listed`, down and up, each divided by their mean.

    Unobserved pseudocosts are the mean of all observed ones, or 1 if there are none.
    """
    both = []
    for total, count in zip(node.gain_total, node.gain_count):
        observed = count > 0
        overall = float((total[observed] / count[observed]).mean()) if observed.any() else 1.0
        each = np.where(observed[listed], total[listed] / np.maximum(count[listed], 1), overall)
        mean = float(each.mean()) if len(each) else 1.0
        both.append(each / mean if mean > 0 else np.ones(len(each)))
    return both[0], both[1]


def _in_rows(columns: Columns, node: Node, listed: NDArray[np.int32]) -> tuple[NDArray[np.float64], ...]:
    """Return five numbers of the candidates `listed` [K], float64 [K] each.

    Returns:
        The number of rows, the number of tight rows, the sum and the largest of the |dual| of the tight rows, and the number of
        fractional candidates in the tight rows.
    """
    m = len(columns.row_lower)
    entry_row = np.repeat(np.arange(m), np.diff(columns.rows_first))
    activity = np.bincount(entry_row, columns.value * node.x[columns.column], m)
    room = np.minimum(activity - columns.row_lower, columns.row_upper - activity)
    tight = room <= _TIGHT * np.maximum(1.0, np.abs(activity))
    strength = np.where(tight, np.abs(node.duals), 0.0) * columns.row_norm / columns.cost_norm
    fractional = np.zeros(len(node.x))
    fractional[listed] = 1.0
    rivals = np.where(tight, np.bincount(entry_row, fractional[columns.column], m), 0.0)
    found = np.zeros((5, len(listed)))
    for k, j in enumerate(listed.tolist()):
        rows = columns.row[columns.first[j] : columns.first[j + 1]]
        found[:, k] = len(rows), tight[rows].sum(), strength[rows].sum(), strength[rows].max(initial=0.0), rivals[rows].sum()
    return tuple(found)
