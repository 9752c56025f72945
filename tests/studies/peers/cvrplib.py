"""Routing instances in VRPLIB's format, and solutions, for the programs of this folder; it needs nothing of corl."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["REFUSED", "Instance", "read", "write"]

REFUSED = 77
"""The exit code by which a peer refuses an instance."""
_KEYS = ("NAME", "COMMENT", "TYPE", "DIMENSION", "CAPACITY", "EDGE_WEIGHT_TYPE", "ROUNDING")
_SECTIONS = ("NODE_COORD_SECTION", "DEMAND_SECTION", "DEPOT_SECTION")


class Instance(NamedTuple):
    """A depot, number 0, and clients; lists have one entry per node."""

    x: list[float]
    y: list[float]
    demand: list[float]
    capacity: float
    more: dict[str, Any]
    """Key -> text, and section -> rows, of what only some programs take."""

    def distances(self, scale: int = 1) -> list[list[int]]:
        """Return the Euclidean distances between all nodes: rounded, or with `scale` 10 in tenths that are rounded down."""
        places = list(zip(self.x, self.y))
        return [[math.floor(scale * math.dist(a, b) + (0.5 if scale == 1 else 0.0)) for b in places] for a in places]


def read(path: str, more: Sequence[str] = ()) -> Instance:
    """Return an instance; one with anything but a depot, capacities, rounded distances and `more` ends the process as refused."""
    values: dict[str, Any] = {}
    rows: list[list[float]] = []
    for line in Path(path).read_text().splitlines():
        words = line.replace(":", " ").split()
        if not words or words[0] == "EOF":
            continue
        if words[0][0].isdigit() or words[0] == "-1":
            rows.append([float(word) for word in words])
        elif words[0] in (*_KEYS, *_SECTIONS, *more):
            values[words[0]] = rows = words[1:] or []  # type: ignore[assignment]
        else:
            refuse(f"{words[0]} is not supported")
    rounding = values.get("ROUNDING", ["NINT"])[0]
    if values["EDGE_WEIGHT_TYPE"][0] != "EUC_2D" or (rounding != "NINT" and "ROUNDING" not in more):
        refuse("distances other than rounded Euclidean ones are not supported")
    x, y = (list(each) for each in zip(*(row[1:3] for row in values["NODE_COORD_SECTION"])))
    demand = [row[1] for row in values["DEMAND_SECTION"]]
    return Instance(x, y, demand, float(values["CAPACITY"][0]), {key: values[key] for key in more if key in values})


def refuse(reason: str) -> None:
    """End the process as refused."""
    print(reason, file=sys.stderr)
    sys.exit(REFUSED)


def write(routes: Sequence[Sequence[int]], path: str) -> None:
    """Write routes of clients as a .sol file."""
    lines = [f"Route #{k}: {' '.join(map(str, route))}" for k, route in enumerate(routes, 1)]
    Path(path).write_text("\n".join(lines) + "\n")
