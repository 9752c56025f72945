"""Builder: collects the parts of a program while a file is parsed. Its errors name the line."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from corl.errors import InputError
from corl.files.text import Text, quoted
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
            return from_triplets(
                name, self.sense, self.cost, rows, columns, values + 0.0, self.row_lower, self.row_upper, lower=self.lower,
                upper=self.upper, integer=self.integer, offset=self.offset, names=self.names, row_names=self.row_names,
                comment=comment,
            )  # fmt: skip
        except InputError as error:
            raise self.text.error(error.reason, field=error.field) from None
