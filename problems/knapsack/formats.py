"""Instance files: Pisinger's text, the plain text of many collections, and JSON.

Pisinger's  the name, `n 3`, `c 10`, optionally `z 14` (the optimum) and `time 0.01`, then one line per item
            `number,value,weight,x`, numbered from 1, and optionally `-----`. x is 1 if a known solution takes the item; it may be
            missing. With several capacities, `c` lists them all, and an item has as many weights and no x (our extension).
plain       a line "n capacity", then one line "value weight" per item; items are numbered from 1
JSON        {"problem": "knapsack", "name": "small", "values": [5, 4], "weights": [3, 2], "capacities": 4}, or "weights":
            [[3, 2], [1, 1]], "capacities": [4, 2]; items are numbered from "first_item" (0 unless given)

Lines that begin with # are comments. Numbers are finite, from 0.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.fields import Array, Constant, Either, Integer, Number, Object, String, document
from corl.files.json_instances import Field, heading, read_object
from corl.files.json_values import dumps
from corl.files.opening import plain_name, writing
from corl.files.text import Text, quoted
from corl.problems.knapsack.instance import LARGEST, LARGEST_CONSTRAINTS, LARGEST_ITEMS, KnapsackInstance

__all__ = ["SCHEMAS", "from_json_value", "read_instance", "read_text", "recognises", "write_instance"]

_JSON_HEAD = re.compile(r'\s*\{.*?"problem"\s*:\s*"knapsack"', re.DOTALL)
_NUMBERS = Array(Number(0, LARGEST), 1)
_INSTANCE = Object(
    {
        "values": _NUMBERS,
        "weights": Either(_NUMBERS, Array(_NUMBERS, 1)),
        "capacities": Either(Number(0, LARGEST), _NUMBERS),
    },
    {"problem": Constant("knapsack"), "name": String(), "comment": String(), "first_item": Integer(0, 1)},
)
SCHEMAS = {
    "instance": document("corl knapsack instance", _INSTANCE),
    "solution": document("corl knapsack solution: the items taken, in the file's numbers", Array(Integer())),
}
_SEPARATORS = re.compile(r"[\s,;]+")

_Line = tuple[int, list[str]]


def recognises(head: str) -> bool:
    """Return whether `head` is the beginning of JSON (its key "problem" first) or of Pisinger's text, not of plain text."""
    if _JSON_HEAD.match(head):
        return True
    keys = [line.split()[0].lower() for line in head.splitlines()[:12] if line.strip() and not line.lstrip().startswith("#")]
    return {"n", "c"} <= set(keys[:4])


def read_instance(path: str | Path) -> KnapsackInstance:
    """Return the instance in a file, whose format is determined by its content.

    Raises InputError with file, line, field and what is accepted, or OSError.
    """
    return read_text(Text.read(path), plain_name(path).stem)


def read_text(text: Text, name: str = "") -> KnapsackInstance:
    """Return the instance in a text; `name` is used if the text has no name. Raises InputError."""
    if text.content.lstrip()[:1] in ("{", "["):
        return read_object(text, lambda field: from_json_value(field, name))
    lines, comment = _lines(text)
    if not lines:
        raise text.error("nothing but comments; accepted: items and a capacity", line=text.last_line)
    try:
        if any(tokens[0].lower() in ("n", "c") for _, tokens in lines[:3]):
            return _read_pisinger(text, lines, name, comment)
        return _read_plain(text, lines, name, comment)
    except InputError as error:
        if error.file is not None:
            raise
        raise text.error(error.reason, field=error.field) from None


def _lines(text: Text) -> tuple[list[_Line], str]:
    """Return the lines that are not comments, as (line number, tokens), and the comments, one per line.

    Tokens are separated by blanks, commas and semicolons.
    """
    lines, comments = [], []
    for number, line in text.lines():
        if line.startswith("#"):
            comments.append(line[1:].strip())
        elif tokens := [token for token in _SEPARATORS.split(line) if token]:
            lines.append((number, tokens))
    return lines, "\n".join(comments)


def _read_plain(text: Text, lines: list[_Line], name: str, comment: str) -> KnapsackInstance:
    """Return the instance in plain text: a line "n capacity", then one line "value weight" per item."""
    number, header = lines[0]
    if len(header) != 2:
        message = f"{quoted(' '.join(header))} is not accepted; accepted: the number of items, and the capacity"
        raise text.error(message, line=number, field="header")
    n = text.integer(header[0], "items", number, 1, LARGEST_ITEMS)
    capacity = text.number(header[1], "capacity", number, 0.0, LARGEST)
    rows = []
    for number, tokens in lines[1:]:
        if len(tokens) != 2:
            message = f"{quoted(' '.join(tokens))} is not accepted; accepted: the value and the weight of an item"
            raise text.error(message, line=number, field="item")
        rows.append([text.number(token, key, number, 0.0, LARGEST) for token, key in zip(tokens, ("value", "weight"))])
    _check_count(text, lines[1:], n)
    table = np.array(rows, np.float64)
    return KnapsackInstance(name, table[:, 0], table[:, 1:].T.copy(), np.array([capacity]), 1, comment)


def _check_count(text: Text, rows: list[_Line], n: int) -> None:
    """Raise InputError unless there are n lines of items."""
    if len(rows) != n:
        line = rows[n][0] if len(rows) > n else text.last_line
        raise text.error(f"{len(rows):,} items; the header says {n:,}", line=line, field="items")


def _read_pisinger(text: Text, lines: list[_Line], name: str, comment: str) -> KnapsackInstance:
    """Return the instance in Pisinger's text: an optional name, the header n, c, z, time in any order, then the items."""
    header: dict[str, _Line] = {}
    given_name, line_index = name, 0
    while line_index < len(lines) and not lines[line_index][1][0][0].isdigit():
        number, (key, *values) = lines[line_index]
        if key.lower() in ("n", "c", "z", "time"):
            if key.lower() in header:
                raise text.error("given twice", line=number, field=key.lower())
            header[key.lower()] = number, values
        elif line_index == 0:
            given_name = " ".join([key, *values])
        else:
            raise text.error(f"{quoted(key)} is not accepted; accepted: n, c, z, time, then the items", line=number)
        line_index += 1
    for key in ("n", "c"):
        if key not in header or not header[key][1]:
            where = header[key][0] if key in header else text.last_line
            raise text.error(f"missing; accepted: a line {key!r} with its number before the items", line=where, field=key)
    number, sizes = header["n"]
    n = text.integer(sizes[0], "n", number, 1, LARGEST_ITEMS)
    number, tokens = header["c"]
    if len(tokens) > LARGEST_CONSTRAINTS:
        raise text.error(f"{len(tokens):,} capacities; accepted: up to {LARGEST_CONSTRAINTS:,}", line=number, field="c")
    capacities = np.array([text.number(token, "c", number, 0.0, LARGEST) for token in tokens])
    rows = lines[line_index:]
    end = next((k for k, (_, row) in enumerate(rows) if row[0].startswith("-----")), len(rows))
    if len(rows) > end + 1:
        raise text.error("a second instance; accepted: one in a file", line=rows[end + 1][0])
    table = _items(text, rows[:end], n, len(capacities))
    return KnapsackInstance(given_name, table[:, 0].copy(), table[:, 1:].T.copy(), capacities, 1, comment)


def _items(text: Text, rows: list[_Line], n: int, m: int) -> NDArray[np.float64]:
    """Return float64 [n, 1 + m]: the value and the weights in each line `number,value,weights`, which may end with x."""
    _check_count(text, rows, n)
    table = np.empty((n, 1 + m))
    lengths = (2 + m, 3 + m) if m == 1 else (2 + m,)
    for k, (number, tokens) in enumerate(rows):
        if len(tokens) not in lengths:
            message = f"{quoted(','.join(tokens))} is not accepted; accepted: number, value and {m} weight{'s' if m > 1 else ''}"
            raise text.error(message, line=number, field="item")
        text.integer(tokens[0], "item number", number, k + 1, k + 1)
        table[k, 0] = text.number(tokens[1], "value", number, 0.0, LARGEST)
        for i in range(m):
            table[k, 1 + i] = text.number(tokens[2 + i], "weight", number, 0.0, LARGEST)
        if len(tokens) == 3 + m:
            text.integer(tokens[2 + m], "x", number, 0, 1)
    return table


# -------------------------------------------------------------------- JSON
def from_json_value(field: Field, name: str = "") -> KnapsackInstance:
    """Return the instance in a JSON object. Raises InputError, naming the key."""
    record = field.record(_INSTANCE)
    name, comment = heading(record, "knapsack", name)
    first_item = record.get("first_item", 0).integer()
    has_one_capacity = not isinstance(record["capacities"].value, list)
    capacities = np.array([record["capacities"].number()]) if has_one_capacity else record["capacities"].numbers(None)
    values = record["values"].numbers(None)
    is_flat = not isinstance(record["weights"].entries(least=1)[0].value, list)
    if is_flat and len(capacities) > 1:
        raise record["weights"].error(f"accepted: {len(capacities):,} lists of {len(values):,} numbers, one for each capacity")
    weights = (
        record["weights"].numbers(*([] if is_flat else [len(capacities)]), len(values)).reshape(len(capacities), len(values))
    )
    return KnapsackInstance(name, values, weights, capacities, first_item, comment)


# -------------------------------------------------------------------- the writer
def write_instance(instance: KnapsackInstance, path: Path) -> None:
    """Write JSON if the name of the file ends in .json, otherwise Pisinger's text, in which items are numbered from 1."""
    with writing(path) as stream:
        if plain_name(path).suffix.lower() == ".json":
            head: dict[str, Any] = {"problem": "knapsack", "name": instance.name}
            head |= {"comment": instance.comment} if instance.comment else {}
            head |= {"first_item": 1} if instance.first_item else {}
            head |= {"capacities": _plain(instance.capacities), "values": _plain(instance.values)}
            head |= {"weights": [_plain(row) for row in instance.weights]}
            stream.write(dumps(head) + "\n")
            return
        name = " ".join(instance.name.split())
        if not name or name[0].isdigit() or name[0] == "#" or name.split()[0].lower() in ("n", "c", "z", "time"):
            name = f"knapsack {name}".strip()  # the first line must not look like data
        stream.writelines(f"# {line}\n" for line in instance.comment.splitlines())
        stream.write(f"{name}\nn {instance.n}\nc {' '.join(map(str, _plain(instance.capacities)))}\n")
        columns = zip(_plain(instance.values), *(_plain(row) for row in instance.weights))
        stream.writelines(f"{k},{','.join(map(str, numbers))}\n" for k, numbers in enumerate(columns, 1))


def _plain(values: NDArray[np.float64]) -> list[float]:
    """Return numbers that are written so that they read back as the same float64: integers without a decimal point."""
    return [int(value) if value.is_integer() else value for value in values.tolist()]
