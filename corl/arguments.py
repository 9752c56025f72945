"""Checks of the arguments of public functions. Each function returns the checked value, or raises a UsageError of one line.

In each function, `value` is the argument, and `of` names it in messages (`client 'Ada': service`). NumPy's numbers are accepted.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from corl.errors import UsageError, shown

__all__ = [
    "LARGEST",
    "choice",
    "duration",
    "entries",
    "flag",
    "integer",
    "moment",
    "name",
    "names",
    "number",
    "python",
    "refusal",
    "text",
    "window",
]

LARGEST = 1e12  # the default upper bound of a number; messages do not name it
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d*)?)\s*([a-z]*)")
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")


def refusal(of: str, value: Any, accepted: str) -> UsageError:
    """Return the error for a value that an argument does not accept."""
    return UsageError(f"{of}: {shown(value)} is not accepted; accepted: {accepted}")


def python(value: Any) -> Any:
    """Return a NumPy scalar, or an array without dimensions, as a Python value; any other value unchanged."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def number(of: str, value: Any, low: float = 0.0, high: float = LARGEST, infinite: bool = False) -> float:
    """Return a number in low..high; with `infinite`, infinity is accepted, too. An integer remains an int."""
    found = python(value)
    if isinstance(found, numbers.Real) and not isinstance(found, bool):
        try:
            if low <= (real := float(found)) <= high or (infinite and real == math.inf):
                return found if isinstance(found, int) else real
        except OverflowError:
            pass
    raise refusal(of, value, f"a number from {low:g}" + (f" to {high:g}" if high < LARGEST else ""))


def duration(of: str, value: Any) -> float:
    """Return a duration in seconds: a number of them, or a text such as "90s", "30m" or "2h"."""
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is not None and match[2] in _UNITS:
        value = float(match[1]) * _UNITS[match[2]]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    raise refusal(of, value, "seconds above 0, or a text such as 90s, 30m or 2h")


def integer(of: str, value: Any, low: int = 0, high: int = 10**9) -> int:
    """Return an integer in low..high."""
    found = python(value)
    if isinstance(found, numbers.Integral) and not isinstance(found, bool) and low <= int(found) <= high:
        return int(found)
    raise refusal(of, value, f"an integer from {low}" + (f" to {high:,}" if high < 10**9 else ""))


def flag(of: str, value: Any) -> bool:
    """Return a boolean; 1 and 0, which tables hold, are accepted, too."""
    found = python(value)
    if isinstance(found, (bool, int, float)) and found in (0, 1):
        return bool(found)
    raise refusal(of, value, "True or False")


def text(of: str, value: Any) -> str:
    """Return a text."""
    if isinstance(value, str):
        return str(value)
    raise refusal(of, value, "a text")


def choice(of: str, value: Any, accepted: Iterable[str]) -> str:
    """Return one of the accepted texts."""
    words = list(accepted)
    if isinstance(value, str) and value in words:
        return str(value)
    raise UsageError(f"{of}: {shown(value)} is not known; accepted: {', '.join(map(repr, words))}")


def name(of: str, value: Any) -> Hashable:
    """Return a name: a text, a number, or any other key of a dict, but not None and not NaN."""
    found = python(value)
    try:
        good = hash(found) is not None and len(str(found)) > 0 and bool(found == found)
    except (TypeError, ValueError):
        good = False
    if not good or found is None or isinstance(found, bool):
        raise refusal(of, value, "a name, which is a text or a number")
    return found  # type: ignore[no-any-return]


def names(of: str, value: Any) -> list[Hashable]:
    """Return a list of names; a single text is a list of one name."""
    given = [value] if isinstance(value, str) else entries(of, value, "names, such as a list or a set of texts")
    return [name(of, each) for each in given]


def entries(of: str, value: Any, accepted: str, count: int | None = None) -> list[Any]:
    """Return the entries of a list, a tuple, a set or an array as a list; there must be `count` of them, if given."""
    found: list[Any] | None = None
    if hasattr(value, "tolist") and getattr(value, "ndim", None):
        found = value.tolist()
    elif isinstance(value, (Sequence, Collection)) and not isinstance(value, (str, bytes, Mapping)):
        found = list(value)
    if found is None or count not in (None, len(found)):
        raise refusal(of, value, accepted)
    return found


def moment(of: str, value: Any, unit: str) -> float | str:
    """Return a time: a number from 0, or a text such as "07:30", which needs a `unit` of time ("s", "min" or "h")."""
    if isinstance(value, str):
        if not _CLOCK.fullmatch(value):
            raise refusal(of, value, 'a number from 0, or a time such as "07:30"')
        if not unit:
            raise UsageError(f'{of}: {value!r} needs a unit of time; accepted: RoutingModel(time="min"), "s" or "h"')
        return str(value)
    return number(of, value)


def window(of: str, value: Any, unit: str) -> list[float | str | None]:
    """Return (begin, end) as a list. Each is a time, as in `moment`, or None for no limit."""
    accepted = f"(begin, end), each a number from 0{', a time such as 07:30' if unit else ''} or None"
    ends = entries(of, value, accepted, count=2)
    if ends[1] is not None and python(ends[1]) == math.inf:
        ends[1] = None
    try:
        return [None if end is None else moment(of, end, unit) for end in ends]
    except UsageError:
        if all(end is None or isinstance(end, str) for end in ends):
            raise
        raise refusal(of, value, accepted) from None
