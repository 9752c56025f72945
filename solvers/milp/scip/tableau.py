"""Features of branching candidates from the simplex tableau: how far, and at which cost, nonbasic variables must move.

A candidate is a basic variable of the LP. Its row of the tableau says how its value changes with each nonbasic column and row;
the reduced costs of these columns and the duals of these rows say what the changes cost. To move the candidate down (or up) to
the next integer, nonbasic columns and rows must move. `Tableau` has three measures of such a move for each direction:

- The penalty (Driebeck, Management Science 1966; Tomlin, Operations Research 1971) is the cost of the cheapest move in which
  every column and row stays within its limits, as in the bound flipping ratio test of the dual simplex method. The penalty is a
  lower bound on the gain of the child, a weak one if many moves are nearly free.
- The length and the cost of the shortest move in the Euclidean norm, as in steepest edge pricing of the dual simplex method.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.lp_reading import doubles, pointers

__all__ = ["Tableau", "tableau_lines"]

_SMALL = 1e-9  # smaller entries of the tableau count as 0
_INFINITE = 1e20  # SCIP's infinity
_MIN_COST, _MAX_COST = 1e-7, 1e3  # costs divided by the norm of the objective; if no move is possible, the cost is the largest


class Tableau(IntEnum):
    """The features and their columns. Checkpoints depend on the order. Costs are divided by the norm of the objective."""

    ROW = 0  # log of the squared norm of the candidate's row of the basis inverse
    LENGTH_DOWN = 1  # log of the length of the shortest move down
    COST_DOWN = 2  # log of the cost of the shortest move down
    PENALTY_DOWN = 3  # log of the cost of the cheapest move down
    LENGTH_UP = 4
    COST_UP = 5
    PENALTY_UP = 6


@kernel
def _nonbasic(
    model: int, n: int, m: int, norm: float, which: NDArray[np.int64], price: NDArray[np.float64], room: NDArray[np.float64]
) -> int:
    """Write the data of the nonbasic columns and rows that can move to the first `count` entries of arrays, in place.

    Args:
        model: int64, a SCIP* whose LP is solved.
        n: The number of columns.
        m: The number of rows.
        norm: The norm of the objective.
        which: int64 [n + m], written: the column, or n plus the row.
        price: float64 [n + m], written: the cost of a move by 1, never 0; negative for what can only move down.
        room: float64 [n + m], written: the length of the longest move.

    Returns:
        The number `count` of entries written.
    """
    columns, rows = pointers(scip.get_lp_cols(model), n), pointers(scip.get_lp_rows(model), m)
    count = 0
    for k in range(n + m):
        if k < n:
            status = scip.col_basis(columns[k])
            if status == 1:
                continue
            low, high, cost = scip.col_lb(columns[k]), scip.col_ub(columns[k]), scip.col_reduced_cost(model, columns[k])
        else:
            status = scip.row_basis(rows[k - n])
            if status == 1:
                continue
            low, high, cost = scip.row_lhs(rows[k - n]), scip.row_rhs(rows[k - n]), scip.row_dual(rows[k - n])
        if high - low > _SMALL:
            size = max(abs(cost) / norm, 1e-12)
            which[count], price[count] = k, size if status == 0 else -size
            room[count] = high - low if low > -_INFINITE and high < _INFINITE else np.inf
            count += 1
    return count


@kernel
def _row(model: int, at: int, inverse: NDArray[np.float64], entries: NDArray[np.float64]) -> bool:
    """Write a row of the tableau to arrays, in place; return whether SCIP could compute the row.

    The basic variable changes by entries @ (changes of the columns) + inverse @ (changes of the rows' activities).

    Args:
        model: int64, a SCIP* whose LP is solved.
        at: The index of the row, which is the variable's position in the basis.
        inverse: float64 [m], written: the row of the basis inverse.
        entries: float64 [n], written: the row of the tableau.
    """
    where, count = np.empty(len(inverse), np.int32), np.zeros(1, np.int32)
    inverse[:] = 0.0  # SCIP may write only the nonzeros
    if scip.get_lp_inverse_row(model, at, inverse.ctypes.data, where.ctypes.data, count.ctypes.data) != 1:
        return False
    entries[:] = 0.0
    rows = pointers(scip.get_lp_rows(model), len(inverse))
    for i in range(len(inverse)):
        if abs(inverse[i]) > _SMALL:
            size = scip.row_n_nonz(rows[i])
            columns, values = pointers(scip.row_cols(rows[i]), size), doubles(scip.row_values(rows[i]), size)
            for t in range(size):
                j = scip.col_position(columns[t])
                if j >= 0:
                    entries[j] -= inverse[i] * values[t]
    return True


@kernel
def _cheapest(ratio: NDArray[np.float64], reach: NDArray[np.float64], distance: float) -> float:
    """Return the smallest cost of moving a candidate by `distance`: at most `_MAX_COST`, which also means impossible.

    Args:
        ratio: float64 [k], the cost of each nonbasic column or row per unit of distance; overwritten.
        reach: float64 [k], the largest distance by which each can move the candidate.
        distance: The distance.
    """
    remaining, cost = distance, 0.0
    while remaining > _SMALL:
        best = np.argmin(ratio)
        if ratio[best] == np.inf:
            return _MAX_COST
        step = min(remaining, reach[best])
        cost, remaining = cost + step * ratio[best], remaining - step
        ratio[best] = np.inf
    return min(cost, _MAX_COST)


@kernel
def _directions(
    which: NDArray[np.int64],
    price: NDArray[np.float64],
    room: NDArray[np.float64],
    inverse: NDArray[np.float64],
    entries: NDArray[np.float64],
    fraction: float,
    work: NDArray[np.float64],
    line: NDArray[np.float64],
) -> None:
    """Write the measures of both directions of a candidate to its line, in place.

    Args:
        which: int64 [count], as written by `_nonbasic`.
        price: float64 [count], as written by `_nonbasic`.
        room: float64 [count], as written by `_nonbasic`.
        inverse: float64 [m], as written by `_row`.
        entries: float64 [n], as written by `_row`.
        fraction: The fractional part of the candidate's LP value.
        work: float64 [4, count], a work array.
        line: float64 [len(Tableau)], written.
    """
    n, counts, squares, products = len(entries), np.zeros(2, np.int64), np.zeros(2), np.zeros(2)
    for k in range(len(which)):
        entry = entries[which[k]] if which[k] < n else inverse[which[k] - n]
        factor = abs(entry)
        if factor > _SMALL:
            up = 1 if entry * price[k] > 0.0 else 0
            squares[up] += factor * factor
            products[up] += factor * abs(price[k])
            work[2 * up, counts[up]], work[2 * up + 1, counts[up]] = abs(price[k]) / factor, room[k] * factor
            counts[up] += 1
    for up in range(2):
        distance, first = 1.0 - fraction if up else fraction, Tableau.LENGTH_UP if up else Tableau.LENGTH_DOWN
        penalty = _MAX_COST
        if counts[up]:
            penalty = _cheapest(work[2 * up, : counts[up]], work[2 * up + 1, : counts[up]], distance)
        line[first] = np.log(max(distance / np.sqrt(squares[up] + _SMALL), _MIN_COST))
        line[first + 1] = np.log(max(distance * products[up] / (squares[up] + _SMALL), _MIN_COST))
        line[first + 2] = np.log(max(penalty, _MIN_COST))


@kernel
def tableau_lines(model: Any, variables: Any, slots: Any, out: Any) -> bool:
    """Write the features of some candidates of the current node to their lines of `out`, in place.

    Args:
        model: int64, a SCIP* whose LP is solved.
        variables: int64 [K], pointers to the candidates.
        slots: int64 [k], the indices of the candidates whose features are written.
        out: float64 [K, len(Tableau)], whose lines `slots` are written.

    Returns:
        Whether SCIP could compute the tableau; False if the LP has no basis.
    """
    n, m = scip.get_n_lp_cols(model), scip.get_n_lp_rows(model)
    basis, position_of = np.empty(m, np.int32), np.full(n, -1, np.int64)
    if not scip.is_lp_basic(model) or scip.get_lp_basis(model, basis.ctypes.data) != 1:
        return False
    for r in range(m):
        if basis[r] >= 0:
            position_of[basis[r]] = r
    which, price, room = np.empty(n + m, np.int64), np.empty(n + m), np.empty(n + m)
    count = _nonbasic(model, n, m, max(scip.get_objective_norm(model), _SMALL), which, price, room)
    inverse, entries, work = np.zeros(m), np.zeros(n), np.empty((4, count))
    for slot in slots:
        column = scip.var_col(variables[slot])
        position = position_of[scip.col_position(column)]
        if position < 0 or not _row(model, position, inverse, entries):
            return False
        x = scip.col_primal(column)
        out[slot, Tableau.ROW] = np.log(max((inverse * inverse).sum(), _MIN_COST))
        _directions(which[:count], price[:count], room[:count], inverse, entries, x - np.floor(x), work, out[slot])
    return True
