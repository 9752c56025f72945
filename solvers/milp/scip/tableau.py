"""What the simplex tableau says of branching candidates: how far, and at what cost, its row lets each of them move to an integer.

A candidate is basic. Its row of the tableau says how it moves with each nonbasic column and row, their reduced costs and duals
what that costs. `Tableau` has three measures of each direction. The penalty (Driebeck, Management Science 1966; Tomlin,
Operations Research 1971) is the cheapest way, each within its limits, as the bound flipping ratio test of the dual simplex
method finds it: a lower bound of the child's gain, weak where many moves are nearly free. The other two are of the shortest way
in the Euclidean norm, as the dual simplex method's steepest edge prices rows: its length, and what it costs.
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

_SMALL = 1e-9  # an entry of the tableau below it counts as 0
_NONE = 1e20
_LEAST, _MOST = 1e-7, 1e3  # costs / the objective's norm; a direction without a way costs the most


class Tableau(IntEnum):
    """A number of a candidate, and its column; checkpoints depend on the order. Costs are divided by the objective's norm."""

    ROW = 0  # log of the squared norm of its row of the basis' inverse
    LENGTH_DOWN = 1  # log of the length of the shortest way down
    COST_DOWN = 2  # log of its cost
    PENALTY_DOWN = 3  # log of the cost of the cheapest way down
    LENGTH_UP = 4
    COST_UP = 5
    PENALTY_UP = 6


@kernel
def _nonbasic(
    model: int, n: int, m: int, norm: float, which: NDArray[np.int64], price: NDArray[np.float64], room: NDArray[np.float64]
) -> int:
    """Fill, for what is nonbasic and may move: its number (rows after the n columns), what a step costs, below 0 where it goes
    down and never 0, and how far it may go. Returns how many these are."""
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
            room[count] = high - low if low > -_NONE and high < _NONE else np.inf
            count += 1
    return count


@kernel
def _row(model: int, at: int, inverse: NDArray[np.float64], entries: NDArray[np.float64]) -> bool:
    """Fill the row of the tableau of number `at` of the basis: dx = entries @ dx of columns [n] + inverse @ d of activities [m].

    False where SCIP has none."""
    where, count = np.empty(len(inverse), np.int32), np.zeros(1, np.int32)
    inverse[:] = 0.0  # SCIP may fill in what is not 0 alone
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
    """The least cost of going so far; ratio: costs a unit, spoilt; reach: how far each goes. `_MOST` where all end before."""
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
    """Fill the measures of both directions of a candidate with this fractional part; work: float64 [4, len(which)]."""
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
    """Fill the lines `slots` [k] of `out` [..., len(Tableau)], float64, for those candidates of the present node's `variables`.

    model: a SCIP*, its LP solved. False, and nothing is filled, where its LP has no basis.
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
