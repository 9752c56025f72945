"""What the gains of both children of a candidate are predicted from: a line of numbers for each direction.

Most are the candidate's features (branching/features.py) that say nothing of what SCIP has observed, so that they mean the same
in the first node of a tree and in the thousandth. The rest looks at one direction: a step of the variable by 1 changes the
objective by its cost, and through each tight row by that row's dual; what adds to the objective hurts. At an LP optimum, hurts
and helps of a fractional variable are equal in sum, so that the cost tells how they are shared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.lp_reading import doubles, pointers

__all__ = ["INPUTS", "inputs"]

INPUTS = (
    ("distance", "log of how far the variable moves: f down, 1 - f up"),
    ("back", "log of how far it moves in the other direction"),
    ("cost", "signed cost of a step / the objective's norm"),
    ("cost_log", "log of its absolute value"),
    ("hurt", "log of what rows and cost add to a step / the objective's norm"),
    ("hurt_most", "likewise, the row that adds most"),
    ("hurt_share", "hurt - log of the candidates' mean"),
    ("hurting", "log(1 + rows that add)"),
    ("helping", "log(1 + rows that take away)"),
    ("general", "1 where the variable's limits are more than 1 apart"),
    ("from_root", "how much nearer the direction leads to the LP value at the root"),
    ("features", "the candidate's features of the places PLAIN"),
)
"""Name and meaning of the columns; the last entry stands for len(PLAIN) of them."""
PLAIN = np.array([1, 3, 18, 19, 20, 21, 26, 27, 28, 29, 30, 31, 32, 33, 36, 37, 38, 39])
"""Places in `branching.features.FEATURES`: fractions, cost, depth, number of candidates, rows and rivals; no pseudocosts."""
_OWN = len(INPUTS) - 1
WIDTH = _OWN + len(PLAIN)
_LEAST = 1e-6


@kernel
def _rows(column, norm, way, line):
    """Fill 5, 7 and 8, and return the sum of what tight rows add to a step in the direction `way` (-1 or 1)."""
    count = scip.col_n_nonz(column)
    mine, values = pointers(scip.col_rows(column), count), doubles(scip.col_values(column), count)
    total, most, hurting, helping = 0.0, 0.0, 0, 0
    for t in range(count):
        if scip.row_position(mine[t]) < 0:
            continue
        change = -scip.row_dual(mine[t]) * values[t] * way / norm
        if change > _LEAST:
            total, most, hurting = total + change, max(most, change), hurting + 1
        elif change < -_LEAST:
            helping += 1
    line[5], line[7], line[8] = np.log(most + _LEAST), np.log1p(hurting), np.log1p(helping)
    return total


@kernel
def inputs(model: Any, variables: Any, seen: Any, plain: Any) -> Any:
    """Lines 2 k (down) and 2 k + 1 (up) of candidate k, float32 [2 len(variables), WIDTH].

    seen: the candidates' features; plain: PLAIN; model: a SCIP*, its LP solved.
    """
    out = np.zeros((2 * len(variables), WIDTH), np.float32)
    norm, mean = max(scip.get_objective_norm(model), 1e-9), _LEAST
    for k in range(len(variables)):
        variable = variables[k]
        column = scip.var_col(variable)
        x, cost = scip.col_primal(column), scip.col_obj(column) / norm
        f = min(max(x - np.floor(x), 1e-3), 1.0 - 1e-3)
        for side in range(2):
            line, way = out[2 * k + side], 2.0 * side - 1.0
            hurt = _rows(column, norm, way, line) + max(cost * way, 0.0)
            line[0], line[1] = np.log(1.0 - f if side else f), np.log(f if side else 1.0 - f)
            line[2], line[3], line[4] = cost * way, np.log(abs(cost) + _LEAST), np.log(hurt + _LEAST)
            line[9] = scip.var_high(variable) - scip.var_low(variable) > 1.5
            line[10] = -way * (x - scip.var_root(variable))
            for i in range(len(plain)):
                line[_OWN + i] = seen[k, plain[i]]
            mean += hurt / len(out)
    for line in out:
        line[6] = line[4] - np.log(mean)
    return out
