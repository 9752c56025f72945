"""The times in a JSON file."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from corl.fields import Array, Either, Null, Number, String
from corl.files.json_instances import Field, Record
from corl.files.text import quoted

__all__ = ["WINDOW", "Clock"]

_CLOCK = {"s": 1.0, "min": 1 / 60, "h": 1 / 3600}
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
WINDOW = Array(Either(Number(0), String(r"^\d{1,2}:\d{2}(:\d{2})?$"), Null()), 2, 2)
"""The two ends of a window: a number, "HH:MM" or null for each."""


@dataclass(frozen=True)
class Clock:
    """Conversion of the file's times to the instance's: times speed, times scale (truncated to integers if that is 10)."""

    speed: float
    scale: int
    unit: str

    def in_instance_units(self, value: float) -> float:
        """Return a time of the file in the instance's units."""
        value *= self.speed * self.scale
        return math.floor(value) if self.scale > 1 and math.isfinite(value) else value

    def window(self, node: Record) -> tuple[float, float]:
        """Return (earliest, latest) of a node; of several windows, the begin of the first and the end of the last."""
        if "windows" not in node:
            return self.ends(node.get("window", [None, None]))
        windows = [self.ends(each) for each in node["windows"].entries()]
        return windows[0][0], windows[-1][1]

    def ends(self, field: Field) -> tuple[float, float]:
        """Return the two ends of a window in the instance's units; each is a number, "HH:MM" or null."""
        ends = field.entries()
        early, late = (default if end.value is None else self._end(end) for end, default in zip(ends, (0.0, math.inf)))
        if late < early:
            raise field.error(f"ends at {ends[1].value}, before it begins at {ends[0].value}")
        return self.in_instance_units(early), self.in_instance_units(late)

    def _end(self, end: Field) -> float:
        if not isinstance(end.value, str):
            return end.number()
        if (match := _TIME.fullmatch(end.value)) is None:
            raise end.error(f'{quoted(end.value)} is not accepted; accepted: a number from 0, "HH:MM" or null')
        if self.unit not in _CLOCK:
            raise end.error(f'"{end.value}" needs units: {{"time": "s", "min" or "h"}}')
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return (3600 * hours + 60 * minutes + seconds) * _CLOCK[self.unit]
