"""Instance and solution files in the CSV format of minimalloc (M. Moffitt, ASPLOS 2023), one buffer per line.

The first line names the columns, in any order: id (or buffer, buffer_id), lower (or start, begin), upper, size, and optionally
alignment and offset. Instead of upper there may be end, the last moment at which the buffer is alive, which is upper - 1. An
empty cell of alignment means 1, an empty cell of offset that the offset is not fixed. Numbers are integers. Lines that begin with
# are comments, an extension of ours. A solution file has the same columns and an offset in every line.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError
from corl.files.opening import plain_name, writing
from corl.files.text import Text, quoted
from corl.problems.memory_static.instance import FREE, LARGEST, LARGEST_BUFFERS, StaticInstance, first_overlap, make_instance

__all__ = ["read_instance", "read_offsets", "read_text", "recognises", "write_instance", "write_offsets"]

_COLUMNS = ("id", "lower", "upper", "size", "alignment", "offset")
_SYNONYMS = {"buffer": "id", "buffer_id": "id", "start": "lower", "begin": "lower", "end": "last"}
_Row = tuple[int, dict[str, str]]  # (line number, column -> cell)


def recognises(head: str) -> bool:
    """Return whether the first line that is not a comment names the columns of buffers."""
    for line in head.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            names = _names(line)
            return {"lower", "size"} <= set(names) and bool({"upper", "last"} & set(names))
    return False


def read_instance(path: str | Path) -> StaticInstance:
    """Return the instance in a file. Raises InputError with file, line, field and what is accepted, or OSError."""
    return read_text(Text.read(path), plain_name(path).stem)


def read_text(text: Text, name: str = "") -> StaticInstance:
    """Return the instance in a text. Raises InputError."""
    rows, comment = _rows(text)
    lines = {row["id"]: line for line, row in reversed(rows)}
    if len(lines) < len(rows):
        line, again = next((line, row["id"]) for line, row in rows if lines[row["id"]] != line)
        raise text.error(f"{quoted(again)} is given twice, first in line {lines[again]}", line=line, field="id")
    columns = [np.array(column, np.int64) for column in zip(*(_values(text, line, row) for line, row in rows))]
    lower, upper, size, alignment, fixed = columns
    placed = np.flatnonzero(fixed >= 0)
    if pair := first_overlap(lower[placed], upper[placed], fixed[placed], size[placed]):
        (a, _), (b, _) = (rows[placed[k]] for k in sorted(pair))
        raise text.error(f"overlaps the buffer of line {a} in memory while both are alive", line=b, field="offset")
    try:
        return make_instance(
            name, lower, upper, size, ids=[row["id"] for _, row in rows], alignment=alignment, fixed=fixed, comment=comment
        )
    except InputError as error:
        raise text.error(error.reason, field=error.field) from None


def _names(line: str) -> list[str]:
    """Return the columns that a header names, with synonyms replaced."""
    names = (name.strip().strip('"').lower() for name in line.split(","))
    return [_SYNONYMS.get(name, name) for name in names]


def _rows(text: Text) -> tuple[list[_Row], str]:
    """Return the lines of the buffers, and the comments. Raises InputError."""
    if text.content.count("\n") > LARGEST_BUFFERS:  # checked before memory is allocated for them
        count = sum(not line.startswith("#") for _, line in text.lines()) - 1
        if count > LARGEST_BUFFERS:
            raise text.error(f"{count:,} buffers; accepted: up to {LARGEST_BUFFERS:,}")
    names: list[str] = []
    rows: list[_Row] = []
    comments: list[str] = []
    for number, line in text.lines():
        if line.startswith("#"):
            comments.append(line[1:].strip())
        elif not names:
            names = _header(text, number, line)
        else:
            cells = [cell.strip() for cell in (next(csv.reader([line])) if '"' in line else line.split(","))]
            if len(cells) != len(names):
                raise text.error(f"{len(cells)} cells; the header names {len(names)} columns", line=number)
            rows.append((number, dict(zip(names, cells))))
    if not rows:
        raise text.error("no buffers; accepted: a header id,lower,upper,size and one line per buffer", line=text.last_line)
    return rows, "\n".join(comments)


def _header(text: Text, number: int, line: str) -> list[str]:
    """Return the columns that the header, line `number`, names. Raises InputError."""
    names = _names(line)
    for name in names:
        if name not in (*_COLUMNS, "last"):
            raise text.error(f"no column {quoted(name)} is known; accepted: {', '.join(_COLUMNS)}", line=number, field="header")
        if names.count(name) > 1:
            raise text.error(f"column {quoted(name)} is given twice", line=number, field="header")
    if ("upper" in names) == ("last" in names):
        raise text.error("accepted: one of the columns upper and end", line=number, field="header")
    for name in ("id", "lower", "size"):
        if name not in names:
            raise text.error(f"column {name!r} is missing; accepted: {', '.join(_COLUMNS)}", line=number, field="header")
    return names


def _values(text: Text, line: int, row: dict[str, str]) -> Iterator[int]:
    """Yield lower, upper, size, alignment and offset of a line; FREE for an offset that is not fixed. Raises InputError."""
    if not row["id"]:
        raise text.error("an empty cell; accepted: a name", line=line, field="id")
    lower = text.integer(row["lower"], "lower", line, -LARGEST, LARGEST)
    if "upper" in row:
        upper = text.integer(row["upper"], "upper", line, -LARGEST, LARGEST)
    else:
        upper = 1 + text.integer(row["last"], "end", line, -LARGEST, LARGEST - 1)
    if upper <= lower:
        reason = f"the buffer ends at {upper} and starts at {lower}; accepted: a later end"
        raise text.error(reason, line=line, field="upper" if "upper" in row else "end")
    yield lower
    yield upper
    yield text.integer(row["size"], "size", line, 0, LARGEST)
    alignment = text.integer(row.get("alignment") or "1", "alignment", line, 1, LARGEST)
    yield alignment
    fixed = text.integer(row["offset"], "offset", line, 0, LARGEST) if row.get("offset") else FREE
    if fixed >= 0 and fixed % alignment:
        raise text.error(f"{fixed} is no multiple of the alignment, {alignment}", line=line, field="offset")
    yield fixed


def write_instance(instance: StaticInstance, path: str | Path) -> None:
    """Write a file from which `read_instance` returns an equal instance."""
    _write(instance, instance.fixed, bool((instance.fixed >= 0).any()), instance.comment, path)


def write_offsets(instance: StaticInstance, offsets: NDArray[np.int64], path: str | Path) -> None:
    """Write the buffers with their offsets."""
    _write(instance, offsets, True, "", path)


def _write(instance: StaticInstance, offsets: NDArray[np.int64], placed: bool, comment: str, path: str | Path) -> None:
    """Write the buffers as CSV. `placed`: whether there is a column of offsets, in which negative offsets are empty cells."""
    aligned = bool((instance.alignment != 1).any())
    written = [True, True, True, True, aligned, placed]
    columns: list[list[Any]] = [
        [_cell(name) for name in instance.ids],
        instance.lower.tolist(),
        instance.upper.tolist(),
        instance.size.tolist(),
        instance.alignment.tolist(),
        [offset if offset >= 0 else "" for offset in offsets.tolist()],
    ]
    chosen = [column for column, keep in zip(columns, written) if keep]
    with writing(path) as file:
        for line in comment.splitlines():
            file.write(f"# {line}\n")
        file.write(",".join(name for name, keep in zip(_COLUMNS, written) if keep) + "\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in zip(*chosen))


def _cell(name: str) -> str:
    """Return a name as a cell: in quotation marks if it has a comma, a quotation mark, # or spaces at an end."""
    return '"' + name.replace('"', '""') + '"' if any(sign in name for sign in ',"#') or name != name.strip() else name


def read_offsets(instance: StaticInstance, path: str | Path) -> NDArray[np.int64]:
    """Return the offsets in a solution file, int64 [n], in the instance's order; the file's lines may be in any order.

    Raises InputError for a malformed file, Infeasible if the file's buffers differ from the instance's.
    """
    text = Text.read(path)
    rows, _ = _rows(text)
    if "offset" not in rows[0][1]:
        raise text.error("column 'offset' is missing; accepted: the instance's columns and offset", field="header")
    number = {name: k for k, name in enumerate(instance.ids)}
    offsets, given = np.zeros(instance.n, np.int64), np.zeros(instance.n, bool)
    for line, row in rows:
        offset = text.integer(row["offset"], "offset", line)
        name = row["id"]
        k = number.get(name)
        if k is None:
            raise Infeasible(f"there is no buffer {quoted(name)}")
        if given[k]:
            raise text.error(f"buffer {quoted(name)} is given twice", line=line, field="id")
        lower, upper, size, *_ = _values(text, line, row | {"offset": ""})
        if (lower, upper, size) != (instance.lower[k], instance.upper[k], instance.size[k]):
            raise Infeasible(f"buffer {name!r} has another lifetime or size than in the instance")
        offsets[k], given[k] = offset, True
    if not given.all():
        raise Infeasible(f"buffer {instance.ids[int(given.argmin())]!r} has no offset")
    return offsets
