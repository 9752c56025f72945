"""The parts of TSPLIB's file format that several problem families share (G. Reinelt, TSPLIB 95, section 1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from corl.files.text import Entry, Text, quoted
from corl.routing.edge_weights import LARGEST
from corl.routing.matrices import LAYOUTS, entries, entry_at, fill

__all__ = [
    "LARGEST_DIMENSION", "coordinates", "dimension", "numerals", "one_of", "required", "section", "square", "write_coordinates",
]  # fmt: skip

LARGEST_DIMENSION = 20_000_000
_LINES = 100_000  # lines that are written at once


# -------------------------------------------------------------------- the header
def dimension(text: Text, header: dict[str, Entry]) -> int:
    """Return DIMENSION, the number of cities: at least one, and not more than the file can hold. Raises InputError."""
    entry = required(text, header, "DIMENSION")
    n = text.integer(entry.value, "DIMENSION", entry.line, 1, LARGEST_DIMENSION)
    # A city takes at least a digit and a blank. Checked before memory is allocated for a false DIMENSION.
    if n > max(1, len(text.content) // 2):
        message = f"{n:,} cities cannot be in a file of {len(text.content):,} characters"
        raise text.error(message, line=entry.line, field="DIMENSION")
    return n


def required(text: Text, header: dict[str, Entry], keyword: str) -> Entry:
    """Return the entry of a keyword in the header. Raises InputError if it is missing."""
    if keyword not in header:
        raise text.error("missing; accepted: a line KEYWORD : value before the data", line=text.last_line, field=keyword)
    return header[keyword]


def one_of(
    text: Text, header: dict[str, Entry], keyword: str, accepted: tuple[str, ...], refused: dict[str, str], required: bool = True
) -> str:
    """Return the value of a keyword in the header, one of `accepted`; "" if it is missing and not required.

    Raises InputError for other values; `refused` has further words for some of them (value -> the reason in the message).
    """
    if keyword not in header and not required:
        return ""
    if keyword not in header:
        raise text.error(f"missing; accepted: {', '.join(accepted)}", line=text.last_line, field=keyword)
    entry = header[keyword]
    value = entry.value.upper()
    if value not in accepted:
        reason = refused.get(value, f"{quoted(entry.value)} is not known")
        raise text.error(f"{reason}; accepted: {', '.join(accepted)}", line=entry.line, field=keyword)
    return value


# -------------------------------------------------------------------- the sections
def section(text: Text, sections: dict[str, Text], keyword: str, because: str) -> Text:
    """Return a section's data. Raises InputError if it is missing; `because` says in the message what needs the section."""
    if keyword not in sections:
        raise text.error(f"missing; {because} needs it", line=text.last_line, field=keyword)
    return sections[keyword]


def coordinates(sections: dict[str, Text], keyword: str, n: int, columns: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return ids int64 [n] and coordinates float64 [n, columns] of a section with one city per line. Raises InputError."""
    part = sections[keyword]
    table = part.table(keyword, 1 + columns)
    if len(table) != n:
        message = f"{len(table):,} lines of coordinates; DIMENSION says {n:,}"
        raise part.error(message, line=part.row_line(min(n, len(table) - 1)), field=keyword)
    ids = table[:, 0]
    if (bad := (ids != np.floor(ids)) | (ids < 0) | (ids > 2**53)).any():  # negative numbers end sections
        row = int(bad.argmax())
        message = f"{float(ids[row]):.17g} is no city number; accepted: an integer from 0"
        raise part.error(message, line=part.row_line(row), field=keyword)
    order = np.argsort(ids, kind="stable")
    if (repeated := ids[order[1:]] == ids[order[:-1]]).any():
        row = int(order[1:][repeated].min())
        raise part.error(f"city {int(ids[row])} is given twice", line=part.row_line(row), field=keyword)
    if (bad := (np.abs(table[:, 1:]) > LARGEST).any(axis=1)).any():
        raise part.error(f"accepted: coordinates up to {LARGEST:g} in size", line=part.row_line(int(bad.argmax())), field=keyword)
    return ids.astype(np.int64), np.ascontiguousarray(table[:, 1:])


def square(text: Text, header: dict[str, Entry], sections: dict[str, Text], n: int, symmetric: bool) -> NDArray[np.float64]:
    """Return the matrix, float64 [n, n], of EDGE_WEIGHT_SECTION in any layout.

    Raises InputError for a malformed section or, if `symmetric`, for a matrix that is not symmetric.
    """
    layout = one_of(text, header, "EDGE_WEIGHT_FORMAT", LAYOUTS, {"FUNCTION": "a function is no matrix"})
    part = section(text, sections, "EDGE_WEIGHT_SECTION", "EDGE_WEIGHT_TYPE EXPLICIT")
    values, expected = part.numbers("EDGE_WEIGHT_SECTION"), entries(layout, n)
    if len(values) != expected:
        line = part.token_line(expected) if len(values) > expected else part.last_line
        message = f"{len(values):,} numbers; {layout} of {n:,} cities has {expected:,}"
        raise part.error(message, line=line, field="EDGE_WEIGHT_SECTION")
    matrix = fill(layout, values, n)
    if (large := np.abs(matrix) > LARGEST).any():
        i, j = divmod(int(large.argmax()), n)
        line = part.token_line(entry_at(layout, i, j, n))
        raise part.error(f"{matrix[i, j]:g} is too large; accepted: up to {LARGEST:g}", line=line, field="EDGE_WEIGHT_SECTION")
    if symmetric and layout == "FULL_MATRIX" and (differs := matrix != matrix.T).any():
        i, j = divmod(int(differs.argmax()), n)
        message = (
            f"row {j + 1}, column {i + 1} is {matrix[j, i]:g}, the entry across {matrix[i, j]:g}; accepted for such: TYPE ATSP"
        )
        raise part.error(message, line=part.token_line(entry_at(layout, j, i, n)), field="EDGE_WEIGHT_SECTION")
    return matrix


# -------------------------------------------------------------------- the writer
def write_coordinates(stream: TextIO, ids: NDArray[np.int64], points: NDArray[np.float64]) -> None:
    """Write a line "id x y" for every point."""
    for start in range(0, len(ids), _LINES):
        rows = points[start : start + _LINES]
        columns = [map(str, ids[start : start + _LINES].tolist()), *map(numerals, rows.T)]
        stream.writelines(map("%s\n".__mod__, map(" ".join, zip(*columns))))


def numerals(values: NDArray[np.float64]) -> Iterable[str]:
    """Return for each number the shortest text that reads back as the same float64; integers have no decimal point."""
    whole = values.astype(np.int64)
    if np.array_equal(whole, values) and not np.signbit(values[values == 0]).any():
        return map(str, whole.tolist())
    return map(repr, values.tolist())
