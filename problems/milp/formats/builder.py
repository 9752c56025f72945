"""Builder: collects the parts of a program while a file is parsed. Its errors name the line."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from corl.errors import InputError
from corl.files.text import Text, quoted
from corl.problems.milp.conditions import Conditions, OrderedSet
from corl.problems.milp.instance import INFINITY, MilpInstance, from_triplets

__all__ = ["Builder"]

_INFINITE = re.compile(r"([+-]?)inf(inity)?", re.IGNORECASE)


class Builder:
    """The variables (columns) and constraints (rows) read so far, numbered in the order in which they appear in the file."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.sense: Literal["min", "max"] = "min"
        self.offset = 0.0
        self.names: dict[str, int] = {}  # variable -> its column
        self.cost: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.integer: list[bool] = []
        self.row_names: dict[str, int] = {}  # name of a row -> its number
        self.row_lower: list[float] = []
        self.row_upper: list[float] = []
        self.semicontinuous: dict[int, int] = {}  # column -> the line that says so
        self.indicators: dict[int, tuple[int, int, int]] = {}  # row -> the column of its indicator, the active value, the line
        self._sets: list[tuple[str, int, dict[int, float], int]] = []  # name, kind, column -> weight, line
        self._entries: tuple[list[int], list[int], list[float], list[int]] = ([], [], [], [])  # row, column, value, line

    def column(self, name: str) -> int:
        """Return the column of a variable; an unknown name becomes a new continuous variable with limits 0 and inf."""
        j = self.names.setdefault(name, len(self.names))
        if j == len(self.cost):
            self.cost.append(0.0)
            self.lower.append(0.0)
            self.upper.append(math.inf)
            self.integer.append(False)
        return j

    def columns(self, names: Sequence[str]) -> list[int]:
        """Return the columns of several variables, as `column` does."""
        try:
            return [self.names[name] for name in names]
        except KeyError:
            return [self.column(name) for name in names]

    def row(self, name: str, line: int, lower: float, upper: float) -> int:
        """Add a row and return its number. Raises InputError if there is a row of this name."""
        i = self.row_names.setdefault(name, len(self.row_names))
        if i < len(self.row_lower):
            raise self.text.error(f"{quoted(name)} is a row already; accepted: different names", line=line, field="row")
        self.row_lower.append(lower)
        self.row_upper.append(upper)
        return i

    def entry(self, row: int, column: int, value: float, line: int) -> None:
        """Add a coefficient of the matrix; `line` is its line in the file."""
        rows, columns, values, lines = self._entries
        rows.append(row)
        columns.append(column)
        values.append(value)
        lines.append(line)

    def entries(self, row: int, columns: Sequence[int], values: Sequence[float], lines: Sequence[int]) -> None:
        """Add several coefficients of a row, each with its line."""
        all_rows, all_columns, all_values, all_lines = self._entries
        all_rows.extend([row] * len(columns))
        all_columns.extend(columns)
        all_values.extend(values)
        all_lines.extend(lines)

    def ordered_set(self, name: str, kind: int, line: int) -> dict[int, float]:
        """Add a special ordered set of kind 1 or 2; return its weights by column, which the reader fills."""
        weights: dict[int, float] = {}
        self._sets.append((name or f"set{len(self._sets) + 1}", kind, weights, line))
        return weights

    def member(self, weights: dict[int, float], column: int, weight: float, field: str, line: int) -> None:
        """Add a member to an ordered set. Raises InputError if it is given twice, or its weight is."""
        if column in weights or weight in weights.values():
            what = "a member" if column in weights else "a weight"
            raise self.text.error(f"{what} given twice in the set; accepted: once", line=line, field=field)
        weights[column] = weight

    def indicate(self, row: int, column: int, value: float, field: str, line: int) -> None:
        """Make a row hold only if a variable has a value. Raises InputError if this is not 0 or 1, or for a second indicator."""
        if row in self.indicators:
            raise self.text.error("the row has an indicator already; accepted: one", line=line, field=field)
        if value not in (0.0, 1.0):
            raise self.text.error(f"the value {value:g} of an indicator is not accepted; accepted: 0, 1", line=line, field=field)
        self.indicators[row] = column, int(value), line

    def number(self, token: str, field: str, line: int) -> float:
        """Return the value of a token. Raises InputError if it is not a number, or if its absolute value is at least INFINITY."""
        value = self.text.number(token, field, line)
        if abs(value) >= INFINITY:
            message = f"{quoted(token)} is not accepted; accepted: a number below {INFINITY:g} in size"
            raise self.text.error(message, line=line, field=field)
        return value

    def limit(self, token: str, field: str, line: int) -> float:
        """Return the value of a token; "inf", "infinity" and absolute values from INFINITY on are infinite. Raises InputError."""
        match = _INFINITE.fullmatch(token)
        if match:
            return -math.inf if match[1] == "-" else math.inf
        value = self.text.number(token, field, line)
        return math.copysign(math.inf, value) if abs(value) >= INFINITY else value

    def check_limit(self, value: float, below: bool, above: bool, field: str, line: int) -> None:
        """Check a limit. Raises InputError for inf as a lower limit, and for -inf as an upper limit.

        Args:
            value: The limit.
            below: Whether the value is a lower limit.
            above: Whether the value is an upper limit; both are true for an equation.
            field: The field that the error names.
            line: The line that the error names.
        """
        if (below and value == math.inf) or (above and value == -math.inf):
            accepted = "a number" if below and above else "a number, and -inf for none" if below else "a number, and inf for none"
            side = "the value" if below and above else "a lower limit" if below else "an upper limit"
            raise self.text.error(f"{value} as {side} is not accepted; accepted: {accepted}", line=line, field=field)

    def built(self, name: str, comment: str) -> MilpInstance:
        """Return the instance. Raises InputError if there is no variable, or a second coefficient for a row and a column."""
        if not self.cost:
            raise self.text.error("no variable; accepted: one at least", line=self.text.last_line)
        lines = self._entries[3]
        rows, columns, values = (np.array(part, kind) for part, kind in zip(self._entries, (np.int64, np.int64, np.float64)))
        key = rows * len(self.cost) + columns
        order = np.argsort(key, kind="stable")
        duplicates = np.flatnonzero(np.diff(key[order]) == 0)
        if len(duplicates):
            second = int(order[duplicates + 1].min())
            row, column = list(self.row_names)[rows[second]], list(self.names)[columns[second]]
            message = f"a second coefficient of variable {quoted(column)} in row {quoted(row)}; accepted: one"
            raise self.text.error(message, line=lines[second], field=column[:40])
        try:
            program = from_triplets(
                name, self.sense, self.cost, rows, columns, values + 0.0, self.row_lower, self.row_upper, lower=self.lower,
                upper=self.upper, integer=self.integer, offset=self.offset, names=self.names, row_names=self.row_names,
                comment=comment,
            )  # fmt: skip
        except InputError as error:
            raise self.text.error(error.reason, field=error.field) from None
        return self._with_conditions(program)

    def _with_conditions(self, program: MilpInstance) -> MilpInstance:
        """Return the program with its semi-continuous variables, ordered sets and indicators. Raises InputError."""
        if not (self.semicontinuous or self._sets or self.indicators):
            return program
        semicontinuous = np.zeros(program.n, np.bool_)
        semicontinuous[list(self.semicontinuous)] = True
        indicator, active = np.full(program.m, -1, np.int32), np.zeros(program.m, np.int8)
        for row, (column, value, _) in self.indicators.items():
            indicator[row], active[row] = column, value
        sets = []
        for name, kind, weights, _ in self._sets:
            columns = sorted(weights, key=weights.__getitem__)
            sets.append(OrderedSet(name, kind, np.array(columns, np.int32), np.array([weights[j] for j in columns], np.float64)))
        try:
            return replace(program, conditions=Conditions(semicontinuous, tuple(sets), indicator, active))
        except InputError as error:
            raise self.text.error(error.reason, line=self._line_of(error.field or ""), field=error.field) from None

    def _line_of(self, field: str) -> int | None:
        """Return the line of the condition that an error's field names; None if there is none."""
        columns, rows = list(self.names), list(self.row_names)
        named = [(columns[j][:40], line) for j, line in self.semicontinuous.items()]
        named += [(name[:40], line) for name, _, _, line in self._sets]
        named += [(columns[j][:40], line) for _, _, weights, line in self._sets for j in weights]
        named += [(rows[i][:40], line) for i, (_, _, line) in self.indicators.items()]
        return next((line for name, line in named if name == field), None)
