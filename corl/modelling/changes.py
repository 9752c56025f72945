"""Changes between two solutions of a RoutingModel: what clients and drivers must be told."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

from corl.modelling.common import to_frame

if TYPE_CHECKING:
    import pandas

    from corl.modelling.routes import Routes

__all__ = ["Change", "Changes", "changes_between"]

Vehicle = tuple[Hashable, int]


@dataclass(frozen=True)
class Change:
    """What has changed for one client. A vehicle is its kind and its number; times are the begin of service."""

    client: Hashable
    change: str
    """`new`, `cancelled`, `dropped` (no longer served), `served` (no longer unserved), `unserved` (new, and not served), `moved`
    (to another vehicle), `later` or `earlier`."""
    vehicle_before: Vehicle | None
    vehicle: Vehicle | None
    begin_before: float | None
    begin: float | None


class Changes(tuple[Change, ...]):
    """Changes, a row for each client; `print` shows a table."""

    __slots__ = ()

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each change: the fields of `Change`. Raises UsageError if pandas is not installed."""
        columns = [each.name for each in fields(Change)]
        return to_frame([dict(zip(columns, astuple(each))) for each in self], columns)

    def __str__(self) -> str:
        head = ["client", "change", "vehicle before", "vehicle", "begin before", "begin"]
        rows = [head, *([_cell(value) for value in astuple(each)] for each in self)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def changes_between(before: Routes, after: Routes, by: float) -> Changes:
    """Return the changes from one solution to another; see `Routes.changes`."""
    old, new, found = _visits(before), _visits(after), []
    done = {name for route in after.routes for name in route.names[: route.done]}
    for client in dict.fromkeys((*before.clients, *after.clients)):
        one, two = old.get(client), new.get(client)
        change = _change(client in before.clients, client in after.clients, one, two, by)
        if change and not (change in ("later", "earlier") and client in done):
            (vehicle_before, begin_before), (vehicle, begin) = one or (None, None), two or (None, None)
            found.append(Change(client, change, vehicle_before, vehicle, begin_before, begin))
    return Changes(found)


def _visits(routes: Routes) -> dict[Hashable, tuple[Vehicle, float]]:
    """Return (vehicle, begin of service) of each client that is served."""
    clients = set(routes.clients)
    return {
        stop.name: ((route.vehicle, route.number), stop.begin)
        for route in routes.routes
        for stop in route.stops
        if stop.name in clients
    }


def _change(
    was_known: bool, is_known: bool, before: tuple[Vehicle, float] | None, after: tuple[Vehicle, float] | None, by: float
) -> str:
    """Return what has changed for a client (`Change.change`); "" if nothing.

    Args:
        was_known: Whether the client was in the model before.
        is_known: Whether it is in the model now.
        before: The vehicle and the begin of service before; None: unserved.
        after: The same now.
        by: The difference of times from which it is a change.
    """
    if not (was_known and is_known):
        return "cancelled" if was_known else "new" if after else "unserved"
    if before is None or after is None:
        return "dropped" if before else "served" if after else ""
    if before[0] != after[0]:
        return "moved"
    return "later" if after[1] - before[1] > by else "earlier" if before[1] - after[1] > by else ""


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return f"{value[0]} {value[1]}"
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
