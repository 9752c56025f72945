"""Clock: times of a SchedulingModel as dates. Times are integers in a unit, counted from a begin; dates become such integers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from corl.arguments import choice, integer, python, refusal
from corl.errors import UsageError, shown

__all__ = ["UNITS", "Clock", "Moment", "Span", "date_in", "span_in", "whole"]

Moment = int | datetime | date | str
"""A time: an integer from 0, a date (also pandas' and NumPy's), or its ISO form such as "2026-11-27 08:00"."""
Span = int | timedelta | str
"""A duration: an integer from 0, a timedelta (also pandas' and NumPy's), or a text such as "1:30" (hours and minutes)."""
UNITS = {"s": timedelta(seconds=1), "min": timedelta(minutes=1), "h": timedelta(hours=1), "day": timedelta(days=1)}
_SPAN = re.compile(r"(\d+):([0-5]\d)(?::([0-5]\d))?")
_LARGEST = 10**9


def date_in(of: str, given: Any) -> datetime | None:
    """Return a date as a datetime; None if `given` is a number. Raises UsageError for a text that is no date."""
    if hasattr(given, "to_pydatetime"):  # pandas
        return given.to_pydatetime(warn=False)  # type: ignore[no-any-return]
    if getattr(getattr(given, "dtype", None), "kind", "") == "M":
        return given.astype("datetime64[us]").item()  # type: ignore[no-any-return]
    if isinstance(given, datetime):
        return given
    if isinstance(given, date):
        return datetime.combine(given, time())
    if isinstance(given, str):
        try:
            return datetime.fromisoformat(given)
        except ValueError:
            raise refusal(of, given, 'an integer, a date, or its ISO form such as "2026-11-27 08:00"') from None
    return None


def span_in(of: str, given: Any) -> timedelta | None:
    """Return a duration as a timedelta; None if `given` is a number. Raises UsageError for a text that is no duration."""
    if hasattr(given, "to_pytimedelta"):  # pandas
        return given.to_pytimedelta()  # type: ignore[no-any-return]
    if getattr(getattr(given, "dtype", None), "kind", "") == "m":
        return given.astype("timedelta64[us]").item()  # type: ignore[no-any-return]
    if isinstance(given, timedelta):
        return given
    if isinstance(given, str):
        found = _SPAN.fullmatch(given)
        if found is None:
            raise refusal(of, given, 'an integer, a timedelta, or a text such as "1:30" (hours and minutes)')
        return timedelta(hours=int(found[1]), minutes=int(found[2]), seconds=int(found[3] or 0))
    return None


@dataclass(frozen=True)
class Clock:
    """The begin and the unit of a model's times."""

    begin: datetime | None = None
    """The date of time 0; None: the model has no dates."""
    unit: timedelta = UNITS["min"]

    @classmethod
    def checked(cls, begin: Any, unit: Any) -> Clock:
        """Return the clock of arguments of a model. Raises UsageError."""
        found = None if begin is None else date_in("begin", begin)
        if begin is not None and found is None:
            raise refusal("begin", begin, 'a date, or its ISO form such as "2026-11-27 08:00"')
        return cls(found, UNITS[choice("unit", unit, UNITS)])

    def moment(self, of: str, given: Any, low: int = 0, *, down: bool = False) -> int:
        """Return a time from `low` on. A date between two units of time is rounded up, or down with `down`. Raises UsageError."""
        found = date_in(of, given)
        if found is None:
            return integer(of, given, low)
        if self.begin is None:
            raise UsageError(f"{of}: {shown(str(found))} is a date; accepted: an integer, or a date in a model with begin=DATE")
        try:
            after = found - self.begin
        except TypeError:
            raise UsageError(f"{of}: {shown(str(found))} and begin: accepted: both with a time zone, or neither") from None
        moment = after // self.unit if down else -(-after // self.unit)
        if not low <= moment <= _LARGEST:
            raise refusal(of, str(found), f"a date from {self.begin + low * self.unit} on")
        return moment

    def span(self, of: str, given: Any) -> int:
        """Return a duration; a timedelta is rounded up to units of time. Raises UsageError."""
        found = span_in(of, given)
        if found is None:
            return integer(of, given)
        length = -(-found // self.unit)
        return integer(of, length) if length >= 0 else integer(of, given)

    def date(self, moment: int) -> datetime | None:
        """Return the date of a time; None without a begin."""
        return None if self.begin is None else self.begin + moment * self.unit


def whole(given: Any) -> Any:
    """Return a float without a fraction as an integer, as tables with empty cells hold integers; other values unchanged."""
    found = python(given) if getattr(getattr(given, "dtype", None), "kind", "") in "iufb" else given
    return int(found) if isinstance(found, float) and found.is_integer() else found
