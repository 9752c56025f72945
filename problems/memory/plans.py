"""Plans as files: the buffer table, in JSON and in CSV (formats.md, "Plans").

A row is a place in fast memory (a residency) or a copy. Operations are given by number, from 0, and by name. In CSV, the column
`what` is "place" for a residency, and "in" or "out" for a copy; cells of columns that do not apply to a row are empty.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from corl.errors import Infeasible, InputError, hint
from corl.fields import Array, Choice, Integer, Number, Object, String, document
from corl.files.json_instances import Field, Record
from corl.files.opening import writing
from corl.files.text import Text, quoted
from corl.problems.memory.instance import IN, OUT, MappingInstance, MappingPlan

__all__ = ["SCHEMA", "plan_from_json", "plan_to_json", "read_plan", "write_plan"]

_PLACE = ("tensor", "bytes", "offset", "from", "to", "from_op", "to_op")
_SECONDS = ("start", "end")
_SPAN = {"from": Integer(0), "to": Integer(0)}
_DERIVED = {"bytes": Integer(), "from_op": String(), "to_op": String()}  # optional: they follow from the instance
_PLAN = Object(
    {
        "residencies": Array(Object({"tensor": String(), **_SPAN, "offset": Integer(0)}, _DERIVED)),
        "copies": Array(
            Object(
                {"tensor": String(), "direction": Choice(("in", "out")), **_SPAN},
                {**_DERIVED, "start": Number(), "end": Number()},
            )
        ),
    }
)
SCHEMA = document("corl memory plan: operations half-open, bytes, seconds", _PLAN)
_KEYS = {"residencies": _PLACE, "copies": ("tensor", "direction", "bytes", "from", "to", "from_op", "to_op", *_SECONDS)}
_ARRAYS = {"residencies": ("from", "to", "offset"), "copies": ("direction", "from", "to")}
"""The required keys besides the tensor, in the order of a MappingPlan's columns."""
_COLUMNS = ("what", *_PLACE, *_SECONDS)
_DIRECTIONS = {"in": IN, "out": OUT}
_Rows = dict[str, list[dict[str, Any]]]  # "residencies" and "copies" -> records


# -------------------------------------------------------------------- JSON
def plan_to_json(instance: MappingInstance, plan: MappingPlan) -> _Rows:
    """Return the plan's residencies and copies as records, with tensors by name; copies also have start and end in seconds."""
    from corl.problems.memory.evaluation import run_plan

    timeline = run_plan(instance, plan)
    directions = {way: text for text, way in _DIRECTIONS.items()}
    rows: _Rows = {"residencies": [], "copies": []}
    for t, low, high, offset in plan.residencies.tolist():
        rows["residencies"].append(_row(instance, t, low, high) | {"offset": offset})
    for (t, way, low, high), *span in zip(plan.copies.tolist(), timeline.copy_start.tolist(), timeline.copy_end.tolist()):
        rows["copies"].append(_row(instance, t, low, high) | {"direction": directions[way]} | dict(zip(_SECONDS, span)))
    return {part: [{key: row[key] for key in _KEYS[part]} for row in entries] for part, entries in rows.items()}


def _row(instance: MappingInstance, tensor: int, low: int, high: int) -> dict[str, Any]:
    """Return the part of a record that places and copies have in common."""
    begin, end = _name(instance, low), _name(instance, high)
    about_tensor = {"tensor": instance.tensor_names[tensor], "bytes": int(instance.sizes[tensor])}
    return about_tensor | {"from": low, "to": high, "from_op": begin, "to_op": end}


def _name(instance: MappingInstance, op: int) -> str:
    """Return the name of operation `op`; "" if `op` is the number of operations, the end of the program."""
    return instance.op_names[op] if op < instance.ops else ""


def plan_from_json(instance: MappingInstance, value: Any) -> MappingPlan:
    """Return the plan of a JSON value in the form of `plan_to_json`; bytes, names of operations and seconds are optional.

    Raises InputError for other forms, and if bytes or names differ from the instance's, or seconds from the simulated ones.
    """
    given = Field(value, "solution").record(_PLAN)
    numbers = {name: t for t, name in enumerate(instance.tensor_names)}
    tables = []
    for part in _KEYS:
        rows, records = [], [entry.record() for entry in given[part].entries()]
        for record in records:
            name = record["tensor"].text()
            if name not in numbers:
                message = f"there is no tensor {quoted(name)}{hint(name, numbers)}; accepted: names of `tensors`"
                raise record["tensor"].error(message)
            row = [numbers[name]]
            for key in _ARRAYS[part]:
                field = record[key]
                row.append(_DIRECTIONS[field.choice()] if key == "direction" else field.integer())
            _check_facts(record, _row(instance, row[0], record["from"].value, record["to"].value))
            rows.append(row)
        tables.append(np.array(rows, np.int64).reshape(-1, 4))
    plan = MappingPlan(*tables)
    _check_seconds(instance, plan, records)
    return plan


def _check_facts(record: Record, facts: Mapping[str, Any]) -> None:
    """Check that bytes and names of operations, if given, are those of the instance. Raises InputError."""
    for key in ("bytes", "from_op", "to_op"):
        expected = facts[key]
        field = record.get(key, expected)
        if (field.integer() if key == "bytes" else field.text()) != expected:
            shown = expected if key == "bytes" else quoted(expected)
            raise field.error(f"{quoted(str(field.value))} is not accepted; accepted: {shown}, as in the program, or nothing")


def _check_seconds(instance: MappingInstance, plan: MappingPlan, copies: list[Record]) -> None:
    """Check that start and end of copies, if given, are as simulated, unless the plan is infeasible. Raises InputError."""
    from corl.problems.memory.evaluation import run_plan

    if not any(key in copy for copy in copies for key in _SECONDS):
        return
    try:
        timeline = run_plan(instance, plan)
    except Infeasible:
        return  # `evaluate` reports the reason
    for copy, *times in zip(copies, timeline.copy_start.tolist(), timeline.copy_end.tolist()):
        for key, simulated in zip(_SECONDS, times):
            given = copy.get(key, simulated)
            if abs(given.number() - simulated) > 1e-6 * timeline.total:
                message = f"{given.value!r} is not accepted; accepted: {simulated!r}, as simulated, or nothing"
                raise given.error(message)


# -------------------------------------------------------------------- CSV
def write_plan(instance: MappingInstance, plan: MappingPlan, path: Path) -> None:
    """Write the plan as a buffer table in CSV: first the places, then the copies, each sorted by first operation."""
    rows = plan_to_json(instance, plan)
    with writing(path) as stream:
        table = csv.DictWriter(stream, _COLUMNS, lineterminator="\n")
        table.writeheader()
        for part, entries in rows.items():
            for row in sorted(entries, key=lambda row: (row["from"], row["to"])):
                table.writerow({key: value for key, value in row.items() if key != "direction"} | {"what": _what(part, row)})


def _what(part: str, row: Mapping[str, Any]) -> str:
    """Return the cell of column `what` for a record of "residencies" or "copies"."""
    return "place" if part == "residencies" else str(row["direction"])


def read_plan(instance: MappingInstance, path: Path) -> MappingPlan:
    """Return the plan in a buffer table; columns and rows may be in any order. Raises InputError with line and column."""
    text = Text.read(path)
    values: _Rows = {"residencies": [], "copies": []}
    lines: dict[str, list[int]] = {part: [] for part in values}
    for line, cells in _cells(text):
        what = cells.pop("what", "")
        if what not in ("place", *_DIRECTIONS):
            raise text.error(f"{quoted(what)} is not accepted; accepted: place, in, out", line=line, field="what")
        part = "residencies" if what == "place" else "copies"
        row = {} if what == "place" else {"direction": what}
        for key, cell in cells.items():
            if key in _KEYS[part]:
                row |= {key: _value(text, key, cell, line)} if cell or key == "tensor" else {}
            elif cell:
                raise text.error(f"{quoted(cell)} in a line of {what}; accepted: an empty cell", line=line, field=key)
        values[part].append(row)
        lines[part].append(line)
    try:
        return plan_from_json(instance, values)
    except InputError as error:
        match = re.match(r"solution\.(\w+)\[(\d+)\]\.?(\w*)", error.field or "")
        at = lines[match[1]][int(match[2])] if match else None
        raise text.error(error.reason, line=at, field=match[3] if match and match[3] else None) from None


def _value(text: Text, key: str, cell: str, line: int) -> Any:
    """Return a cell as a JSON value."""
    if key in _SECONDS:
        return text.number(cell, key, line)
    return cell if key in ("tensor", "from_op", "to_op") else text.integer(cell, key, line)


def _cells(text: Text) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, column -> cell) of each row."""
    names: list[str] = []
    reader = csv.reader(io.StringIO(text.content, newline="\n"), strict=True)
    try:
        for cells in reader:
            if not any(cells):
                continue
            if names:
                if len(cells) != len(names):
                    raise text.error(f"{len(cells)} cells; the header names {len(names)} columns", line=reader.line_num)
                yield reader.line_num, dict(zip(names, cells))
                continue
            names = cells
            if unknown := [name for name in names if name not in _COLUMNS]:
                message = f"no column {quoted(unknown[0])} is known; accepted: {', '.join(_COLUMNS)}"
                raise text.error(message, line=reader.line_num, field="header")
            if missing := [key for key in ("what", "tensor", "offset", "from", "to") if names.count(key) != 1]:
                raise text.error(f"accepted: one column {missing[0]!r}", line=reader.line_num, field="header")
    except csv.Error as error:
        raise text.error(f"no row of a table ({error}); accepted: CSV", line=reader.line_num) from None
