"""The branching candidates of a node and their 40 features (`Feature`), read from libscip by kernels."""

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
_TIGHT = 1e-6  # slack / norm below which a row is tight
_INFINITE = 1e20  # SCIP's infinity


@kernel
def candidates(model: Any) -> Any:
    """Return the branching candidates of the current node, int64 [k] pointers: fractional variables of the highest priority."""
    place, count = np.zeros(3, np.int64), np.zeros(3, np.int32)
    at, number = place.ctypes.data, count.ctypes.data
    scip.get_lp_branch_cands(model, at, at + 8, at + 16, number, number + 4, number + 8)
    return pointers(place[0], count[1]).copy()


@kernel
def branch_on(model: Any, variable: Any) -> Any:
    """Branch at the current node on a variable (a pointer); return SCIP's code, 1 for success."""
    return scip.branch_on(model, variable, 0, 0, 0)


@kernel
def indices(variables: Any) -> Any:
    """Return the numbers of variables (pointers) in SCIP's presolved program, int64 [k]; -1 for a variable that is not in it."""
    found = np.empty(len(variables), np.int64)
    for k in range(len(variables)):
        found[k] = scip.var_index(variables[k])
    return found


@kernel
def positions(variables: Any) -> Any:
    """Return the positions in the LP of the columns of variables (pointers), int64 [k]."""
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
        slack: float64 [m], written: slack / norm of the row.
        dual: float64 [m], written: |dual| x norm of the row / norm of the objective.
        rivals: int64 [m], written: the number of fractional columns; 0 for rows that are not tight.
        length: int64 [m], written: the number of entries.
    """
    rows = pointers(scip.get_lp_rows(model), len(slack))
    for i in range(len(slack)):
        row = rows[i]
        activity, low, high = scip.row_activity(model, row), scip.row_lhs(row), scip.row_rhs(row)
        size, least = max(scip.row_norm(row), 1e-9), _INFINITE
        if low > -_INFINITE:
            least = min(least, activity - low)
        if high < _INFINITE:
            least = min(least, high - activity)
        slack[i], dual[i], length[i] = least / size, abs(scip.row_dual(row)) * size / norm, scip.row_n_nonz(row)
        rivals[i] = 0
        if slack[i] < _TIGHT:
            columns = pointers(scip.row_cols(row), length[i])
            for t in range(length[i]):
                x = scip.col_primal(columns[t])
                if 1e-6 < x - np.floor(x) < 1.0 - 1e-6:
                    rivals[i] += 1


@kernel
def _history(model: int, variable: int, x: float, f: float, best: int, down: float, up: float, line: NDArray[np.float64]) -> None:
    """Write PSEUDOCOST_DOWN to FROM_INCUMBENT of a candidate to its line, in place.

    Args:
        model: int64, a SCIP* whose LP is solved.
        variable: int64, a pointer to the candidate.
        x: Its LP value.
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
    """Write ROWS to COEFFICIENTS of a candidate to its line, in place.

    Args:
        model: int64, a SCIP* whose LP is solved.
        column: int64, a pointer to the candidate's column.
        f: The fractional part of its LP value.
        slack: float64 [m], from `_rows`, as the next three.
        dual: float64 [m].
        rivals: int64 [m].
        length: int64 [m].
        line: float64 [F], written.
    """
    count = scip.col_n_nonz(column)
    mine, values = pointers(scip.col_rows(column), count), doubles(scip.col_values(column), count)
    tight, near, loose = 0, 0, 0.0
    line[Feature.ROWS : Feature.COEFFICIENTS + 1] = 0.0
    for t in range(count):
        i = scip.row_position(mine[t])
        if i < 0:
            continue
        near += length[i]
        loose += min(slack[i], 10.0)
        if slack[i] < _TIGHT:
            tight += 1
            line[Feature.DUAL_SUM] += dual[i]
            line[Feature.DUAL_MOST] = max(line[Feature.DUAL_MOST], dual[i])
            line[Feature.RIVALS_SUM] += rivals[i]
            line[Feature.RIVALS_MOST] = max(line[Feature.RIVALS_MOST], rivals[i])
            line[Feature.RIVALS_INVERSE] += 1.0 / max(rivals[i], 1)
            line[Feature.COEFFICIENTS] += abs(values[t]) / max(scip.row_norm(mine[t]), 1e-9)
    line[Feature.ROWS], line[Feature.TIGHT] = np.log1p(count), np.log1p(tight)
    line[Feature.DUAL_MEAN] = line[Feature.DUAL_SUM] / max(tight, 1)
    line[Feature.DUAL_FRACTION] = line[Feature.DUAL_SUM] * min(f, 1.0 - f)
    line[Feature.RIVALS_MEAN] = np.log1p(line[Feature.RIVALS_SUM] / max(tight, 1))
    line[Feature.RIVALS_SUM] = np.log1p(line[Feature.RIVALS_SUM])
    line[Feature.RIVALS_MOST] = np.log1p(line[Feature.RIVALS_MOST])
    line[Feature.NEIGHBOURS] = np.log1p(near)
    line[Feature.SLACK], line[Feature.TIGHT_SHARE] = loose / max(count, 1), tight / max(count, 1)


@kernel
def _compare(out: NDArray[np.float64]) -> None:
    """Write GAINS_BELOW_BEST to FRACTION_SHARE of all candidates, float64 [k, F], in place, from the columns before them."""
    best, dual, rows, mean, share = -np.inf, 1e-9, 1e-9, 0.0, 1e-9
    for line in out:
        best, dual = max(best, line[Feature.GAINS]), max(dual, line[Feature.DUAL_SUM])
        rows, share = max(rows, line[Feature.ROWS]), max(share, line[Feature.TO_INTEGER])
        mean += line[Feature.RIVALS_SUM] / len(out)
    for k in range(len(out)):
        line = out[k]
        line[Feature.GAINS_BELOW_BEST] = line[Feature.GAINS] - best
        line[Feature.DUAL_SHARE], line[Feature.ROWS_SHARE] = line[Feature.DUAL_SUM] / dual, line[Feature.ROWS] / rows
        line[Feature.RIVALS_ABOVE] = line[Feature.RIVALS_SUM] - mean
        line[Feature.FRACTION_SHARE] = line[Feature.TO_INTEGER] / share


@kernel
def features(model: Any, variables: Any, more: int) -> Any:
    """Return the features of candidates of the current node.

    Args:
        model: int64, a SCIP* whose LP is solved.
        variables: int64 [k], pointers to the candidates.
        more: The number of further columns.

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
