"""What the gains of both children of a candidate are predicted from: a line of numbers for each direction.

Most are the candidate's features (Feature) that say nothing of what SCIP has observed, so that they mean the same
in the first node of a tree and in the thousandth. The rest looks at one direction: a step of the variable by 1 changes the
objective by its cost, and through each tight row by that row's dual; what adds to the objective hurts. At an LP optimum, hurts
and helps of a fractional variable are equal in sum, so that the cost tells how they are shared.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from corl.jit import kernel
from corl.problems.milp_branching.candidates import Feature
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.lp_reading import doubles, pointers

__all__ = ["PLAIN", "WIDTH", "Input", "inputs"]


class Input(IntEnum):
    """A number of a line, and its column; checkpoints depend on the order. After these come the candidate's features PLAIN."""

    DISTANCE = 0  # log of how far the variable moves: f down, 1 - f up
    BACK = 1  # log of how far it moves in the other direction
    COST = 2  # signed cost of a step / the objective's norm
    COST_LOG = 3  # log of its absolute value
    HURT = 4  # log of what rows and cost add to a step / the objective's norm
    HURT_MOST = 5  # likewise, the row that adds most
    HURT_SHARE = 6  # HURT - log of the candidates' mean
    HURTING = 7  # log(1 + rows that add)
    HELPING = 8  # log(1 + rows that take away)
    GENERAL = 9  # 1 where the variable's limits are more than 1 apart
    FROM_ROOT = 10  # how much nearer the direction leads to the LP value at the root


PLAIN = np.array([
    Feature.TO_INTEGER, Feature.COST_SIZE, Feature.DEPTH, Feature.CANDIDATES, Feature.ROWS, Feature.TIGHT, Feature.RIVALS_SUM,
    Feature.RIVALS_MOST, Feature.RIVALS_MEAN, Feature.RIVALS_INVERSE, Feature.NEIGHBOURS, Feature.SLACK, Feature.TIGHT_SHARE,
    Feature.COEFFICIENTS, Feature.DUAL_SHARE, Feature.ROWS_SHARE, Feature.RIVALS_ABOVE, Feature.FRACTION_SHARE,
])  # fmt: skip
"""No pseudocosts, and nothing else that SCIP has observed."""
_OWN = len(Input)
WIDTH = _OWN + len(PLAIN)
_LEAST = 1e-6


@kernel
def _rows(column, norm, way, line):
    """Fill HURT_MOST, HURTING and HELPING; returns the sum of what tight rows add to a step in the direction `way` (-1 or 1)."""
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
    line[Input.HURT_MOST], line[Input.HURTING], line[Input.HELPING] = np.log(most + _LEAST), np.log1p(hurting), np.log1p(helping)
    return total


@kernel
def inputs(model: Any, variables: Any, seen: Any) -> Any:
    """Lines 2 k (down) and 2 k + 1 (up) of candidate k, float32 [2 len(variables), WIDTH].

    seen: the candidates' features; model: a SCIP*, its LP solved.
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
            line[Input.DISTANCE], line[Input.BACK] = np.log(1.0 - f if side else f), np.log(f if side else 1.0 - f)
            line[Input.COST], line[Input.COST_LOG] = cost * way, np.log(abs(cost) + _LEAST)
            line[Input.HURT] = np.log(hurt + _LEAST)
            line[Input.GENERAL] = scip.var_high(variable) - scip.var_low(variable) > 1.5
            line[Input.FROM_ROOT] = -way * (x - scip.var_root(variable))
            for i in range(len(PLAIN)):
                line[_OWN + i] = seen[k, PLAIN[i]]
            mean += hurt / len(out)
    for line in out:
        line[Input.HURT_SHARE] = line[Input.HURT] - np.log(mean)
    return out
