"""MilpInstance: a mixed-integer linear program, with its matrix in compressed sparse row (CSR) form, and conditions beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from corl.problems.milp.conditions import Conditions

__all__ = ["INFINITY", "MilpInstance", "from_triplets", "numbered"]

INFINITY = 1e20
"""A limit of at least this absolute value means no limit, as in SCIP; instances store it as inf. Other numbers are smaller."""


@dataclass(frozen=True, eq=False)
class MilpInstance:
    """min or max c x + offset, row_lower <= A x <= row_upper, lower <= x <= upper, x_j integer if `integer[j]`.

    A has m rows (constraints) and n columns (variables). A program with a lower limit above its upper one is infeasible, but a
    valid instance. Raises InputError for invalid fields.
    """

    name: str
    sense: Literal["min", "max"]
    c: NDArray[np.float64]
    """[n] the objective coefficients."""
    offset: float
    """The constant of the objective."""
    first: NDArray[np.int64]
    """[m + 1] row i of A has the entries first[i]:first[i + 1] of `column` and `value`."""
    column: NDArray[np.int32]
    """[nonzeros] the column of each entry, increasing within a row."""
    value: NDArray[np.float64]
    """[nonzeros] the coefficient of each entry, not 0."""
    row_lower: NDArray[np.float64]
    """[m] the lower sides of the rows; -inf: no limit."""
    row_upper: NDArray[np.float64]
    """[m] the upper sides of the rows; inf: no limit."""
    lower: NDArray[np.float64]
    """[n] the lower limits of the variables; -inf: no limit."""
    upper: NDArray[np.float64]
    """[n] the upper limits of the variables; inf: no limit."""
    integer: NDArray[np.bool_]
    """[n] whether each variable must be an integer."""
    names: tuple[str, ...]
    """[n] the names of the variables, all different."""
    row_names: tuple[str, ...]
    """[m] the names of the constraints, all different."""
    comment: str = ""
    conditions: Conditions | None = None
    """Semi-continuous variables, special ordered sets and rows with indicators; None: there are none."""

    def __post_init__(self) -> None:
        _check(self)
        if self.conditions is not None:
            self.conditions.check(self)

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.c)

    @property
    def m(self) -> int:
        """The number of constraints."""
        return len(self.row_lower)

    @property
    def nonzeros(self) -> int:
        """The number of entries of A."""
        return len(self.value)

    @cached_property
    def row(self) -> NDArray[np.int32]:
        """int32 [nonzeros], the row of each entry."""
        return np.repeat(np.arange(self.m, dtype=np.int32), np.diff(self.first))

    @cached_property
    def spreads(self) -> NDArray[np.float64]:
        """The ratio of each row's largest to its smallest entry in absolute value, float64 [m]; 1 for an empty row."""
        sizes, filled, spreads = np.abs(self.value), np.diff(self.first) > 0, np.ones(self.m)
        if filled.any():
            begins = self.first[:-1][filled]
            with np.errstate(over="ignore"):  # infinite if the smallest entry is a denormal number
                spreads[filled] = np.maximum.reduceat(sizes, begins) / np.minimum.reduceat(sizes, begins)
        return spreads

    @cached_property
    def index(self) -> dict[str, int]:
        """Name of a variable -> its column."""
        return {name: j for j, name in enumerate(self.names)}

    @property
    def matrix(self) -> csr_array:
        """A as a SciPy matrix, float64 [m, n]."""
        from scipy.sparse import csr_array

        return csr_array((self.value, self.column, self.first), shape=(self.m, self.n))

    @cached_property
    def binary(self) -> NDArray[np.bool_]:
        """bool [n], whether each variable is an integer from 0 to 1."""
        return np.asarray(self.integer & (self.lower == 0.0) & (self.upper == 1.0), np.bool_)


def numbered(letter: str, count: int) -> tuple[str, ...]:
    """Return `count` names, such as ("x1", "x2", ...) for the letter "x"."""
    return tuple(f"{letter}{j}" for j in range(1, count + 1))


def from_triplets(
    name: str,
    sense: Literal["min", "max"],
    c: ArrayLike,
    rows: ArrayLike,
    columns: ArrayLike,
    values: ArrayLike,
    row_lower: ArrayLike,
    row_upper: ArrayLike,
    *,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
    integer: ArrayLike = False,
    offset: float = 0.0,
    names: Iterable[str] | None = None,
    row_names: Iterable[str] | None = None,
    comment: str = "",
) -> MilpInstance:
    """Return an instance from the entries (row, column, value) of A, in any order; zeros are dropped. Raises InputError.

    Limits of absolute value INFINITY or larger become infinite.

    Args:
        name: The name of the instance.
        sense: "min" or "max".
        c: float [n], the objective coefficients.
        rows: int [entries], the row of each entry, from 0.
        columns: int [entries], the column of each entry, from 0.
        values: float [entries], the coefficients.
        row_lower: float [m], the lower sides of the rows; -inf: none.
        row_upper: float [m], the upper sides of the rows; inf: none.
        lower: float [n] or one number, the lower limits of the variables.
        upper: float [n] or one number, the upper limits of the variables.
        integer: bool [n] or one value, whether the variables are integers.
        offset: The constant of the objective.
        names: [n], the names of the variables; None: x1, x2, ...
        row_names: [m], the names of the constraints; None: c1, c2, ...
        comment: A comment, kept in files.
    """
    cost, low, high = (np.array(values, np.float64, ndmin=1) for values in (c, row_lower, row_upper))
    n, m = len(cost), len(low)
    row, column, value = np.asarray(rows, np.int64), np.asarray(columns, np.int64), np.asarray(values, np.float64)
    for entries, most in ((row, m), (column, n)):
        if len(entries) != len(value) or (len(entries) and not (entries.min() >= 0 and entries.max() < most)):
            raise InputError("not accepted; accepted: rows and columns within the matrix, one for each value", field="entries")
    order = np.lexsort((column, row))
    row, column, value = row[order], column[order], value[order]
    duplicates = np.flatnonzero((np.diff(row) == 0) & (np.diff(column) == 0))
    if len(duplicates):
        raise InputError(f"row {row[duplicates[0]]} has column {column[duplicates[0]]} twice; accepted: once", field="matrix")
    nonzero = value != 0.0
    first = np.zeros(m + 1, np.int64)
    first[1:] = np.cumsum(np.bincount(row[nonzero], minlength=m)) if m else 0
    return MilpInstance(
        name=name, sense=sense, c=cost, offset=float(offset), first=first, column=column[nonzero].astype(np.int32),
        value=value[nonzero], row_lower=_unlimited(low), row_upper=_unlimited(high),
        lower=_unlimited(np.broadcast_to(np.asarray(lower, np.float64), n)),
        upper=_unlimited(np.broadcast_to(np.asarray(upper, np.float64), n)),
        integer=np.array(np.broadcast_to(np.asarray(integer, np.bool_), n)),
        names=numbered("x", n) if names is None else tuple(names),
        row_names=numbered("c", m) if row_names is None else tuple(row_names), comment=comment,
    )  # fmt: skip


def _unlimited(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the limits, with those of absolute value INFINITY or larger replaced by inf or -inf."""
    return np.where(np.abs(values) >= INFINITY, np.copysign(np.inf, values), values)


def _check(instance: MilpInstance) -> None:
    """Check the lengths and values of all fields. Raises InputError."""
    n, m = len(instance.c), len(instance.row_lower)
    lengths: Sequence[tuple[str, int]] = [
        ("first", m + 1), ("row_upper", m), ("row_names", m), ("lower", n), ("upper", n), ("integer", n), ("names", n),
        ("value", len(instance.column)),
    ]  # fmt: skip
    for field, expected in lengths:
        if len(getattr(instance, field)) != expected:
            raise InputError(f"{len(getattr(instance, field)):,} values; accepted: {expected:,}", field=field)
    if instance.sense not in ("min", "max"):
        raise InputError(f"{instance.sense!r} is not accepted; accepted: min, max", field="sense")
    for field in ("c", "value", "offset"):
        if not (np.abs(getattr(instance, field)) < INFINITY).all():  # false for NaN as well
            raise InputError(f"an infinite number or none; accepted: numbers below {INFINITY:g} in size", field=field)
    for field, beyond in (("row_lower", np.inf), ("row_upper", -np.inf), ("lower", np.inf), ("upper", -np.inf)):
        limits = getattr(instance, field)
        if np.isnan(limits).any() or (limits == beyond).any():
            raise InputError(f"{beyond} or no number; accepted: numbers, and {-beyond} for none", field=field)
    for field in ("names", "row_names"):
        if len(set(getattr(instance, field))) < len(getattr(instance, field)):
            raise InputError("a name given twice; accepted: different names", field=field)
