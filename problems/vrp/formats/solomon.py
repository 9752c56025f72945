"""Instance files in Solomon's format (1987), in which Gehring and Homberger's instances are published, too."""

from __future__ import annotations

import re

import numpy as np

from corl.errors import InputError
from corl.files.text import Text, quoted
from corl.problems.vrp.formats.vrplib import rounded
from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.routing.edge_weights import LARGEST

__all__ = ["read_text", "recognises"]

_FIELDS = ("customer", "x", "y", "demand", "ready time", "due date", "service time")
_HEAD = re.compile(r"^\s*VEHICLE\s*$.*?^\s*CUSTOMER\s*$", re.IGNORECASE | re.MULTILINE | re.DOTALL)


def recognises(head: str) -> bool:
    """Return whether this is the head of a Solomon file, with separate lines VEHICLE and CUSTOMER."""
    return bool(_HEAD.search(head))


def read_text(text: Text, name: str = "", rounding: str = "DIMACS") -> VrpInstance:
    """Return the instance in the text of a Solomon file; the first customer is the depot. Raises InputError.

    `rounding` is DIMACS (cut to whole tenths, the convention of results published since 2022), EXACT or NINT (to the nearest
    integer). The objective is distance.
    """
    lines = list(text.lines())
    position_of = {line.upper(): place for place, (_, line) in enumerate(lines)}
    if not {"VEHICLE", "CUSTOMER"} <= position_of.keys() or position_of["VEHICLE"] > position_of["CUSTOMER"]:
        raise text.error("accepted: Solomon's format, a line VEHICLE and after it a line CUSTOMER", line=text.first_line)
    title = lines[0][1] if position_of["VEHICLE"] > 0 else name
    count, capacity = _vehicles(text, lines[position_of["VEHICLE"] + 1 : position_of["CUSTOMER"]])
    rows = [(number, line) for number, line in lines[position_of["CUSTOMER"] + 1 :] if not re.search("[A-Za-z]", line)]
    if len(rows) < 2:
        raise text.error("accepted: the depot and at least one customer", line=text.last_line, field="CUSTOMER")
    table = np.array([_row(text, number, line) for number, line in rows])
    ids = table[:, 0]
    if (bad := (ids != np.floor(ids)) | (ids < 0) | (ids > 2**53)).any():
        raise text.error("accepted: an integer from 0", line=rows[int(bad.argmax())][0], field="customer")
    for column, field in ((3, "demand"), (4, "ready time"), (5, "due date"), (6, "service time")):
        if (bad := (table[:, column] < 0) | (table[:, column] > LARGEST)).any():
            row = int(bad.argmax())
            message = f"{table[row, column]:g} is not accepted; accepted: 0 to {LARGEST:g}"
            raise text.error(message, line=rows[row][0], field=field)
    if (bad := table[:, 5] < table[:, 4]).any():
        row = int(bad.argmax())
        message = f"customer {ids[row]:g}'s window ends at {table[row, 5]:g}, before it begins at {table[row, 4]:g}"
        raise text.error(message, line=rows[row][0], field="due date")
    kind, scale = rounded("EUC_2D", rounding, True, title)
    times = np.floor(table[:, 4:7] * scale) if scale > 1 else table[:, 4:7]
    times[0, 2] = 0.0
    try:
        return VrpInstance(
            name=title,
            edge_weight_type=kind,
            demand=table[:, 3],
            vehicles=Vehicles(np.array([capacity]), np.array([count])),
            points=table[:, 1:3],
            earliest=times[:, 0],
            latest=times[:, 1],
            service=times[:, 2],
            ids=ids.astype(np.int64),
            scale=scale,
        )
    except InputError as error:
        raise text.error(error.reason, line=rows[0][0], field=error.field) from None


def _vehicles(text: Text, lines: list[tuple[int, str]]) -> tuple[int, float]:
    """Return the number of vehicles and their capacity."""
    for number, line in lines:
        tokens = line.split()
        if re.search("[A-Za-z]", line):
            continue
        if len(tokens) != 2:
            raise text.error(f"{quoted(line)} is not accepted; accepted: NUMBER and CAPACITY", line=number, field="VEHICLE")
        return text.integer(tokens[0], "NUMBER", number, 1, 10**6), text.number(tokens[1], "CAPACITY", number, 0, LARGEST)
    raise text.error("missing; accepted: a line with NUMBER and CAPACITY", line=text.first_line, field="VEHICLE")


def _row(text: Text, number: int, line: str) -> list[float]:
    """Return the seven numbers of a customer's line. Raises InputError."""
    tokens = line.split()
    if len(tokens) != len(_FIELDS):
        message = f"{quoted(line)} is not accepted; accepted: {len(_FIELDS)} numbers: {', '.join(_FIELDS)}"
        raise text.error(message, line=number, field="CUSTOMER")
    return [text.number(token, field, number, -LARGEST, LARGEST) for token, field in zip(tokens, _FIELDS)]
