"""SCIP's current LP as arrays, a bipartite graph of columns and rows, read by kernels from SCIP's library.

PySCIPOpt's `Model.getBipartiteGraphRepresentation` returns the same values, but is slower. `LpReader(model).read()` compares the
first graph of a process with that of PySCIPOpt. If the two differ, or if SCIP's functions were not found, all graphs come from
PySCIPOpt's method.
"""

from __future__ import annotations

import logging
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.milp.scip import functions as scip

__all__ = ["Column", "LpGraph", "LpReader", "Row", "builtin_graph", "doubles", "pointers"]

Column = IntEnum(
    "Column",
    "CONTINUOUS BINARY INTEGER IMPLICIT_INTEGER OBJ_COEF HAS_LB HAS_UB SOL_AT_LB SOL_AT_UB SOL_VAL SOL_FRAC RED_COST BASIS_LOWER "
    "BASIS_BASIC BASIS_UPPER BASIS_ZERO BEST_INCUMBENT_VAL AVG_INCUMBENT_VAL AGE",
    start=0,
)
"""The columns of `LpGraph.columns`, with PySCIPOpt's names. The two incumbent values are NaN without an incumbent."""
Row = IntEnum(
    "Row",
    "HAS_LHS HAS_RHS N_NON_ZEROS OBJ_COSINE BIAS NORM SOL_AT_LHS SOL_AT_RHS DUAL_SOL AGE BASIS_LOWER BASIS_BASIC BASIS_UPPER "
    "BASIS_ZERO",
    start=0,
)
"""The columns of `LpGraph.rows`, with PySCIPOpt's names."""
_KINDS = np.array([Column.BINARY, Column.INTEGER, Column.IMPLICIT_INTEGER, Column.CONTINUOUS])  # in SCIP's order of types
_log = logging.getLogger(__name__)


class LpGraph(NamedTuple):
    """The LP of a node as a graph: n columns, m rows, and an edge for each nonzero coefficient, sorted by row."""

    columns: NDArray[np.float64]
    """[n, len(Column)] the features of each column, by position in the LP."""
    rows: NDArray[np.float64]
    """[m, len(Row)] the features of each row, by position in the LP."""
    edge_row: NDArray[np.int32]
    """[edges] the row of each edge."""
    edge_column: NDArray[np.int32]
    """[edges] the column of each edge; -1 if it is not in the LP."""
    edge_value: NDArray[np.float64]
    """[edges] the coefficient of each edge."""


def _as_pointer(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    return builder.inttoptr(arguments[0], context.get_value_type(sig.return_type))


@intrinsic
def _pointer_to_pointers(typing_context: Any, address: Any) -> Any:
    return types.CPointer(types.int64)(types.int64), _as_pointer  # type: ignore[no-untyped-call]


@intrinsic
def _pointer_to_doubles(typing_context: Any, address: Any) -> Any:
    return types.CPointer(types.float64)(types.int64), _as_pointer  # type: ignore[no-untyped-call]


@kernel(inline=True)
def pointers(address: int, count: int) -> Any:
    """Return a view of the C array of `count` pointers at `address`, int64 [count]; valid until SCIP moves the array."""
    return carray(_pointer_to_pointers(address), count)  # type: ignore[call-arg]  # numba passes the context


@kernel(inline=True)
def doubles(address: int, count: int) -> Any:
    """Return a view of the C array of `count` doubles at `address`, float64 [count]; valid until SCIP moves the array."""
    return carray(_pointer_to_doubles(address), count)  # type: ignore[call-arg]  # numba passes the context


@kernel
def _read_columns(model: int, best: int, kinds: NDArray[np.int64], out: NDArray[np.float64]) -> None:
    """Write the columns of the LP to `out`, in place.

    Args:
        model: int64, a SCIP* whose LP is solved.
        best: int64, a pointer to the incumbent, or 0.
        kinds: int64 [4], the Column of each of SCIP's variable types.
        out: float64 [n, len(Column)], written.
    """
    columns = pointers(scip.get_lp_cols(model), len(out))
    for j in range(len(out)):
        column, line = columns[j], out[j]
        variable = scip.col_var(column)
        low, high, x = scip.col_lb(column), scip.col_ub(column), scip.col_primal(column)
        line[:] = 0.0
        line[kinds[scip.var_type(variable)]] = 1.0
        line[Column.OBJ_COEF] = scip.col_obj(column)
        if not scip.is_infinite(model, abs(low)):
            line[Column.HAS_LB] = 1.0
            line[Column.SOL_AT_LB] = scip.is_equal(model, x, low)
        if not scip.is_infinite(model, abs(high)):
            line[Column.HAS_UB] = 1.0
            line[Column.SOL_AT_UB] = scip.is_equal(model, x, high)
        line[Column.SOL_VAL], line[Column.SOL_FRAC] = x, scip.feasible_fraction(model, x)
        line[Column.RED_COST] = scip.col_reduced_cost(model, column)
        line[Column.BASIS_LOWER + scip.col_basis(column)] = 1.0
        line[Column.BEST_INCUMBENT_VAL] = scip.get_solution_value(model, best, variable) if best else np.nan
        line[Column.AVG_INCUMBENT_VAL] = scip.var_average(variable) if best else np.nan
        line[Column.AGE] = scip.col_age(column)


@kernel
def _read_rows(model: int, out: NDArray[np.float64]) -> int:
    """Write the rows of the LP to `out`, float64 [m, len(Row)], in place; return the number of edges."""
    rows, edges = pointers(scip.get_lp_rows(model), len(out)), 0
    for i in range(len(out)):
        row, line = rows[i], out[i]
        low, high, activity = scip.row_lhs(row), scip.row_rhs(row), scip.row_activity(model, row)
        count = scip.row_n_nonz(row)
        edges += count
        line[:] = 0.0
        if not scip.is_infinite(model, abs(low)):
            line[Row.HAS_LHS], line[Row.SOL_AT_LHS] = 1.0, scip.is_equal(model, activity, low)
        if not scip.is_infinite(model, abs(high)):
            line[Row.HAS_RHS], line[Row.SOL_AT_RHS] = 1.0, scip.is_equal(model, activity, high)
        line[Row.N_NON_ZEROS], line[Row.OBJ_COSINE] = count, scip.row_parallelism(model, row)
        line[Row.BIAS], line[Row.NORM] = scip.row_constant(row), scip.row_norm(row)
        line[Row.DUAL_SOL], line[Row.AGE] = scip.row_dual(row), scip.row_age(row)
        line[Row.BASIS_LOWER + scip.row_basis(row)] = 1.0
    return edges


@kernel
def _read_edges(
    model: int, m: int, edge_row: NDArray[np.int32], edge_column: NDArray[np.int32], edge_value: NDArray[np.float64]
) -> None:
    """Write the edges of the LP to arrays, row after row, in place.

    Args:
        model: int64, a SCIP* whose LP is solved.
        m: The number of rows.
        edge_row: int32 [edges], written.
        edge_column: int32 [edges], written.
        edge_value: float64 [edges], written.
    """
    rows, k = pointers(scip.get_lp_rows(model), m), 0
    for i in range(m):
        count = scip.row_n_nonz(rows[i])
        columns, values = pointers(scip.row_cols(rows[i]), count), doubles(scip.row_values(rows[i]), count)
        for t in range(count):
            edge_row[k], edge_column[k], edge_value[k] = i, scip.col_position(columns[t]), values[t]
            k += 1


def _fast_graph(model: int, edges: bool) -> LpGraph:
    """Return the graph of the current LP, read by the kernels; `model` is a SCIP* whose LP is solved."""
    columns = np.empty((scip.call("SCIPgetNLPCols", model), len(Column)))
    rows = np.empty((scip.call("SCIPgetNLPRows", model), len(Row)))
    _read_columns(model, scip.call("SCIPgetBestSol", model), _KINDS, columns)
    count = _read_rows(model, rows) if edges else _read_rows(model, rows) * 0
    edge_row, edge_column, edge_value = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count)
    if edges:
        _read_edges(model, len(rows), edge_row, edge_column, edge_value)
    return LpGraph(columns, rows, edge_row, edge_column, edge_value)


def builtin_graph(model: Any, edges: bool = True) -> LpGraph:
    """Return the graph of a Model's current LP, read by PySCIPOpt's `Model.getBipartiteGraphRepresentation`."""
    columns, links, rows, _ = model.getBipartiteGraphRepresentation(suppress_warnings=True)
    link = np.array(links if edges else [], np.float64).reshape(-1, 3)
    return LpGraph(
        np.array(columns, np.float64).reshape(-1, len(Column)),
        np.array(rows, np.float64).reshape(-1, len(Row)),
        link[:, 1].astype(np.int32), link[:, 0].astype(np.int32), np.ascontiguousarray(link[:, 2]),
    )  # fmt: skip


@cache
def _verdict() -> list[bool]:
    """Return a list with the result of the comparison in this process, True if the kernels are correct; empty before it."""
    return []


class LpReader:
    """Reads the current LP of one Model, during a callback of its solve."""

    def __init__(self, model: Any) -> None:
        self.model, self.pointer = model, scip.pointer_of(model) if scip.load() else 0

    def read(self, edges: bool = True) -> LpGraph:
        """Return the current LP; without `edges`, the arrays of edges are empty."""
        verdict = _verdict()
        if not verdict:
            verdict.append(scip.load() and self._agrees())
        return _fast_graph(self.pointer, edges) if verdict[0] else builtin_graph(self.model, edges)

    def _agrees(self) -> bool:
        """Return whether the kernels read the same LP as PySCIPOpt."""
        ours, theirs = _fast_graph(self.pointer, True), builtin_graph(self.model)
        for name in LpGraph._fields:
            one, two = getattr(ours, name), getattr(theirs, name)
            if one.shape != two.shape or not np.allclose(one, two, rtol=1e-12, atol=1e-12, equal_nan=True):
                _log.warning("libscip read by kernels differs from PySCIPOpt in %s of the LP; PySCIPOpt is used", name)
                return False
        return True
