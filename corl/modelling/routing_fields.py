"""Checks of the arguments of a RoutingModel: places, times, windows and breaks. `of` names the argument in errors."""

from __future__ import annotations

from typing import Any

from corl import arguments as check
from corl.errors import UsageError

__all__ = ["BREAKS", "UNITS", "break_in", "moment_in", "place", "times_in"]

BREAKS = "a list of breaks (earliest begin, latest begin, duration)"
UNITS = {"": 0.0, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Unit of time -> seconds; 0 for an unknown unit."""


def place(of: str, x: Any, y: Any, lat: Any, lon: Any) -> dict[str, float]:
    """Return the given coordinates: x and y, or lat and lon, or none. Raises UsageError."""
    ranges = {"x": 1e12, "y": 1e12, "lat": 90.0, "lon": 360.0}
    given = {axis: value for axis, value in zip(ranges, (x, y, lat, lon)) if value is not None}
    found = {axis: check.number(f"{of}: {axis}", value, -ranges[axis], ranges[axis]) for axis, value in given.items()}
    if set(found) not in ({"x", "y"}, {"lat", "lon"}, set()):
        raise UsageError(f"{of} has {' and '.join(found)}; accepted: x and y, or lat and lon, or none with set_matrix")
    return found


def times_in(unit: str, of: str, *, windows: Any = None, **single: Any) -> dict[str, Any]:
    """Return key -> window, or list of windows, for those that are given, in a unit of time. Raises UsageError."""
    found: dict[str, Any] = {key: check.window(f"{of}: {key}", value, unit) for key, value in single.items() if value is not None}
    if windows is not None:
        several = check.entries(f"{of}: windows", windows, "a list of windows (begin, end)")
        found["windows"] = [check.window(f"{of}: windows", each, unit) for each in several]
    return found


def moment_in(unit: str, of: str, value: Any) -> float:
    """Return a time, given as a number or "HH:MM", as a number in a unit of time. Raises UsageError."""
    time = check.moment(of, value, unit)
    if not isinstance(time, str):
        return time
    parts = [int(part) for part in time.split(":")]
    return sum(part * size for part, size in zip(parts, (3600, 60, 1))) / UNITS[unit]


def break_in(unit: str, of: str, given: Any) -> dict[str, Any]:
    """Return a break in the form of instance files. Raises UsageError."""
    begin, end, duration = check.entries(f"{of}: breaks", given, BREAKS, count=3)
    window = check.window(f"{of}: breaks", (begin, end), unit)
    return {"window": window, "duration": check.number(f"{of}: breaks", duration)}
