"""Conversion of the times in a JSON file to those of an instance."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from corl.fields import Array, Either, Null, Number, String
from corl.files.json_instances import Field, Record
from corl.files.text import quoted

__all__ = ["MOMENT", "WINDOW", "Clock"]

_UNITS_PER_SECOND = {"s": 1.0, "min": 1 / 60, "h": 1 / 3600}
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
MOMENT = Either(Number(0), String(r"^\d{1,2}:\d{2}(:\d{2})?$"))
"""A time: a number or "HH:MM"."""
WINDOW = Array(Either(Number(0), String(r"^\d{1,2}:\d{2}(:\d{2})?$"), Null()), 2, 2)
"""The two ends of a window; each is a number, "HH:MM" or null."""


@dataclass(frozen=True)
class Clock:
    """Conversion of the file's times to the instance's: multiplied by speed and by scale (then rounded down if scale is 10)."""

    speed: float
    """Units of distance travelled in one of the file's units of time."""
    scale: int
    """The instance's `scale`, 1 or 10."""
    unit: str
    """The name of the file's unit of time; "HH:MM" is accepted only for s, min and h."""

    def in_instance_units(self, value: float) -> float:
        """Return a time of the file in the instance's units."""
        value *= self.speed * self.scale
        return math.floor(value) if self.scale > 1 and math.isfinite(value) else value

    def window(self, node: Record) -> tuple[float, float]:
        """Return the begin of a node's first window, and the end of its last, in the instance's units."""
        if "windows" not in node:
            return self.ends(node.get("window", [None, None]))
        windows = [self.ends(each) for each in node["windows"].entries()]
        return windows[0][0], windows[-1][1]

    def ends(self, field: Field) -> tuple[float, float]:
        """Return the two ends of a window in the instance's units; each is a number, "HH:MM" or null."""
        ends = field.entries()
        earliest, latest = (default if end.value is None else self._end(end) for end, default in zip(ends, (0.0, math.inf)))
        if latest < earliest:
            raise field.error(f"ends at {ends[1].value}, before it begins at {ends[0].value}")
        return self.in_instance_units(earliest), self.in_instance_units(latest)

    def moment(self, field: Field) -> float:
        """Return a time in the instance's units; it is a number or "HH:MM"."""
        return self.in_instance_units(self._end(field))

    def _end(self, end: Field) -> float:
        """Return one end of a window in the file's units. Raises InputError."""
        if not isinstance(end.value, str):
            return end.number()
        if (match := _TIME.fullmatch(end.value)) is None:
            raise end.error(f'{quoted(end.value)} is not accepted; accepted: a number from 0, "HH:MM" or null')
        if self.unit not in _UNITS_PER_SECOND:
            raise end.error(f'"{end.value}" needs units: {{"time": "s", "min" or "h"}}')
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return (3600 * hours + 60 * minutes + seconds) * _UNITS_PER_SECOND[self.unit]
