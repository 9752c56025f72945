"""The picture of an instance and a solution on a page, in shapes that the page's JavaScript draws for every problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FORMER", "SETUP", "Group", "Play", "Scene", "short"]

SETUP, FORMER = -2, -3
"""Groups of boxes with a look of their own: a set-up, and the former place of something that has moved."""


@dataclass(frozen=True)
class Group:
    """Shapes that are highlighted together: a route, a job, a tensor."""

    cells: Sequence[Any]
    """The group's row in the table, whose column names are `Scene.head`."""
    steps: Sequence[Sequence[Any]] = ()
    """The rows of the group's own table, such as the stops of a route; its column names are `Scene.steps_head`."""


@dataclass
class Play:
    """The times of a scene that can be played: a shape is faint or missing before it is known, and grey once it is decided."""

    begin: float
    """The first time."""
    end: float
    """The last time."""
    seconds: float = 0.0
    """Seconds in a unit of time, to show times of day; 0: times are shown as numbers."""
    points: list[tuple[float, float | None]] = field(default_factory=list)
    """(from, to) of each point: when it becomes known, and when it is decided for good; None: never."""
    boxes: list[tuple[float, float | None]] = field(default_factory=list)
    """The same of each box."""
    moves: Sequence[tuple[Sequence[float], Sequence[float], Sequence[float], int]] = field(default_factory=list)
    """(times, x coordinates, y coordinates, group) of each thing that moves, such as a vehicle: it is there from the first time
    to the last."""


@dataclass
class Scene:
    """Points, lines and boxes in the coordinates of the problem, x to the right and y up."""

    title: str
    x: str = ""
    """The label of the x axis; "" if the picture has no axes."""
    y: str = ""
    """The label of the y axis."""
    equal: bool = False
    """Whether both axes have the same scale, as on a map."""
    rows: Sequence[str] = ()
    """Names of the rows 0, 1, ..., the first one on top, if y is a row number, as in a Gantt chart."""
    head: Sequence[str] = ()
    """The column names of the table of groups."""
    groups: list[Group] = field(default_factory=list)
    """The groups, numbered from 0."""
    steps_head: Sequence[str] = ()
    """The column names of the groups' own tables."""
    points: list[tuple[float, float, str, int, str]] = field(default_factory=list)
    """(x, y, text, group or -1, kind); kind "" is a node, "depot" a depot, "out" a node that is not served."""
    lines: list[tuple[Sequence[float], Sequence[float], str, int]] = field(default_factory=list)
    """(x coordinates, y coordinates, text, group or -1)"""
    boxes: list[tuple[float, float, float, float, str, int, bool]] = field(default_factory=list)
    """(x, y, width, height, text, group, whether it is marked); with `rows`, y is the row and height 1. The group is -1 for grey
    boxes, SETUP or FORMER."""
    labels: Sequence[str] = ()
    """Short names of the points, written beside them if there are few in view; empty: none."""
    globe: bool = False
    """Whether x and y are longitudes and latitudes in degrees; they are drawn in the Mercator projection."""
    bars: list[tuple[int, float, float, str, str]] = field(default_factory=list)
    """(group, begin, end, kind, text) of bars below the picture, with a row for each group and the times of `play`; the kind is
    "travel", "wait", "service", "break" or "reload".
    """
    marked: str = ""
    """The meaning of marked boxes."""
    tight: list[str] = field(default_factory=list)
    """The limits that the solution meets exactly, as texts."""
    note: str = ""
    """A text below the picture."""
    play: Play | None = None
    """The times of the shapes, if the picture can be played."""


def short(value: float) -> str:
    """Return a number as tables show it."""
    return f"{value:,.10g}" if abs(value) >= 1e6 or value == int(value) else f"{value:,.6g}"
