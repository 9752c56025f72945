"""Instance files in Li and Lim's format (2001): pickup and delivery with time windows."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.files.text import Text
from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.routing.edge_weights import LARGEST

__all__ = ["read_text", "recognises"]

_NUMBER = r"-?\d+(?:\.\d+)?(?:[eEdD][+-]?\d+)?"
_HEAD = re.compile(rf"\s*{_NUMBER}(?:[ \t]+{_NUMBER}){{2}}\s*\n\s*{_NUMBER}(?:[ \t]+{_NUMBER}){{8}}\s*(?:\n|$)")
_FIELDS = ("task", "x", "y", "demand", "earliest", "latest", "service", "pickup", "delivery")


def recognises(head: str) -> bool:
    """Return whether this is the head of a Li and Lim file: a line of three numbers, then one of nine."""
    return bool(_HEAD.match(head))


def read_text(text: Text, name: str = "") -> VrpInstance:
    """Return the instance in a text. Distances are not rounded. Raises InputError.

    The first line describes the vehicles, the second one the depot, and each further line a task. A pickup names the task where
    its load is delivered (`delivery`); a delivery names the task where its load is picked up (`pickup`).
    """
    (line, first), *rows = list(text.lines()) or [(text.first_line, "")]
    vehicles = first.split()
    if len(vehicles) != 3:
        raise text.error("accepted: how many vehicles, their capacity, and a speed", line=line, field="vehicles")
    count = text.integer(vehicles[0], "vehicles", line, 1, 10**6)
    capacity = text.number(vehicles[1], "capacity", line, 0, LARGEST)
    text.number(vehicles[2], "speed", line)  # checked only: it is 1 in all published files
    if len(rows) < 2:
        raise text.error("accepted: the depot and at least one task", line=text.last_line, field="task")
    lines = [number for number, _ in rows]
    table = np.array([_row(text, number, row) for number, row in rows])
    _check(text, table, lines)
    table[0, 6] = 0.0
    shipments = _shipments(text, table, lines)
    try:
        return VrpInstance(
            name=name,
            edge_weight_type="EXACT_2D",
            demand=np.zeros(len(table)),
            vehicles=Vehicles(np.array([capacity]), np.array([count])),
            points=table[:, 1:3],
            earliest=table[:, 4],
            latest=table[:, 5],
            service=table[:, 6],
            ids=table[:, 0].astype(np.int64),
            rules=SideConstraints(shipments=shipments, amounts=table[shipments[:, 0], 3:4]),
        )
    except InputError as error:
        raise text.error(error.reason, line=lines[0], field=error.field) from None


def _row(text: Text, number: int, line: str) -> list[float]:
    """Return the nine numbers of a line. Raises InputError."""
    tokens = line.split()
    if len(tokens) != len(_FIELDS):
        raise text.error(f"accepted: {len(_FIELDS)} numbers: {', '.join(_FIELDS)}", line=number, field="task")
    return [text.number(token, field, number, -LARGEST, LARGEST) for token, field in zip(tokens, _FIELDS)]


def _check(text: Text, table: NDArray[np.float64], lines: list[int]) -> None:
    """Raise InputError for a number out of range; `lines` are the line numbers of the rows."""
    for column, low in ((0, 0.0), (4, 0.0), (5, 0.0), (6, 0.0), (7, 0.0), (8, 0.0)):
        whole = column in (0, 7, 8)
        bad = (table[:, column] < low) | (whole & (table[:, column] != np.floor(table[:, column])))
        if bad.any():
            row = int(bad.argmax())
            number_words = "an integer" if whole else "a number"
            raise text.error(f"accepted: {number_words} from 0", line=lines[row], field=_FIELDS[column])
    if (bad := table[:, 5] < table[:, 4]).any():
        row = int(bad.argmax())
        raise text.error("the window ends before it begins", line=lines[row], field="latest")


def _shipments(text: Text, table: NDArray[np.float64], lines: list[int]) -> NDArray[np.int64]:
    """Return int64 [S, 2]: the rows of the pickup and of the delivery of each shipment. Raises InputError."""
    place = {int(task): row for row, task in enumerate(table[:, 0])}
    pairs = []
    for row in range(1, len(table)):
        start, end = int(table[row, 7]), int(table[row, 8])
        other = place.get(end or start, 0)
        partner = int(table[other, 7 if end else 8])
        if bool(start) == bool(end) or not other or partner != table[row, 0] or table[other, 3] != -table[row, 3]:
            message = f"task {table[row, 0]:g} has no matching task with the opposite demand"
            raise text.error(f"{message}; accepted: pairs that name each other", line=lines[row], field="delivery")
        if end:
            if table[row, 3] < 0:
                raise text.error("accepted: a demand from 0 at a pickup", line=lines[row], field="demand")
            pairs.append((row, other))
    return np.array(pairs, np.int64).reshape(-1, 2)
