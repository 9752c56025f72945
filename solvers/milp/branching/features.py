"""What a policy sees of the branching candidates of a node: 40 numbers each, read from libscip by one kernel.

Pseudocosts, inferences and the candidate's rows, as in Khalil, Le Bodic, Song, Nemhauser and Dilkina (Learning to branch in mixed
integer programming, AAAI 2016), and every candidate beside the others of its node. A row is tight where its activity is at a
side; duals are multiplied by the row's norm and divided by the objective's, so that scaling either changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel
from corl.problems.milp_branching.features import FEATURES as SHARED
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.lp_reading import doubles, pointers

__all__ = ["FEATURES", "candidates", "features"]

_SHARED = dict(SHARED)
_OWN = {
    "inferences_down": "log(1 + mean number of inferences)",
    "inferences_up": "likewise",
    "cutoffs_down": "share of branchings that were cut off",
    "cutoffs_up": "likewise",
    "from_average": "LP value - mean over solutions found",
    "dual_mean": "the mean",
    "rivals_most": "log(1 + most in one)",
    "rivals_mean": "log(1 + mean)",
    "rivals_inverse": "sum of 1 / number, over tight rows",
    "neighbours": "log(1 + entries in all its rows)",
    "slack": "mean slack / norm of its rows, each at most 10",
    "coefficients": "sum of |coefficient| / norm over tight rows",
    "rivals_above": "rivals_sum - the candidates' mean",
}  # what needs SCIP's bookkeeping, or its rows
_ORDER = (
    "fraction", "to_integer", "cost", "cost_size", "pseudocost_down", "pseudocost_up", "gain_down", "gain_up", "gains",
    "count_down", "count_up", "inferences_down", "inferences_up", "cutoffs_down", "cutoffs_up", "from_root", "from_average",
    "from_incumbent", "depth", "candidates", "rows", "tight", "dual_sum", "dual_most", "dual_mean", "dual_fraction",
    "rivals_sum", "rivals_most", "rivals_mean", "rivals_inverse", "neighbours", "slack", "tight_share", "coefficients", "gap",
    "gains_behind", "dual_share", "rows_share", "rivals_above", "fraction_share",
)  # fmt: skip
FEATURES = tuple((name, _OWN.get(name) or _SHARED[name]) for name in _ORDER)
"""Name and meaning of each column of what `features` returns; problems.milp_branching.features has some for the other tree."""
_COUNT = len(FEATURES)
_TIGHT = 1e-6  # slack / norm of a tight row
_NONE = 1e20


@kernel
def candidates(model: Any) -> Any:
    """The variables that may be branched on at the present node, int64 [k] pointers: fractional, of the highest priority."""
    place, count = np.zeros(3, np.int64), np.zeros(3, np.int32)
    at, number = place.ctypes.data, count.ctypes.data
    scip.get_lp_branch_cands(model, at, at + 8, at + 16, number, number + 4, number + 8)
    return pointers(place[0], count[1]).copy()


@kernel
def _rows(model, norm, slack, dual, rivals, length):
    """Fill four arrays [m]: slack / norm, scaled |dual|, fractional columns (of tight rows), entries."""
    rows = pointers(scip.get_lp_rows(model), len(slack))
    for i in range(len(slack)):
        row = rows[i]
        activity, low, high = scip.row_activity(model, row), scip.row_lhs(row), scip.row_rhs(row)
        size, least = max(scip.row_norm(row), 1e-9), _NONE
        if low > -_NONE:
            least = min(least, activity - low)
        if high < _NONE:
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
def _history(model, variable, x, f, best, down, up, line):
    """Fill 4 to 17: pseudocosts, whose candidates' means are `down` and `up`, inferences, cutoffs, values elsewhere."""
    line[4], line[5] = scip.var_pseudocost(model, variable, -1.0) / down, scip.var_pseudocost(model, variable, 1.0) / up
    line[6], line[7] = np.log(max(f * line[4], 1e-6)), np.log(max((1.0 - f) * line[5], 1e-6))
    line[8] = line[6] + line[7]
    for way in range(2):
        line[9 + way] = np.log1p(scip.var_pseudocost_count(model, variable, way))
        line[11 + way] = np.log1p(scip.var_inferences(model, variable, way))
        line[13 + way] = scip.var_cutoffs(model, variable, way)
    line[15], line[16] = x - scip.var_root(variable), x - scip.var_average(variable)
    line[17] = x - scip.get_solution_value(model, best, variable) if best else 0.0


@kernel
def _neighbourhood(model, column, f, slack, dual, rivals, length, line):
    """Fill 20 to 33: the candidate's rows."""
    count = scip.col_n_nonz(column)
    mine, values = pointers(scip.col_rows(column), count), doubles(scip.col_values(column), count)
    tight, near, loose = 0, 0, 0.0
    line[20:34] = 0.0
    for t in range(count):
        i = scip.row_position(mine[t])
        if i < 0:
            continue
        near += length[i]
        loose += min(slack[i], 10.0)
        if slack[i] < _TIGHT:
            tight += 1
            line[22] += dual[i]
            line[23] = max(line[23], dual[i])
            line[26] += rivals[i]
            line[27] = max(line[27], rivals[i])
            line[29] += 1.0 / max(rivals[i], 1)
            line[33] += abs(values[t]) / max(scip.row_norm(mine[t]), 1e-9)
    line[20], line[21] = np.log1p(count), np.log1p(tight)
    line[24], line[25] = line[22] / max(tight, 1), line[22] * min(f, 1.0 - f)
    line[28] = np.log1p(line[26] / max(tight, 1))
    line[26], line[27], line[30] = np.log1p(line[26]), np.log1p(line[27]), np.log1p(near)
    line[31], line[32] = loose / max(count, 1), tight / max(count, 1)


@kernel
def _beside_others(out):
    """Fill 35 to 39 from the columns before."""
    best, dual, rows, mean, share = -np.inf, 1e-9, 1e-9, 0.0, 1e-9
    for line in out:
        best, dual, rows, share = max(best, line[8]), max(dual, line[22]), max(rows, line[20]), max(share, line[1])
        mean += line[26] / len(out)
    for k in range(len(out)):
        line = out[k]
        line[35], line[36], line[37] = line[8] - best, line[22] / dual, line[20] / rows
        line[38], line[39] = line[26] - mean, line[1] / share


@kernel
def features(model: Any, variables: Any) -> Any:
    """The features of these candidates of the present node, float64 [k, len(FEATURES)]; model: a SCIP*, its LP solved."""
    m, count = scip.get_n_lp_rows(model), len(variables)
    out = np.zeros((count, _COUNT))
    slack, dual, rivals, length = np.empty(m), np.empty(m), np.empty(m, np.int64), np.empty(m, np.int64)
    norm = max(scip.get_objective_norm(model), 1e-9)
    _rows(model, norm, slack, dual, rivals, length)
    down, up = 1e-9, 1e-9
    for variable in variables:
        down += scip.var_pseudocost(model, variable, -1.0) / count
        up += scip.var_pseudocost(model, variable, 1.0) / count
    best, depth, cutoff = scip.get_best_solution(model), scip.get_depth(model), scip.get_cutoff_bound(model)
    gap = 20.0
    if cutoff < _NONE:
        gap = min(20.0, max(-20.0, np.log(max((cutoff - scip.get_lp_obj(model)) / norm, 1e-9))))
    for k in range(count):
        line, column = out[k], scip.var_col(variables[k])
        x = scip.col_primal(column)
        f = x - np.floor(x)
        line[0], line[1], line[2] = f, min(f, 1.0 - f), scip.col_obj(column) / norm
        line[3] = abs(line[2])
        _history(model, variables[k], x, f, best, down, up, line)
        line[18], line[19], line[34] = np.log1p(depth), np.log1p(count), gap
        _neighbourhood(model, column, f, slack, dual, rivals, length, line)
    _beside_others(out)
    return out
