"""TSPLIB files with coordinates, and tours, for the programs of this folder; it needs nothing of corl."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

__all__ = ["REFUSED", "Instance", "read", "rewrite", "write"]

REFUSED = 77
"""The exit code by which a peer refuses an instance."""


class Instance(NamedTuple):
    """The cities in the file's order."""

    kind: str
    """The EDGE_WEIGHT_TYPE."""
    ids: list[int]
    points: list[str]
    """The coordinates, as the file has them."""


def read(path: str, kinds: Iterable[str]) -> Instance:
    """Return an instance; one whose distances are not of these types ends the process as refused."""
    head, _, section = Path(path).read_text().partition("NODE_COORD_SECTION")
    words = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}
    kind = words.get("EDGE_WEIGHT_TYPE", "")
    if not section or kind not in kinds or "ROUNDING" in words:
        print(f"{kind} is not supported", file=sys.stderr)
        sys.exit(REFUSED)
    rows = [
        line.split(maxsplit=1) for line in section.splitlines() if line[:1].isspace() or line[:1].isdigit() or line[:1] == "-"
    ]
    rows = [row for row in rows if len(row) == 2]
    return Instance(kind, [int(row[0]) for row in rows], [row[1] for row in rows])


def rewrite(instance: Instance, path: str) -> None:
    """Write the instance with the numbers 1, 2, ... as ids."""
    lines = ["NAME : x", "TYPE : TSP", f"DIMENSION : {len(instance.ids)}", f"EDGE_WEIGHT_TYPE : {instance.kind}"]
    lines += ["NODE_COORD_SECTION", *(f"{k} {point}" for k, point in enumerate(instance.points, 1)), "EOF"]
    Path(path).write_text("\n".join(lines) + "\n")


def write(instance: Instance, order: Iterable[int], path: str) -> None:
    """Write a tour, given as positions in the file from 0, as JSON."""
    Path(path).write_text(json.dumps([instance.ids[k] for k in order]))
