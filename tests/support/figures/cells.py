"""Rows of the results files, and their figures as cells of Markdown tables.

Figures are rounded half up from the decimal digits of the file, so that a table has what a reader with the file would write.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path

__all__ = [
    "ROOT", "Row", "bold", "bold_least", "figure", "interval", "mean", "number", "percent", "recorded", "recorded_table", "row",
    "rows", "significant", "table",
]  # fmt: skip

ROOT = Path(__file__).resolve().parents[3]

Row = dict[str, str]
Value = str | float | Decimal


@cache
def _file(name: str) -> list[Row]:
    """Return the rows of a file, a repeated column as "low 2"."""
    family, _, stem = name.partition("/")
    with (ROOT / "instances" / family / "results" / f"{stem}.csv").open(encoding="utf-8", newline="") as file:
        names, *lines = csv.reader(line for line in file if not line.startswith("#"))
    unique = [f"{name} {names[:k].count(name) + 1}" if name in names[:k] else name for k, name in enumerate(names)]
    return [dict(zip(unique, line, strict=True)) for line in lines]


def rows(name: str, **wanted: str | float) -> list[Row]:
    """Return the rows of a file ("tsp/standard") whose columns have the wanted values; numbers are compared as numbers."""
    return [each for each in _file(name) if all(_equal(each[column], value) for column, value in wanted.items())]


def row(name: str, **wanted: str | float) -> Row:
    """Return the only such row; LookupError if there is none, or more than one."""
    found = rows(name, **wanted)
    if len(found) != 1:
        raise LookupError(f"{name}: {len(found)} rows with {wanted}")
    return found[0]


def _equal(text: str, value: str | float) -> bool:
    return text == value if isinstance(value, str) else bool(text) and float(text) == value


def number(value: Value, digits: int, scale: int = 1, sign: bool = False) -> str:
    """Return `value` times `scale` with so many digits after the point and commas between thousands; "" if it is empty."""
    if value == "":
        return ""
    exact = Decimal(value) if isinstance(value, (str, Decimal)) else Decimal(repr(float(value)))
    rounded = (exact * scale).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{rounded if rounded else abs(rounded):{'+' if sign else ''},f}"


def percent(value: Value, digits: int = 2) -> str:
    """Return a number that is in per cent already, with its sign."""
    return f"{number(value, digits)} %"


def significant(value: Value, whole_from: int = 10) -> str:
    """Return "0", or a value with two digits after the point below 1, none from `whole_from` on, else one."""
    size = abs(Decimal(str(value)))
    return "0" if not size else number(value, 2 if size < 1 else 1 if size < whole_from else 0)


def interval(found: Row, column: str, digits: int = 2, *, scale: int = 1, of_limits: int | None = None) -> str:
    """Return "value [low, high]" of a row with the columns low and high; `of_limits`: digits of the limits, if they differ."""
    low, high = (number(found[each], digits if of_limits is None else of_limits, scale) for each in ("low", "high"))
    return f"{number(found[column], digits, scale)} [{low}, {high}]"


def figure(name: str, column: str, digits: int, scale: int = 1, **wanted: str | float) -> str:
    """Return one figure of the only row of a file with the wanted values."""
    return number(row(name, **wanted)[column], digits, scale)


def mean(values: Iterable[Value], weights: Iterable[Value] | None = None) -> Decimal:
    """Return the mean, exactly; by default all weights are equal."""
    each = [Decimal(str(value)) for value in values]
    shares = [Decimal(str(weight)) for weight in weights] if weights is not None else [Decimal(1)] * len(each)
    return sum((value * share for value, share in zip(each, shares, strict=True)), Decimal()) / sum(shares)


def bold(text: str, wanted: bool = True) -> str:
    """Return the cell in bold letters, if it is wanted."""
    return f"**{text}**" if wanted and text else text


def bold_least(values: Sequence[Value], texts: Sequence[str]) -> list[str]:
    """Return the cells, that of the least value in bold; values may be empty."""
    least = min(Decimal(str(value)) for value in values if value != "")
    return [bold(text, value != "" and Decimal(str(value)) == least) for value, text in zip(values, texts, strict=True)]


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join([_line(head), "|" + "---|" * len(head), *(_line(line) for line in lines)])


def _line(cells: Sequence[str]) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def recorded(family: str, name: str) -> dict[tuple[str, str], str]:
    """Return the cells of a table of recorded.csv, by (row, column), as they were written down."""
    found = rows(f"{family}/recorded", table=name)
    if not found:
        raise LookupError(f"{family}/recorded: no table {name!r}")
    spread = {True: " [{low}, {high}]", False: ""}
    return {(each["row"], each["column"]): each["value"] + spread[bool(each["low"])].format(**each) for each in found}


def recorded_table(family: str, name: str, corner: str = "") -> str:
    """Return such a table whole, with rows and columns in the order of the file."""
    cells = recorded(family, name)
    heads, columns = (list(dict.fromkeys(key[k] for key in cells)) for k in range(2))
    return table([corner, *columns], ([head, *(cells.get((head, column), "") for column in columns)] for head in heads))
