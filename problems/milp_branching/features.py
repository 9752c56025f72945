"""Features of the candidates of a node in the environment, computed with NumPy, and a network's tokens.

`candidates.Feature` defines the features. In SCIP's tree, kernels compute them (corl.solvers.milp.scip.candidates).
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
"""The columns of the array that `candidate_features` returns: the features that exist outside SCIP."""
TREE_FEATURES = ("nodes solved", "nodes waiting", "depth", "candidates", "whether there is an incumbent")
"""The features of the tree: log(1 + x) of the first four numbers x; the last one is 0 or 1."""

_TIGHT = 1e-6  # largest relative distance between the activity and a side of a tight row
_MIN_GAIN = 1e-9  # lower limit of gains and gaps, before taking logarithms


def candidates(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return a token for each listed candidate and one for the tree.

    A token has the FEATURES of its candidate, clipped to -20..20, then the TREE_FEATURES; the tree's token has zeros in place of
    the former. The unit of values is ten nodes.
    """
    mask, features, tree = observation["mask"], observation["candidates"], observation["tree"]
    rows, slots = mask.shape
    x = np.zeros((rows, slots + 1, len(FEATURES) + len(TREE_FEATURES)), np.float32)
    x[:, :slots, : len(FEATURES)] = np.clip(features, -20.0, 20.0)
    x[:, :, len(FEATURES) :] = tree[:, None, :]
    token_mask = np.concatenate([mask, np.ones((rows, 1), bool)], axis=1)
    x *= token_mask[:, :, None]
    return Tokens(x, token_mask, None, np.full(rows, 10.0))


class Columns(NamedTuple):
    """A program of n columns and m rows, whose matrix can be read by columns and by rows."""

    cost: NDArray[np.float64]
    """[n] coefficients of the minimised objective."""
    cost_norm: float
    """The Euclidean norm of `cost`, 1 if that is 0."""
    first: NDArray[np.int64]
    """[n + 1] column j has the entries first[j]:first[j + 1] of `row`."""
    row: NDArray[np.int32]
    """[nonzeros] the row of each entry, column by column."""
    row_norm: NDArray[np.float64]
    """[m] the Euclidean norm of each row, 1 if that is 0."""
    rows_first: NDArray[np.int64]
    """[m + 1] row i has the entries rows_first[i]:rows_first[i + 1] of `column` and `value`."""
    column: NDArray[np.int32]
    """[nonzeros] the column of each entry, row by row."""
    value: NDArray[np.float64]
    """[nonzeros] the coefficient of each entry, row by row."""
    row_lower: NDArray[np.float64]
    """[m] the lower sides of the rows."""
    row_upper: NDArray[np.float64]
    """[m] the upper sides of the rows."""


class Node(NamedTuple):
    """The data at a node of the tree from which features are computed."""

    x: NDArray[np.float64]
    """[n] the solution of the node's LP."""
    duals: NDArray[np.float64]
    """[m] the duals of the LP."""
    objective: float
    """The objective value of the LP, minimised."""
    depth: int
    """The depth of the node, 0 for the root."""
    root_x: NDArray[np.float64]
    """[n] the solution of the root's LP."""
    incumbent: NDArray[np.float64] | None
    """[n] the incumbent."""
    value: float
    """The objective value of the incumbent; inf without an incumbent."""
    gain_total: NDArray[np.float64]
    """[2, n] for branching down and up on each variable: the sum of the objective's gains per unit of change of the variable."""
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
    """Return a program given by rows as `Columns`.

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
    gain_down, gain_up = np.log(np.maximum(f * down, _MIN_GAIN)), np.log(np.maximum((1.0 - f) * up, _MIN_GAIN))
    gains = gain_down + gain_up
    rows, tight, dual_sum, dual_most, rivals = _in_rows(columns, node, listed)
    if np.isfinite(node.value):
        gap = float(np.clip(np.log(max(_MIN_GAIN, (node.value - node.objective) / columns.cost_norm)), -20.0, 20.0))
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
        Feature.DUAL_SHARE: dual_sum / max(float(dual_sum.max(initial=0.0)), _MIN_GAIN),
        Feature.ROWS_SHARE: rows / max(1, rows.max(initial=0)),
        Feature.FRACTION_SHARE: near / max(float(near.max(initial=0.0)), _MIN_GAIN),
    }  # fmt: skip
    return np.stack([parts[feature] for feature in FEATURES], axis=1).astype(np.float32)


def _pseudocosts(node: Node, listed: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the pseudocosts of `listed`, down and up, each divided by their mean.

    Unobserved pseudocosts are the mean of all observed ones, or 1 if there are none.
    """
    directions = []
    for total, count in zip(node.gain_total, node.gain_count):
        observed = count > 0
        overall = float((total[observed] / count[observed]).mean()) if observed.any() else 1.0
        each = np.where(observed[listed], total[listed] / np.maximum(count[listed], 1), overall)
        mean = float(each.mean()) if len(each) else 1.0
        directions.append(each / mean if mean > 0 else np.ones(len(each)))
    return directions[0], directions[1]


def _in_rows(columns: Columns, node: Node, listed: NDArray[np.int32]) -> tuple[NDArray[np.float64], ...]:
    """Return five measures of the rows of the candidates `listed` [K], float64 [K] each.

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
