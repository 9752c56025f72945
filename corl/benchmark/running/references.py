"""Reference values of instances (optima or best known values), with status and source, from CSV, text and NumPy files."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corl.errors import InputError
from corl.files.json_values import from_json, is_number
from corl.files.opening import reading
from corl.files.text import Text, quoted

__all__ = ["STATUSES", "Reference", "given_references", "read_array", "read_references", "stated_reference"]

STATUSES = ("proven", "best known")
_LINE = re.compile(r"(\S+)\s*[:=,\s]\s*(\S+)(?:\s.*)?")


@dataclass(frozen=True)
class Reference:
    """A value that gaps are measured against."""

    value: float
    status: str
    """proven (no better value exists) or best known."""
    source: str
    """Where the value was published, or the name of its file."""


def read_references(path: Path, status: str = "best known", source: str = "") -> dict[str, Reference]:
    """Return instance name -> Reference.

    The file is CSV (columns name, value, status, source), or the JSON list of ScheduleOpt/benchmarks (objects with instance,
    lower_bound and upper_bound, which is proven if both are equal), or has lines `NAME : VALUE`. `status` and `source` apply to
    entries for which the file has none. Raises InputError.
    """
    with reading(path):
        text = Text.read(path)
    source = source or path.name
    if path.suffix == ".json":
        return _bounds(from_json(text.content, file=str(path)), str(path), source)
    return _table(text, status, source) if path.suffix == ".csv" else _lines(text, status, source)


def stated_reference(
    path: Path, forms: Sequence[tuple[re.Pattern[str], float]], status: str = "best known", source: str = ""
) -> Reference | None:
    """Return the value that a file states; None if there is no such file. `source`: default, the file's name.

    The first of the forms (pattern, scale) whose pattern occurs in the file determines the value: its first group times scale.

    Raises:
        InputError: The file has no text that fits a pattern, or it is no number.
    """
    if not path.is_file():
        return None
    with reading(path):
        text = Text.read(path)
    for pattern, scale in forms:
        if (found := pattern.search(text.content)) is not None:
            value = float(f"{scale * text.number(found[1], 'value', None):.12g}")  # without the rounding error of the product
            return Reference(value, status, source or path.name)
    patterns = " or ".join(quoted(pattern.pattern) for pattern, _ in forms)
    raise text.error(f"no text fits {patterns}; accepted: a file that states the value")


def read_array(path: Path, key: str | None) -> np.ndarray[Any, Any]:
    """Return the array of a .npy file, or the array called `key` of an .npz file (None: its only array). Raises InputError."""
    with reading(path):
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            names = list(loaded.files)
            name = names[0] if key is None and len(names) == 1 else key
            if name not in names:
                raise InputError(f"no array is called {name!r}; there are: {', '.join(names)}", file=str(path), field="key")
            return np.asarray(loaded[name])


def _table(text: Text, status: str, source: str) -> dict[str, Reference]:
    """Return the references of a CSV file; see `read_references`."""
    rows = csv.DictReader(line for line in text.content.split("\n") if not line.startswith("#"))
    if not {"name", "value"} <= set(rows.fieldnames or ()):
        raise text.error("accepted: the columns name, value, status and source", line=1)
    found = {}
    for row in rows:
        line = next((n for n, content in text.lines() if content.startswith(f"{row['name']},")), None)
        value = text.number(row["value"] or "", "value", line)
        given = (row.get("status") or status).replace("_", " ")
        if given not in STATUSES:
            raise text.error(f"{quoted(given)} is not accepted; accepted: {', '.join(STATUSES)}", line=line, field="status")
        found[row["name"]] = Reference(value, given, row.get("source") or source)
    return found


def _bounds(entries: Any, file: str, source: str) -> dict[str, Reference]:
    """Return the upper bounds of a JSON list of bounds; see `read_references`."""
    found = {}
    for number, entry in enumerate(entries if isinstance(entries, list) else [entries], 1):
        names = ("instance", "lower_bound", "upper_bound")
        values: list[Any] = [entry.get(name) for name in names] if isinstance(entry, dict) else [None] * 3
        name, low, high = values
        if not (isinstance(name, str) and is_number(low) and is_number(high)):
            raise InputError(f"accepted: a list of objects with {', '.join(names)}", file=file, field=f"[{number}]")
        found[name] = Reference(float(high), "proven" if low == high else "best known", source)
    return found


def _lines(text: Text, status: str, source: str) -> dict[str, Reference]:
    """Return the references of lines `NAME : VALUE`; see `read_references`."""
    found = {}
    for line, content in text.lines():
        if content.startswith("#"):
            continue
        match = _LINE.fullmatch(content)
        if match is None:
            raise text.error(f"{quoted(content)} is not accepted; accepted: NAME : VALUE", line=line)
        found[match[1].rstrip(":")] = Reference(text.number(match[2], "value", line), status, source)
    return found


def given_references(values: Mapping[str, Any], status: str, source: str, error: Any) -> dict[str, Reference]:
    """Return instance name -> Reference from a table NAME = VALUE in a suite.

    Args:
        values: The table.
        status: The status of all values.
        source: The source of all values.
        error: Called with a name and a message, it returns the exception that is raised for a value that is no number.
    """
    for name, value in values.items():
        if not is_number(value):
            raise error(name, f"{value!r} is not accepted; accepted: a number")
    return {name: Reference(float(value), status, source) for name, value in values.items()}
