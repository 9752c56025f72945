"""Features of branching candidates from the simplex tableau: the cost of moving a candidate to an integer, and the distance.

A candidate is basic. Its row of the tableau states how it moves with each nonbasic column and row; their reduced costs and duals
are the costs of these moves. `Tableau` has three measures of each direction. The penalty (Driebeck, Management Science 1966;
Tomlin, Operations Research 1971) is the cost of the cheapest move in which every column and row stays within its limits, as
found by the bound flipping ratio test of the dual simplex method. It is a lower bound of the child's gain, weak if many moves are
nearly free. The other two are the length and the cost of the shortest move in the Euclidean norm, as in steepest edge pricing of
the dual simplex method.
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

_SMALL = 1e-9  # a smaller entry of the tableau counts as 0
_INFINITE = 1e20  # SCIP's infinity
_LEAST, _MOST = 1e-7, 1e3  # range of costs / norm of the objective; a direction without a move has the largest cost


class Tableau(IntEnum):
    """A feature; its value is its column. Checkpoints depend on the order. Costs are divided by the norm of the objective."""

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
    """Write the data of the nonbasic columns and rows that may move to the first `count` entries of arrays, in place.

    Args:
        model: int64, a SCIP* whose LP is solved.
        n: The number of columns.
        m: The number of rows.
        norm: The norm of the objective.
        which: int64 [n + m], written: the column, or n + the row.
        price: float64 [n + m], written: the cost of a move by 1, never 0; negative if the move goes down.
        room: float64 [n + m], written: the longest move.

    Returns:
        count.
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
    """Write a row of the tableau to arrays, in place; return whether SCIP has it.

    The basic variable changes by entries @ (changes of the columns) + inverse @ (changes of the rows' activities).

    Args:
        model: int64, a SCIP* whose LP is solved.
        at: The number of the row, a position in the basis.
        inverse: float64 [m], written: the row of the basis inverse.
        entries: float64 [n], written.
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
    """Return the smallest cost of moving a candidate by `distance`, at most `_MOST`; `_MOST` if that is not possible.

    Args:
        ratio: float64 [k], the cost per unit of each move; overwritten.
        reach: float64 [k], the longest distance by each move.
        distance: The distance.
    """
    left, cost = distance, 0.0
    while left > _SMALL:
        best = np.argmin(ratio)
        if ratio[best] == np.inf:
            return _MOST
        step = min(left, reach[best])
        cost, left = cost + step * ratio[best], left - step
        ratio[best] = np.inf
    return min(cost, _MOST)


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
        which: int64 [count], from `_nonbasic`, as the next two.
        price: float64 [count].
        room: float64 [count].
        inverse: float64 [m], from `_row`, as the next one.
        entries: float64 [n].
        fraction: The fractional part of the candidate's LP value.
        work: float64 [4, count], scratch.
        line: float64 [len(Tableau)], written.
    """
    n, counts, square, product = len(entries), np.zeros(2, np.int64), np.zeros(2), np.zeros(2)
    for k in range(len(which)):
        entry = entries[which[k]] if which[k] < n else inverse[which[k] - n]
        size = abs(entry)
        if size > _SMALL:
            up = 1 if entry * price[k] > 0.0 else 0
            square[up] += size * size
            product[up] += size * abs(price[k])
            work[2 * up, counts[up]], work[2 * up + 1, counts[up]] = abs(price[k]) / size, room[k] * size
            counts[up] += 1
    for up in range(2):
        distance, first = 1.0 - fraction if up else fraction, Tableau.LENGTH_UP if up else Tableau.LENGTH_DOWN
        least = _MOST
        if counts[up]:
            least = _cheapest(work[2 * up, : counts[up]], work[2 * up + 1, : counts[up]], distance)
        line[first] = np.log(max(distance / np.sqrt(square[up] + _SMALL), _LEAST))
        line[first + 1] = np.log(max(distance * product[up] / (square[up] + _SMALL), _LEAST))
        line[first + 2] = np.log(max(least, _LEAST))


@kernel
def tableau_lines(model: Any, variables: Any, slots: Any, out: Any) -> bool:
    """Write the features of some candidates of the current node to their lines of `out`, in place.

    Args:
        model: int64, a SCIP* whose LP is solved.
        variables: int64 [K], pointers to the candidates.
        slots: int64 [k], which of them.
        out: float64 [K, len(Tableau)], of which the lines `slots` are written.

    Returns:
        Whether SCIP has the tableau; False if its LP has no basis.
    """
    n, m = scip.get_n_lp_cols(model), scip.get_n_lp_rows(model)
    basis, where = np.empty(m, np.int32), np.full(n, -1, np.int64)
    if not scip.is_lp_basic(model) or scip.get_lp_basis(model, basis.ctypes.data) != 1:
        return False
    for r in range(m):
        if basis[r] >= 0:
            where[basis[r]] = r
    which, price, room = np.empty(n + m, np.int64), np.empty(n + m), np.empty(n + m)
    count = _nonbasic(model, n, m, max(scip.get_objective_norm(model), _SMALL), which, price, room)
    inverse, entries, work = np.zeros(m), np.zeros(n), np.empty((4, count))
    for slot in slots:
        column = scip.var_col(variables[slot])
        at = where[scip.col_position(column)]
        if at < 0 or not _row(model, at, inverse, entries):
            return False
        x = scip.col_primal(column)
        out[slot, Tableau.ROW] = np.log(max((inverse * inverse).sum(), _LEAST))
        _directions(which[:count], price[:count], room[:count], inverse, entries, x - np.floor(x), work, out[slot])
    return True
