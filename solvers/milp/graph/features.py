"""What graph networks see of an LP, from `lp_reading.LpGraph`: the inputs of Gasse et al. (2019, appendix A).

Of theirs the rows' sides are missing: SCIP's reading has them as flags only. Objective coefficients and reduced costs are divided
by the objective's norm, duals by it and the row's norm, coefficients by the row's norm, ages by the largest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.solvers.milp.scip.lp_reading import COLUMN_FEATURES, ROW_FEATURES, LpGraph

__all__ = ["COLUMN_INPUTS", "ROW_INPUTS", "GraphInputs", "graph_inputs"]

COLUMN_INPUTS = COLUMN_FEATURES
"""All 19 of the reading; 0 for the incumbent's two while there is none."""
ROW_INPUTS = ("obj_cosine", "sol_at_lhs", "sol_at_rhs", "dual_sol", "age")
_OBJECTIVE, _REDUCED_COST, _COLUMN_AGE = (COLUMN_FEATURES.index(name) for name in ("obj_coef", "red_cost", "age"))
_KEPT = [ROW_FEATURES.index(name) for name in ROW_INPUTS]
_NORM = ROW_FEATURES.index("norm")
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
    columns, rows = np.nan_to_num(graph.columns), graph.rows[:, _KEPT]
    objective = max(float(np.linalg.norm(columns[:, _OBJECTIVE])), _TINY)
    norms = np.maximum(graph.rows[:, _NORM], _TINY)
    columns[:, [_OBJECTIVE, _REDUCED_COST]] /= objective
    columns[:, _COLUMN_AGE] /= max(float(columns[:, _COLUMN_AGE].max(initial=0.0)), 1.0)
    rows[:, 3] /= norms * objective
    rows[:, 4] /= max(float(rows[:, 4].max(initial=0.0)), 1.0)
    keep = graph.edge_column >= 0  # a column that is not in the LP has no place there
    edge_row, edge_column = graph.edge_row[keep].astype(np.int64), graph.edge_column[keep].astype(np.int64)
    values = (graph.edge_value[keep] / norms[edge_row]).astype(np.float32)
    return GraphInputs(columns.astype(np.float32), rows.astype(np.float32), edge_row, edge_column, values)
