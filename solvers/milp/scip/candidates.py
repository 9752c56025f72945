"""The branching candidates of a node and their 40 features (`Feature`), read from SCIP's library by kernels.

Candidates are the variables with a fractional LP value among which SCIP branches. A row is tight if its slack is 0. The rivals
in a tight row are the fractional columns there, the candidate itself included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.milp_branching.candidates import Feature
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.lp_reading import doubles, pointers

__all__ = ["branch_on", "candidates", "features", "indices", "positions"]

_COUNT = len(Feature)
_TIGHT = 1e-6  # a row is tight if its slack divided by its norm is below this
_INFINITE = 1e20  # SCIP's infinity


@kernel
def candidates(model: Any) -> Any:
    """Return pointers to the branching candidates of the current node, int64 [k]: fractional variables of highest priority."""
    arrays, counts = np.zeros(3, np.int64), np.zeros(3, np.int32)
    array, count = arrays.ctypes.data, counts.ctypes.data
    scip.get_lp_branch_cands(model, array, array + 8, array + 16, count, count + 4, count + 8)
    return pointers(arrays[0], counts[1]).copy()


@kernel
def branch_on(model: Any, variable: Any) -> Any:
    """Branch at the current node on a variable (a pointer); return SCIP's code, 1 for success."""
    return scip.branch_on(model, variable, 0, 0, 0)


@kernel
def indices(variables: Any) -> Any:
    """Return the indices of variables (pointers) in SCIP's presolved program, int64 [k]; -1 for a variable that is not there."""
    found = np.empty(len(variables), np.int64)
    for k in range(len(variables)):
        found[k] = scip.var_index(variables[k])
    return found


@kernel
def positions(variables: Any) -> Any:
    """Return the positions in the LP of the columns of variables (pointers to them), int64 [k]."""
    found = np.empty(len(variables), np.int64)
    for k in range(len(variables)):
        found[k] = scip.col_position(scip.var_col(variables[k]))
    return found


@kernel
def _rows(
    model: int,
    norm: float,
    slack: NDArray[np.float64],
    dual: NDArray[np.float64],
    rivals: NDArray[np.int64],
    length: NDArray[np.int64],
) -> None:
    """Write the data of the LP's rows to arrays [m], in place.

    Args:
        model: int64, a SCIP* whose LP is solved.
        norm: The norm of the objective.
        slack: float64 [m], written: the slack divided by the norm of the row.
        dual: float64 [m], written: |dual| * norm of the row / norm of the objective.
        rivals: int64 [m], written: the number of fractional columns in the row; 0 if the row is not tight.
        length: int64 [m], written: the number of coefficients.
    """
    rows = pointers(scip.get_lp_rows(model), len(slack))
    for i in range(len(slack)):
        row = rows[i]
        activity, low, high = scip.row_activity(model, row), scip.row_lhs(row), scip.row_rhs(row)
        row_norm, min_slack = max(scip.row_norm(row), 1e-9), _INFINITE
        if low > -_INFINITE:
            min_slack = min(min_slack, activity - low)
        if high < _INFINITE:
            min_slack = min(min_slack, high - activity)
        slack[i], dual[i], length[i] = min_slack / row_norm, abs(scip.row_dual(row)) * row_norm / norm, scip.row_n_nonz(row)
        rivals[i] = 0
        if slack[i] < _TIGHT:
            columns = pointers(scip.row_cols(row), length[i])
            for t in range(length[i]):
                x = scip.col_primal(columns[t])
                if 1e-6 < x - np.floor(x) < 1.0 - 1e-6:
                    rivals[i] += 1


@kernel
def _history(model: int, variable: int, x: float, f: float, best: int, down: float, up: float, line: NDArray[np.float64]) -> None:
    """Write the features PSEUDOCOST_DOWN to FROM_INCUMBENT of a candidate to its line, in place.

    Args:
        model: int64, a SCIP* whose LP is solved.
        variable: int64, a pointer to the candidate.
        x: The candidate's LP value.
        f: The fractional part of x.
        best: int64, a pointer to the incumbent, or 0.
        down: The mean pseudocost of the candidates for branching down.
        up: The mean pseudocost of the candidates for branching up.
        line: float64 [F], written.
    """
    line[Feature.PSEUDOCOST_DOWN] = scip.var_pseudocost(model, variable, -1.0) / down
    line[Feature.PSEUDOCOST_UP] = scip.var_pseudocost(model, variable, 1.0) / up
    line[Feature.GAIN_DOWN] = np.log(max(f * line[Feature.PSEUDOCOST_DOWN], 1e-6))
    line[Feature.GAIN_UP] = np.log(max((1.0 - f) * line[Feature.PSEUDOCOST_UP], 1e-6))
    line[Feature.GAINS] = line[Feature.GAIN_DOWN] + line[Feature.GAIN_UP]
    for up_or_down in range(2):  # in each pair of features, down comes before up
        line[Feature.COUNT_DOWN + up_or_down] = np.log1p(scip.var_pseudocost_count(model, variable, up_or_down))
        line[Feature.INFERENCES_DOWN + up_or_down] = np.log1p(scip.var_inferences(model, variable, up_or_down))
        line[Feature.CUTOFFS_DOWN + up_or_down] = scip.var_cutoffs(model, variable, up_or_down)
    line[Feature.FROM_ROOT], line[Feature.FROM_AVERAGE] = x - scip.var_root(variable), x - scip.var_average(variable)
    line[Feature.FROM_INCUMBENT] = x - scip.get_solution_value(model, best, variable) if best else 0.0


@kernel
def _neighbourhood(
    model: int,
    column: int,
    f: float,
    slack: NDArray[np.float64],
    dual: NDArray[np.float64],
    rivals: NDArray[np.int64],
    length: NDArray[np.int64],
    line: NDArray[np.float64],
) -> None:
    """Write the features ROWS to COEFFICIENTS of a candidate to its line, in place.

    Args:
        model: int64, a SCIP* whose LP is solved.
        column: int64, a pointer to the candidate's column.
        f: The fractional part of the candidate's LP value.
        slack: float64 [m], as written by `_rows`.
        dual: float64 [m], as written by `_rows`.
        rivals: int64 [m], as written by `_rows`.
        length: int64 [m], as written by `_rows`.
        line: float64 [F], written.
    """
    count = scip.col_n_nonz(column)
    rows, values = pointers(scip.col_rows(column), count), doubles(scip.col_values(column), count)
    tight, neighbours, slack_sum = 0, 0, 0.0
    line[Feature.ROWS : Feature.COEFFICIENTS + 1] = 0.0
    for t in range(count):
        i = scip.row_position(rows[t])
        if i < 0:
            continue
        neighbours += length[i]
        slack_sum += min(slack[i], 10.0)
        if slack[i] < _TIGHT:
            tight += 1
            line[Feature.DUAL_SUM] += dual[i]
            line[Feature.DUAL_MOST] = max(line[Feature.DUAL_MOST], dual[i])
            line[Feature.RIVALS_SUM] += rivals[i]
            line[Feature.RIVALS_MOST] = max(line[Feature.RIVALS_MOST], rivals[i])
            line[Feature.RIVALS_INVERSE] += 1.0 / max(rivals[i], 1)
            line[Feature.COEFFICIENTS] += abs(values[t]) / max(scip.row_norm(rows[t]), 1e-9)
    line[Feature.ROWS], line[Feature.TIGHT] = np.log1p(count), np.log1p(tight)
    line[Feature.DUAL_MEAN] = line[Feature.DUAL_SUM] / max(tight, 1)
    line[Feature.DUAL_FRACTION] = line[Feature.DUAL_SUM] * min(f, 1.0 - f)
    line[Feature.RIVALS_MEAN] = np.log1p(line[Feature.RIVALS_SUM] / max(tight, 1))
    line[Feature.RIVALS_SUM] = np.log1p(line[Feature.RIVALS_SUM])
    line[Feature.RIVALS_MOST] = np.log1p(line[Feature.RIVALS_MOST])
    line[Feature.NEIGHBOURS] = np.log1p(neighbours)
    line[Feature.SLACK], line[Feature.TIGHT_SHARE] = slack_sum / max(count, 1), tight / max(count, 1)


@kernel
def _compare(out: NDArray[np.float64]) -> None:
    """Write the features GAINS_BELOW_BEST to FRACTION_SHARE of all candidates, float64 [k, F], in place.

    They compare the other features of a candidate with those of all candidates.
    """
    best_gains, max_dual, max_rows, mean_rivals, max_fraction = -np.inf, 1e-9, 1e-9, 0.0, 1e-9
    for line in out:
        best_gains, max_dual = max(best_gains, line[Feature.GAINS]), max(max_dual, line[Feature.DUAL_SUM])
        max_rows, max_fraction = max(max_rows, line[Feature.ROWS]), max(max_fraction, line[Feature.TO_INTEGER])
        mean_rivals += line[Feature.RIVALS_SUM] / len(out)
    for k in range(len(out)):
        line = out[k]
        line[Feature.GAINS_BELOW_BEST] = line[Feature.GAINS] - best_gains
        line[Feature.DUAL_SHARE], line[Feature.ROWS_SHARE] = line[Feature.DUAL_SUM] / max_dual, line[Feature.ROWS] / max_rows
        line[Feature.RIVALS_ABOVE] = line[Feature.RIVALS_SUM] - mean_rivals
        line[Feature.FRACTION_SHARE] = line[Feature.TO_INTEGER] / max_fraction


@kernel
def features(model: Any, variables: Any, more: int) -> Any:
    """Return the features of candidates of the current node.

    Args:
        model: int64, a SCIP* whose LP is solved.
        variables: int64 [k], pointers to the candidates.
        more: The number of columns to append, for further features of the caller.

    Returns:
        float64 [k, len(Feature) + more]; the last `more` columns are 0.
    """
    m, count = scip.get_n_lp_rows(model), len(variables)
    out = np.zeros((count, _COUNT + more))
    slack, dual, rivals, length = np.empty(m), np.empty(m), np.empty(m, np.int64), np.empty(m, np.int64)
    norm = max(scip.get_objective_norm(model), 1e-9)
    _rows(model, norm, slack, dual, rivals, length)
    down, up = 1e-9, 1e-9
    for variable in variables:
        down += scip.var_pseudocost(model, variable, -1.0) / count
        up += scip.var_pseudocost(model, variable, 1.0) / count
    best, depth, cutoff = scip.get_best_solution(model), scip.get_depth(model), scip.get_cutoff_bound(model)
    gap = 20.0
    if cutoff < _INFINITE:
        gap = min(20.0, max(-20.0, np.log(max((cutoff - scip.get_lp_obj(model)) / norm, 1e-9))))
    for k in range(count):
        line, column = out[k], scip.var_col(variables[k])
        x = scip.col_primal(column)
        f = x - np.floor(x)
        line[Feature.FRACTION], line[Feature.TO_INTEGER] = f, min(f, 1.0 - f)
        line[Feature.COST] = scip.col_obj(column) / norm
        line[Feature.COST_SIZE] = abs(line[Feature.COST])
        _history(model, variables[k], x, f, best, down, up, line)
        line[Feature.DEPTH], line[Feature.CANDIDATES], line[Feature.GAP] = np.log1p(depth), np.log1p(count), gap
        _neighbourhood(model, column, f, slack, dual, rivals, length, line)
    _compare(out)
    return out
