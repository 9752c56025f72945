"""What graph networks see of an LP, from `lp_reading.LpGraph`: the inputs of Gasse et al. (2019, appendix A).

Of theirs the rows' sides are missing: SCIP's reading has them as flags only. Objective coefficients and reduced costs are divided
by the objective's norm, duals by it and the row's norm, coefficients by the row's norm, ages by the largest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.solvers.milp.scip.lp_reading import Column, LpGraph, Row

__all__ = ["COLUMN_INPUTS", "ROW_INPUTS", "GraphInputs", "graph_inputs"]

COLUMN_INPUTS = tuple(Column)
"""All of the reading; 0 for the incumbent's two while there is none."""
ROW_INPUTS = (Row.OBJ_COSINE, Row.SOL_AT_LHS, Row.SOL_AT_RHS, Row.DUAL_SOL, Row.AGE)
_DUAL, _AGE = ROW_INPUTS.index(Row.DUAL_SOL), ROW_INPUTS.index(Row.AGE)
_TINY = 1e-9


class GraphInputs(NamedTuple):
    """n columns, m rows, one edge a nonzero."""

    columns: NDArray[np.float32]
    """[n, len(COLUMN_INPUTS)]"""
    rows: NDArray[np.float32]
    """[m, len(ROW_INPUTS)]"""
    edge_row: NDArray[np.int64]
    """[edges]"""
    edge_column: NDArray[np.int64]
    """[edges]"""
    edge_value: NDArray[np.float32]
    """[edges], coefficient / norm of its row"""


def graph_inputs(graph: LpGraph) -> GraphInputs:
    """The inputs of the node that was read."""
    columns, rows = np.nan_to_num(graph.columns), graph.rows[:, ROW_INPUTS]
    objective = max(float(np.linalg.norm(columns[:, Column.OBJ_COEF])), _TINY)
    norms = np.maximum(graph.rows[:, Row.NORM], _TINY)
    columns[:, [Column.OBJ_COEF, Column.RED_COST]] /= objective
    columns[:, Column.AGE] /= max(float(columns[:, Column.AGE].max(initial=0.0)), 1.0)
    rows[:, _DUAL] /= norms * objective
    rows[:, _AGE] /= max(float(rows[:, _AGE].max(initial=0.0)), 1.0)
    keep = graph.edge_column >= 0  # a column that is not in the LP has no place there
    edge_row, edge_column = graph.edge_row[keep].astype(np.int64), graph.edge_column[keep].astype(np.int64)
    values = (graph.edge_value[keep] / norms[edge_row]).astype(np.float32)
    return GraphInputs(columns.astype(np.float32), rows.astype(np.float32), edge_row, edge_column, values)
