"""The inputs of graph networks: those of Gasse et al. (2019, appendix A), but without the rows' sides.

They are made from `lp_reading.LpGraph`.

`LpGraph` only says whether a row has a side, not its value. Objective coefficients and reduced costs are divided by the norm of
the objective, duals by the product of the norms of the objective and the row, matrix coefficients by the norm of the row, and
ages by the largest age.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.solvers.milp.scip.lp_reading import Column, LpGraph, Row

__all__ = ["COLUMN_INPUTS", "ROW_INPUTS", "GraphInputs", "graph_inputs"]

COLUMN_INPUTS = tuple(Column)
"""The features of a column: all of `LpGraph.columns`. Without an incumbent, the two incumbent values are 0."""
ROW_INPUTS = (Row.OBJ_COSINE, Row.SOL_AT_LHS, Row.SOL_AT_RHS, Row.DUAL_SOL, Row.AGE)
_DUAL, _AGE = ROW_INPUTS.index(Row.DUAL_SOL), ROW_INPUTS.index(Row.AGE)
_TINY = 1e-9


class GraphInputs(NamedTuple):
    """A bipartite graph of n columns and m rows, with an edge for each nonzero coefficient."""

    columns: NDArray[np.float32]
    """[n, len(COLUMN_INPUTS)]"""
    rows: NDArray[np.float32]
    """[m, len(ROW_INPUTS)]"""
    edge_row: NDArray[np.int64]
    """[edges] the row of each edge."""
    edge_column: NDArray[np.int64]
    """[edges] the column of each edge."""
    edge_value: NDArray[np.float32]
    """[edges] the coefficient divided by the norm of its row."""


def graph_inputs(graph: LpGraph) -> GraphInputs:
    """Return the inputs for the LP of a node."""
    columns, rows = np.nan_to_num(graph.columns), graph.rows[:, ROW_INPUTS]
    objective = max(float(np.linalg.norm(columns[:, Column.OBJ_COEF])), _TINY)
    norms = np.maximum(graph.rows[:, Row.NORM], _TINY)
    columns[:, [Column.OBJ_COEF, Column.RED_COST]] /= objective
    columns[:, Column.AGE] /= max(float(columns[:, Column.AGE].max(initial=0.0)), 1.0)
    rows[:, _DUAL] /= norms * objective
    rows[:, _AGE] /= max(float(rows[:, _AGE].max(initial=0.0)), 1.0)
    keep = graph.edge_column >= 0  # columns that are not in the LP have position -1
    edge_row, edge_column = graph.edge_row[keep].astype(np.int64), graph.edge_column[keep].astype(np.int64)
    values = (graph.edge_value[keep] / norms[edge_row]).astype(np.float32)
    return GraphInputs(columns.astype(np.float32), rows.astype(np.float32), edge_row, edge_column, values)
